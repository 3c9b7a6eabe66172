-- From this version on, idempotency_key is NULL where the key is the default, <provider_code>:<provider_order_id>. The
-- versions before knew no default key, and left the column NULL where there was no header: the same rows.

-- The processor's id of the mandate; '' while there is none.
ALTER TABLE checkouts ADD COLUMN mandate_id TEXT NOT NULL DEFAULT '';
-- When the processor is asked again about the setup, even if no caller asks; NULL: not any more.
ALTER TABLE checkouts ADD COLUMN look_again_ms INTEGER;

-- Partial, so that a create writes to none of them.
CREATE INDEX checkouts_billing_request ON checkouts (billing_request_id) WHERE billing_request_id <> '';
CREATE INDEX checkouts_mandate ON checkouts (mandate_id) WHERE mandate_id <> '';
CREATE INDEX checkouts_look_again ON checkouts (look_again_ms) WHERE look_again_ms IS NOT NULL;

-- What the fake processor keeps about setups.
CREATE TABLE sandbox_records (
	name TEXT NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Few events are pending at any time, and the index of their ids finds them: a second one costs every create.
DROP INDEX events_pending;
