-- What the processor says of a mandate beside its status. A program without these columns leaves them as they are when
-- it stores another status.

-- When the mandate reached its status; NULL: not known.
ALTER TABLE checkouts ADD COLUMN mandate_since_ms bigint;
-- The processor's code for why it did, such as DISHONOUR-AC05; '' if it gave none.
ALTER TABLE checkouts ADD COLUMN mandate_reason text NOT NULL DEFAULT '';

-- Every notification of the processor that was acknowledged. It is a hint: what is so is asked of the processor.
CREATE TABLE notifications (
	id                 text COLLATE "C" PRIMARY KEY, -- the processor's
	received_ms        bigint, -- when it came first
	resource           text NOT NULL, -- the processor's word for what it is about
	action             text NOT NULL, -- the processor's word for what happened
	billing_request_id text NOT NULL, -- that it is about; '' if none
	mandate_id         text NOT NULL, -- that it is about; '' if none
	settled_ms         bigint -- when it was dealt with; NULL until then
);

-- Partial, so that it is as small as what is still to be done.
CREATE INDEX notifications_pending ON notifications (received_ms NULLS FIRST, id) WHERE settled_ms IS NULL;

-- Work that one process does at a time.
CREATE TABLE tasks (
	name            text COLLATE "C" PRIMARY KEY,
	epoch           bigint NOT NULL, -- the fencing token: rises by one with every lease, from 1 on
	cursor          text NOT NULL, -- how far the work is; '' until a holder says so
	leased_until_ms bigint -- NULL: not leased
);
