-- From this version on, idempotency_key is never NULL in a new row: it is the header, or the default key
-- <provider_code>:<provider_order_id>. In rows of earlier versions NULL means the default key. They stay as they are,
-- because those versions let another order take a default key by a header.

-- The processor's id of the mandate; '' while there is none.
ALTER TABLE checkouts ADD COLUMN mandate_id text COLLATE "C" NOT NULL DEFAULT '';
-- When the processor is asked again about the setup, even if no caller asks; NULL: not any more.
ALTER TABLE checkouts ADD COLUMN look_again_ms bigint;

-- Partial, so that a create writes to none of them.
CREATE INDEX checkouts_billing_request ON checkouts (billing_request_id COLLATE "C") WHERE billing_request_id <> '';
CREATE INDEX checkouts_mandate ON checkouts (mandate_id) WHERE mandate_id <> '';
CREATE INDEX checkouts_look_again ON checkouts (look_again_ms, seq) WHERE look_again_ms IS NOT NULL;

-- What the fake processor keeps about setups.
CREATE TABLE sandbox_records (
	name text COLLATE "C" PRIMARY KEY,
	data bytea NOT NULL
);

-- Few events are pending at any time, and the index of their ids finds them: a second one costs every create.
DROP INDEX events_pending;
