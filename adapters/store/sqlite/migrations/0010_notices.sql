-- What payers are to be sent, and what became of it. Address and words are read from the checkout when it is sent.
CREATE TABLE notices (
	seq         INTEGER PRIMARY KEY,
	id          TEXT NOT NULL UNIQUE, -- follows from checkout, kind and try
	kind        TEXT NOT NULL, -- setup or agreement
	checkout_id TEXT NOT NULL REFERENCES checkouts (id),
	setup_try   INTEGER NOT NULL, -- of the setup that it is about
	created_ms  INTEGER,
	status      TEXT NOT NULL DEFAULT 'pending', -- pending, sent, failed or dropped
	attempts    INTEGER NOT NULL DEFAULT 0,
	epoch       INTEGER NOT NULL DEFAULT 0, -- rises with every lease
	due_ms      INTEGER, -- while it is pending: its lease, or the pause before the next attempt, ends
	sent_ms     INTEGER,
	reference   TEXT NOT NULL DEFAULT '', -- the Message-ID
	answer      TEXT NOT NULL DEFAULT '', -- of the system that took it over
	failure     TEXT NOT NULL DEFAULT '', -- of the latest attempt that failed
	failed_ms   INTEGER
) STRICT;
CREATE INDEX notices_checkout ON notices (checkout_id);
-- Partial, so that it is as small as what is still to be sent.
CREATE INDEX notices_due ON notices (due_ms) WHERE status = 'pending';
