-- Why the latest attempts to deliver an event failed, and when. A program without these columns leaves them as they are.
ALTER TABLE events ADD COLUMN failure TEXT NOT NULL DEFAULT ''; -- '' where none failed, or an earlier version settled it
ALTER TABLE events ADD COLUMN failed_ms INTEGER;

-- Partial, so that what is delivered writes to it never.
CREATE INDEX events_failed ON events (seq) WHERE status = 'failed';

-- What the operator had sent again, and what came of it.
CREATE TABLE redeliveries (
	seq       INTEGER PRIMARY KEY,
	event_id  TEXT NOT NULL,
	sent_ms   INTEGER NOT NULL,
	delivered INTEGER NOT NULL, -- 1: the receiver took it
	attempts  INTEGER NOT NULL,
	failure   TEXT NOT NULL -- of the latest attempt that failed; '' if none did
) STRICT;
CREATE INDEX redeliveries_event ON redeliveries (event_id);

-- The secret that signed a provider's events before this one, encrypted as it is, and signs beside it until that time.
ALTER TABLE providers ADD COLUMN previous_webhook_secret BLOB; -- NULL where there is none
ALTER TABLE providers ADD COLUMN previous_webhook_secret_until_ms INTEGER;
