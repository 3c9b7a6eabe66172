-- The CRM in which the records of the checkouts are: embedded where it is this store, '' until a server stamps it.
ALTER TABLE store ADD COLUMN crm text NOT NULL DEFAULT '';
UPDATE store SET crm = 'embedded' WHERE environment <> '';

-- What a CRM outside of the store has still to do for a checkout, as JSON: kind, epoch of the lease, latest failure; '' where
-- it is nothing. A checkout whose status is reserved does not exist yet for its provider.
ALTER TABLE checkouts ADD COLUMN step text NOT NULL DEFAULT '';
ALTER TABLE checkouts ADD COLUMN step_since_ms bigint; -- when it began
ALTER TABLE checkouts ADD COLUMN step_due_ms bigint; -- when its lease ends and it is due

-- Partial, so that it is as small as what is still to be done.
CREATE INDEX checkouts_step_due ON checkouts (step_due_ms, seq) WHERE step_due_ms IS NOT NULL;
