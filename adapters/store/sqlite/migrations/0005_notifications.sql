-- What the processor says of a mandate beside its status. A program without these columns leaves them as they are when
-- it stores another status.

-- When the mandate reached its status; NULL: not known.
ALTER TABLE checkouts ADD COLUMN mandate_since_ms INTEGER;
-- The processor's code for why it did, such as DISHONOUR-AC05; '' if it gave none.
ALTER TABLE checkouts ADD COLUMN mandate_reason TEXT NOT NULL DEFAULT '';

-- Every notification of the processor that was acknowledged. It is a hint: what is so is asked of the processor.
CREATE TABLE notifications (
	id                 TEXT NOT NULL PRIMARY KEY, -- the processor's
	received_ms        INTEGER, -- when it came first
	resource           TEXT NOT NULL, -- the processor's word for what it is about
	action             TEXT NOT NULL, -- the processor's word for what happened
	billing_request_id TEXT NOT NULL, -- that it is about; '' if none
	mandate_id         TEXT NOT NULL, -- that it is about; '' if none
	settled_ms         INTEGER -- when it was dealt with; NULL until then
) STRICT, WITHOUT ROWID;

-- Partial, so that it is as small as what is still to be done.
CREATE INDEX notifications_pending ON notifications (received_ms, id) WHERE settled_ms IS NULL;

-- Work that one process does at a time.
CREATE TABLE tasks (
	name            TEXT NOT NULL PRIMARY KEY,
	epoch           INTEGER NOT NULL, -- the fencing token: rises by one with every lease, from 1 on
	cursor          TEXT NOT NULL, -- how far the work is; '' until a holder says so
	leased_until_ms INTEGER -- NULL: not leased
) STRICT, WITHOUT ROWID;
