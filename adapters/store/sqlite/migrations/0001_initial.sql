-- Times are milliseconds since 1970-01-01 UTC, dates are YYYY-MM-DD New Zealand dates, amounts
-- are whole cents of New Zealand dollars. seq is the order of making.

PRAGMA application_id = 0x50436b31; -- "PCk1", the mark of a store

-- The one row that says what this file is.
CREATE TABLE store (
	id                 INTEGER PRIMARY KEY CHECK (id = 1),
	environment        TEXT NOT NULL CHECK (environment IN ('', 'sandbox', 'production')), -- '' until a server stamps it
	secret_fingerprint TEXT NOT NULL, -- of the operator's secret that seals; '' until one does
	last_agreement     INTEGER NOT NULL -- the last number drawn of the sequence of agreements
) STRICT;

INSERT INTO store (id, environment, secret_fingerprint, last_agreement) VALUES (1, '', '', 0);

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
	webhook_url       TEXT NOT NULL,
	webhook_secret    BLOB -- sealed under the operator's secret; NULL where there is none
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
	idempotency_key         TEXT, -- the header of the request that made it; NULL where there was none
	request_id              TEXT NOT NULL,
	created_ms              INTEGER,
	status                  TEXT NOT NULL,
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
	mandate_status          TEXT NOT NULL,
	authorisation_status    TEXT NOT NULL,
	account_holder          TEXT NOT NULL,
	account_tail            TEXT NOT NULL, -- last two digits of the base number: all that is kept
	setup_completed_ms      INTEGER,
	confirmed_ms            INTEGER, -- when the declarations were accepted; NULL until then
	confirmed_by_request_id TEXT NOT NULL,
	agreed_first_date       TEXT NOT NULL,
	agreement_id            TEXT NOT NULL,
	agreement_number        TEXT NOT NULL,
	document_id             TEXT NOT NULL,
	UNIQUE (provider_code, provider_order_id)
) STRICT;

CREATE UNIQUE INDEX checkouts_idempotency_key ON checkouts (provider_code, idempotency_key)
	WHERE idempotency_key IS NOT NULL;

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
	account_tail           TEXT NOT NULL,
	authorised_ms          INTEGER
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
	epoch             INTEGER NOT NULL DEFAULT 1, -- rises with every change of owner
	owned_until_ms    INTEGER,
	UNIQUE (checkout_id, name)
) STRICT;

-- Ids are random to look at: an index of all of them would cost every create a page of its own.
CREATE UNIQUE INDEX events_pending_id ON events (id) WHERE status = 'pending';
CREATE INDEX events_pending ON events (owned_until_ms) WHERE status = 'pending';
