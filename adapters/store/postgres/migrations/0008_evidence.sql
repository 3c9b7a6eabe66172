-- The evidence log: what was agreed and what operators did. An entry is never changed; position and nodes are set once.
CREATE TABLE evidence (
	id          text COLLATE "C" PRIMARY KEY, -- agreement/<number> or operation/<id>
	recorded_ms bigint,
	leaf        text NOT NULL, -- JSON, without personal data: what the tree holds
	salt        bytea, -- of the commitments in it
	attestation bytea, -- that a process with the operator's secret recorded it
	position    bigint, -- in the tree, from 0 on; NULL until it is sealed
	nodes       bytea -- of the tree that it completes, 32 bytes each, from its own hash up
);
CREATE UNIQUE INDEX evidence_position ON evidence (position) WHERE position IS NOT NULL;
-- Partial, so that it is as small as what is still to be sealed.
CREATE INDEX evidence_unsealed ON evidence (recorded_ms, id) WHERE position IS NULL;

-- Where the log ends. Its one row is locked by who seals.
CREATE TABLE evidence_head (
	one        integer PRIMARY KEY CHECK (one = 1),
	size       bigint NOT NULL,
	edge       bytea, -- the roots of the complete subtrees, 32 bytes each, from the left
	checkpoint text NOT NULL -- the newest one, signed; '' before the first
);
INSERT INTO evidence_head VALUES (1, 0, NULL, '');
