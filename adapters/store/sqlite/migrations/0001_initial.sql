-- Times are milliseconds since 1970-01-01 UTC, dates are YYYY-MM-DD New Zealand dates, amounts
-- are whole cents of New Zealand dollars. seq is the order of making.

PRAGMA application_id = 0x50436b31; -- "PCk1", the mark of a store

-- The migrations that made this schema. No migration is ever changed: another checksum is that of another program.
CREATE TABLE provider_checkout_schema (
	version  INTEGER PRIMARY KEY, -- the migration's number
	checksum TEXT NOT NULL        -- SHA-256 of its script
) STRICT;

-- The one row that says what this file is.
CREATE TABLE store (
	id                 INTEGER PRIMARY KEY CHECK (id = 1),
	environment        TEXT NOT NULL CHECK (environment IN ('', 'sandbox', 'production')), -- '' until a server stamps it
	crm                TEXT NOT NULL, -- in which the records of the checkouts are: embedded where it is this store; '' until a server stamps it
	secret_fingerprint TEXT NOT NULL  -- of the operator's secret that encrypts; '' until one does
) STRICT;

INSERT INTO store (id, environment, crm, secret_fingerprint) VALUES (1, '', '', '');

CREATE TABLE providers (
	code              TEXT NOT NULL PRIMARY KEY,
	name              TEXT NOT NULL,
	account_id        TEXT NOT NULL,
	environment       TEXT NOT NULL,
	active            INTEGER NOT NULL,
	api_enabled       INTEGER NOT NULL,
	mode              TEXT NOT NULL, -- catalogue or legacy
	enrolment_origins TEXT NOT NULL, -- JSON array
	success_url       TEXT NOT NULL,
	cancel_url        TEXT NOT NULL,
	display_name      TEXT NOT NULL,
	primary_colour    TEXT NOT NULL,
	logo_url          TEXT NOT NULL,
	support_email     TEXT NOT NULL,
	notice_days       INTEGER NOT NULL, -- calendar days from the notice of a payment to the payment; 0: the usual ones
	webhook_url       TEXT NOT NULL,
	webhook_secret    BLOB, -- encrypted under the operator's secret; NULL where there is none
	previous_webhook_secret          BLOB, -- signs beside the secret that replaced it, until that time; NULL where there is none
	previous_webhook_secret_until_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE courses (
	provider_code TEXT NOT NULL REFERENCES providers (code),
	code          TEXT NOT NULL,
	position      INTEGER NOT NULL, -- within the provider
	name          TEXT NOT NULL,
	price_cents   INTEGER NOT NULL,
	upfront_cents INTEGER NOT NULL,
	active        INTEGER NOT NULL,
	environment   TEXT NOT NULL,
	PRIMARY KEY (provider_code, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE plan_options (
	provider_code         TEXT NOT NULL,
	course_code           TEXT NOT NULL,
	position              INTEGER NOT NULL, -- within the course
	payment_frequency     TEXT NOT NULL,
	number_of_instalments INTEGER NOT NULL, -- 0 where the amount is fixed
	instalment_cents      INTEGER NOT NULL, -- 0 where the number is fixed
	PRIMARY KEY (provider_code, course_code, position),
	FOREIGN KEY (provider_code, course_code) REFERENCES courses (provider_code, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
	seq           INTEGER PRIMARY KEY,
	id            TEXT NOT NULL UNIQUE,
	provider_code TEXT NOT NULL, -- the key outlives the provider's configuration
	environment   TEXT NOT NULL,
	hash          BLOB NOT NULL UNIQUE, -- SHA-256 of the key's text
	created_ms    INTEGER,
	revoked_ms    INTEGER -- NULL while the key lives
) STRICT;

CREATE TABLE checkouts (
	seq                     INTEGER PRIMARY KEY,
	id                      TEXT NOT NULL UNIQUE,
	provider_code           TEXT NOT NULL,
	provider_order_id       TEXT NOT NULL,
	idempotency_key         TEXT NOT NULL, -- the header of the request that made it, or else <provider_code>:<provider_order_id>
	request_id              TEXT NOT NULL,
	created_ms              INTEGER,
	status                  TEXT NOT NULL, -- a reserved checkout does not exist yet for its provider
	first_name              TEXT NOT NULL,
	last_name               TEXT NOT NULL,
	email                   TEXT NOT NULL,
	course_code             TEXT NOT NULL, -- '' for a legacy provider
	course_name             TEXT NOT NULL,
	price_cents             INTEGER NOT NULL,
	upfront_cents           INTEGER NOT NULL,
	principal_cents         INTEGER NOT NULL, -- amount to finance
	payment_frequency       TEXT NOT NULL,
	number_of_instalments   INTEGER NOT NULL,
	instalment_cents        INTEGER NOT NULL,
	final_instalment_cents  INTEGER NOT NULL,
	first_payment_date      TEXT NOT NULL, -- the provider's preference
	contact_id              TEXT NOT NULL,
	opportunity_id          TEXT NOT NULL,
	dda_id                  TEXT NOT NULL,
	setup_tokens            TEXT NOT NULL, -- epoch:expires_ms:key_id, oldest first, separated by spaces
	setup_try               INTEGER NOT NULL,
	billing_request_id      TEXT NOT NULL,
	billing_request_status  TEXT NOT NULL,
	mandate_id              TEXT NOT NULL, -- the processor's; '' while there is none
	mandate_status          TEXT NOT NULL,
	mandate_since_ms        INTEGER, -- when the mandate reached its status; NULL: not known
	mandate_reason          TEXT NOT NULL, -- the processor's code for why it did, such as DISHONOUR-AC05; '' if it gave none
	authorisation_status    TEXT NOT NULL,
	account_holder          TEXT NOT NULL,
	account_mask            TEXT NOT NULL, -- the number with its middle digits masked: all that is kept
	consent                 TEXT NOT NULL, -- JSON: when the payer accepted the direct debit terms, from where, and which; '' if not
	setup_completed_ms      INTEGER,
	look_again_ms           INTEGER, -- when the processor is asked again about the setup, even if no caller asks; NULL: not any more
	confirmed_ms            INTEGER, -- when the declarations were accepted; NULL until then
	confirmed_by_request_id TEXT NOT NULL,
	agreed_first_date       TEXT NOT NULL,
	agreement_id            TEXT NOT NULL,
	agreement_number        TEXT NOT NULL,
	document_id             TEXT NOT NULL,
	step                    TEXT NOT NULL, -- JSON: what a CRM outside of the store has still to do: kind, epoch of the lease, latest failure; '' if nothing
	step_since_ms           INTEGER, -- when it began
	step_due_ms             INTEGER, -- when its lease ends and it is due
	erased_ms               INTEGER, -- when the personal data of the checkout and of its agreement was erased; NULL while it is on record
	UNIQUE (provider_code, provider_order_id),
	UNIQUE (provider_code, idempotency_key)
) STRICT;

-- Partial, so that a create writes to none of them.
CREATE INDEX checkouts_billing_request ON checkouts (billing_request_id) WHERE billing_request_id <> '';
CREATE INDEX checkouts_mandate ON checkouts (mandate_id) WHERE mandate_id <> '';
CREATE INDEX checkouts_look_again ON checkouts (look_again_ms) WHERE look_again_ms IS NOT NULL;
CREATE INDEX checkouts_step_due ON checkouts (step_due_ms) WHERE step_due_ms IS NOT NULL;

-- Agreements as they were accepted: frozen, whatever becomes of the rest.
CREATE TABLE agreements (
	number                 TEXT NOT NULL PRIMARY KEY,
	id                     TEXT NOT NULL,
	version                TEXT NOT NULL, -- of the wording
	checkout_id            TEXT NOT NULL UNIQUE REFERENCES checkouts (id),
	provider_order_id      TEXT NOT NULL,
	accepted_ms            INTEGER,
	provider_code          TEXT NOT NULL,
	provider_name          TEXT NOT NULL,
	support_email          TEXT NOT NULL,
	first_name             TEXT NOT NULL,
	last_name              TEXT NOT NULL,
	email                  TEXT NOT NULL,
	course_code            TEXT NOT NULL,
	course_name            TEXT NOT NULL,
	price_cents            INTEGER NOT NULL,
	upfront_cents          INTEGER NOT NULL,
	principal_cents        INTEGER NOT NULL,
	payment_frequency      TEXT NOT NULL,
	number_of_instalments  INTEGER NOT NULL,
	instalment_cents       INTEGER NOT NULL,
	final_instalment_cents INTEGER NOT NULL,
	first_payment_date     TEXT NOT NULL,
	schedule               TEXT NOT NULL, -- JSON: [[sequence, type, due date, cents], …]; read it in charges
	dda_id                 TEXT NOT NULL,
	account_holder         TEXT NOT NULL,
	account_mask           TEXT NOT NULL,
	authorised_ms          INTEGER,
	details                TEXT NOT NULL -- JSON: the provider's colour, the lender, the operator's terms, the consent, the notice; '' if nothing
) STRICT;

-- The charge schedules, one row a charge. A plan is written in one row, for a confirm must be
-- quick, and read here in as many as it has.
CREATE VIEW charges AS
	SELECT agreements.number    AS agreement_number,
	       agreements.checkout_id,
	       charge.value ->> 0 AS sequence,
	       charge.value ->> 1 AS type,
	       charge.value ->> 2 AS due_date,
	       charge.value ->> 3 AS amount_cents
	FROM agreements, json_each(agreements.schedule) AS charge;

CREATE TABLE documents (
	agreement_number TEXT NOT NULL PRIMARY KEY REFERENCES agreements (number),
	id               TEXT NOT NULL,
	sha256           BLOB NOT NULL,
	bytes            BLOB NOT NULL
) STRICT;

-- Every event there was, and the outbox of those that are pending.
CREATE TABLE events (
	seq               INTEGER PRIMARY KEY,
	id                TEXT NOT NULL, -- follows from checkout and name
	checkout_id       TEXT NOT NULL REFERENCES checkouts (id),
	name              TEXT NOT NULL,
	provider_code     TEXT NOT NULL,
	provider_order_id TEXT NOT NULL,
	request_id        TEXT NOT NULL,
	created_ms        INTEGER,
	body              TEXT NOT NULL, -- as it is signed and sent
	status            TEXT NOT NULL, -- pending, delivered, failed or not_configured
	attempts          INTEGER NOT NULL DEFAULT 0,
	epoch             INTEGER NOT NULL DEFAULT 1, -- rises with every lease
	leased_until_ms   INTEGER,
	failure           TEXT NOT NULL DEFAULT '', -- of the latest attempt that failed; '' if none did
	failed_ms         INTEGER,
	UNIQUE (checkout_id, name)
) STRICT;

-- Ids are random to look at: an index of all of them would cost every create a page of its own. Few events are pending at
-- any time, so that this index finds what is due too.
CREATE UNIQUE INDEX events_pending_id ON events (id) WHERE status = 'pending';
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

-- What the fake processor keeps about setups.
CREATE TABLE sandbox_records (
	name TEXT NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) STRICT, WITHOUT ROWID;
