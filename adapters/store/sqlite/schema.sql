-- The schema of a store. Times are milliseconds since 1970-01-01 UTC, and 0 for a time that is not known or has not come; dates are
-- YYYY-MM-DD in New Zealand, and '' for no date; amounts are whole cents of New Zealand dollars; JSON is '' for no value.

PRAGMA application_id = 0x50436b31; -- "PCk1", the mark of a store
PRAGMA user_version = 2;            -- of this schema; a program opens no other

-- The one row about the store itself.
CREATE TABLE store (
	id                 INTEGER PRIMARY KEY CHECK (id = 1),
	environment        TEXT NOT NULL CHECK (environment IN ('', 'sandbox', 'production')), -- '' until a server stamps it
	secret_fingerprint TEXT NOT NULL -- of the secret that encrypts; '' until one does
) STRICT;
INSERT INTO store (id, environment, secret_fingerprint) VALUES (1, '', '');

CREATE TABLE providers (
	code                    TEXT NOT NULL PRIMARY KEY,
	name                    TEXT NOT NULL,
	account_id              TEXT NOT NULL,
	environment             TEXT NOT NULL,
	active                  INTEGER NOT NULL,
	api_enabled             INTEGER NOT NULL,
	disabled                INTEGER NOT NULL, -- by an operator's act
	mode                    TEXT NOT NULL, -- catalogue or legacy
	enrolment_origins       TEXT NOT NULL, -- JSON
	success_url             TEXT NOT NULL,
	cancel_url              TEXT NOT NULL,
	rate_limit              INTEGER NOT NULL, -- requests a second with one key; 0: as many as the server allows
	display_name            TEXT NOT NULL,
	primary_colour          TEXT NOT NULL,
	logo_url                TEXT NOT NULL,
	support_email           TEXT NOT NULL,
	webhook_url             TEXT NOT NULL,
	webhook_secret          BLOB NOT NULL -- encrypted; empty without a secret
) STRICT, WITHOUT ROWID;

CREATE TABLE courses (
	provider_code TEXT NOT NULL,
	code          TEXT NOT NULL,
	position      INTEGER NOT NULL, -- within the provider
	name          TEXT NOT NULL,
	price_cents   INTEGER NOT NULL,
	upfront_cents INTEGER NOT NULL,
	active        INTEGER NOT NULL,
	environment   TEXT NOT NULL,
	options       TEXT NOT NULL, -- JSON: frequency, and number or amount of the instalments
	prices        TEXT NOT NULL, -- JSON: later prices, each from a day on
	PRIMARY KEY (provider_code, code)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
	id            TEXT NOT NULL PRIMARY KEY,
	provider_code TEXT NOT NULL,
	environment   TEXT NOT NULL,
	hash          BLOB NOT NULL UNIQUE, -- SHA-256 of the key's text
	created_ms    INTEGER NOT NULL,
	revoked_ms    INTEGER NOT NULL,
	label         TEXT NOT NULL,
	expires_ms    INTEGER NOT NULL,
	last_used_ms  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE checkouts (
	place                   INTEGER PRIMARY KEY, -- created_ms × 65536 + a number: the order of their creation
	provider_code           TEXT NOT NULL,
	id                      TEXT NOT NULL,
	provider_order_id       TEXT NOT NULL,
	idempotency_key         TEXT NOT NULL, -- of the request that opened it; by default <provider_code>:<provider_order_id>
	status                  TEXT NOT NULL,
	created_ms              INTEGER NOT NULL,
	search                  TEXT NOT NULL, -- family name, given name and address, folded
	billing_request_id      TEXT NOT NULL,
	consent                 TEXT NOT NULL, -- JSON: when the payer accepted the direct debit terms, from where, and which
	mandate_id              TEXT NOT NULL,
	mandate_status          TEXT NOT NULL,
	mandate_since_ms        INTEGER NOT NULL,
	setup_completed_ms      INTEGER NOT NULL,
	ended                   TEXT NOT NULL, -- JSON: when it was cancelled or withdrawn, by whom and why
	attention_ms            INTEGER NOT NULL, -- since when a mandate is dead, a confirm is missing, or the payer is not back
	revision                INTEGER NOT NULL, -- grows with each change
	request_id              TEXT NOT NULL, -- of the request that opened it, like created_by
	created_by              TEXT NOT NULL,
	first_name              TEXT NOT NULL,
	last_name               TEXT NOT NULL,
	email                   TEXT NOT NULL,
	course_code             TEXT NOT NULL, -- '' for a legacy provider
	course_name             TEXT NOT NULL,
	price_cents             INTEGER NOT NULL, -- the amount to finance is price - upfront
	upfront_cents           INTEGER NOT NULL,
	frequency               TEXT NOT NULL,
	number                  INTEGER NOT NULL, -- of instalments
	instalment_cents        INTEGER NOT NULL,
	final_cents             INTEGER NOT NULL, -- the last instalment
	first_payment           TEXT NOT NULL, -- the provider's preference
	setup_tokens            TEXT NOT NULL, -- JSON: epoch and end of each token, oldest first; the text of a token is not stored
	setup_try               INTEGER NOT NULL,
	billing_request_status  TEXT NOT NULL,
	mandate                 TEXT NOT NULL, -- JSON: the processor's code for its status, such as DISHONOUR-AC04, and the first day of collection
	authorisation_status    TEXT NOT NULL,
	account_holder          TEXT NOT NULL,
	account_mask            TEXT NOT NULL,
	confirmed_ms            INTEGER NOT NULL,
	confirmed_by_request_id TEXT NOT NULL,
	agreed_first_payment    TEXT NOT NULL,
	agreement_number        TEXT NOT NULL,
	document_sha256         BLOB NOT NULL, -- of the PDF; empty without a PDF
	erased_ms               INTEGER NOT NULL, -- when the personal data was erased
	UNIQUE (provider_code, id),
	UNIQUE (provider_order_id, provider_code),
	UNIQUE (provider_code, idempotency_key)
) STRICT;
-- Partial, so that a create writes to none of them.
CREATE INDEX checkouts_billing_request ON checkouts (billing_request_id) WHERE billing_request_id <> '';
CREATE INDEX checkouts_mandate ON checkouts (mandate_id) WHERE mandate_id <> '';
CREATE INDEX checkouts_search ON checkouts (search) WHERE consent <> '';
CREATE INDEX checkouts_attention ON checkouts (attention_ms) WHERE attention_ms <> 0;

-- Agreements as they were accepted. Only an erasure changes one.
CREATE TABLE agreements (
	provider_code TEXT NOT NULL,
	checkout_id   TEXT NOT NULL,
	number        TEXT NOT NULL,
	facts         TEXT NOT NULL, -- JSON: the whole agreement
	PRIMARY KEY (provider_code, checkout_id),
	UNIQUE (number, provider_code)
) STRICT;

CREATE TABLE documents (
	provider_code TEXT NOT NULL,
	checkout_id   TEXT NOT NULL,
	sha256        BLOB NOT NULL,
	bytes         BLOB NOT NULL, -- the PDF; empty once it is erased
	PRIMARY KEY (provider_code, checkout_id)
) STRICT;

-- What is done after a commit: events, notices, calls of the CRM and the processor. Provider and checkout of the service's own jobs are ''.
CREATE TABLE jobs (
	entered         INTEGER PRIMARY KEY, -- microseconds since 1970, or one more than the latest: the order in which the jobs entered
	provider_code   TEXT NOT NULL,
	checkout_id     TEXT NOT NULL,
	id              TEXT NOT NULL,
	kind            TEXT NOT NULL,
	position        INTEGER NOT NULL, -- within the checkout
	request_id      TEXT NOT NULL, -- of the request that it follows from
	name            TEXT NOT NULL, -- of an event; the kind of a notice
	body            BLOB NOT NULL, -- of an event, as it is signed and sent
	try             INTEGER NOT NULL, -- of the setup that a notice is about
	created_ms      INTEGER NOT NULL,
	due_ms          INTEGER NOT NULL, -- of the next attempt; 0: at once
	state           TEXT NOT NULL, -- pending, done, failed or dropped
	again           INTEGER NOT NULL, -- 1: armed since it was leased
	token           INTEGER NOT NULL, -- of the latest lease; grows
	leased_until_ms INTEGER NOT NULL, -- 0: the latest lease was settled or given back
	attempts        INTEGER NOT NULL,
	cursor          TEXT NOT NULL, -- for the next attempt
	failed_ms       INTEGER NOT NULL, -- of the latest attempt that failed, like failure
	failure         TEXT NOT NULL,
	receipt         TEXT NOT NULL, -- the other system's words
	settled_ms      INTEGER NOT NULL,
	UNIQUE (provider_code, checkout_id, id)
) STRICT;
CREATE INDEX jobs_due ON jobs (kind, due_ms) WHERE state = 'pending';
CREATE INDEX jobs_failed ON jobs (settled_ms) WHERE state = 'failed';
CREATE INDEX jobs_listed ON jobs (provider_code) WHERE kind = 'deliver'; -- in the order of entered
CREATE INDEX jobs_settled ON jobs (id) WHERE state <> 'pending' AND kind IN ('deliver', 'notify');

-- The timelines of checkouts, without personal data.
CREATE TABLE moments (
	provider_code TEXT NOT NULL,
	checkout_id   TEXT NOT NULL,
	id            TEXT NOT NULL,
	position      INTEGER NOT NULL,
	at_ms         INTEGER NOT NULL,
	kind          TEXT NOT NULL,
	actor         TEXT NOT NULL,
	request_id    TEXT NOT NULL,
	detail        TEXT NOT NULL,
	times         INTEGER NOT NULL,
	PRIMARY KEY (provider_code, checkout_id, id)
) STRICT, WITHOUT ROWID;

-- What operators did.
CREATE TABLE acts (
	provider_code TEXT NOT NULL, -- '' for an act of no provider
	at_ms         INTEGER NOT NULL,
	id            TEXT NOT NULL,
	operator      TEXT NOT NULL,
	act           TEXT NOT NULL, -- the command
	subject       TEXT NOT NULL,
	reason        TEXT NOT NULL,
	changes       TEXT NOT NULL -- JSON
) STRICT;
CREATE TRIGGER acts_are_not_changed BEFORE UPDATE ON acts BEGIN SELECT RAISE(ABORT, 'acts are not changed'); END;
CREATE TRIGGER acts_are_not_deleted BEFORE DELETE ON acts BEGIN SELECT RAISE(ABORT, 'acts are not deleted'); END;

-- Records of the fake processor.
CREATE TABLE sandbox_records (
	name TEXT NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) STRICT, WITHOUT ROWID;
