-- The evidence log: what was agreed and what operators did. An entry is never changed; position and nodes are set once.
CREATE TABLE evidence (
	seq         INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE, -- agreement/<number> or operation/<id>
	recorded_ms INTEGER,
	leaf        TEXT NOT NULL, -- JSON, without personal data: what the tree holds
	salt        BLOB, -- of the commitments in it
	attestation BLOB, -- that a process with the operator's secret recorded it
	position    INTEGER, -- in the tree, from 0 on; NULL until it is sealed
	nodes       BLOB -- of the tree that it completes, 32 bytes each, from its own hash up
) STRICT;
CREATE UNIQUE INDEX evidence_position ON evidence (position) WHERE position IS NOT NULL;
-- Partial, so that it is as small as what is still to be sealed.
CREATE INDEX evidence_unsealed ON evidence (recorded_ms) WHERE position IS NULL;

-- Where the log ends.
CREATE TABLE evidence_head (
	one        INTEGER PRIMARY KEY CHECK (one = 1),
	size       INTEGER NOT NULL,
	edge       BLOB, -- the roots of the complete subtrees, 32 bytes each, from the left
	checkpoint TEXT NOT NULL -- the newest one, signed; '' before the first
) STRICT;
INSERT INTO evidence_head VALUES (1, 0, NULL, '');
