-- Times are milliseconds since 1970-01-01 UTC, dates are YYYY-MM-DD New Zealand dates, amounts
-- are whole cents of New Zealand dollars. The rows of a provider have its code first in their keys.

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
	rate_limit        INTEGER NOT NULL, -- requests a second with one of its keys; 0: as many as the server allows
	webhook_url       TEXT NOT NULL,
	webhook_secret    BLOB -- encrypted under the operator's secret; NULL where there is none
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
	prices        TEXT NOT NULL, -- JSON: [{from, price_cents, upfront_cents}, …] in the order of the days; '' for one price
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
	id            TEXT NOT NULL PRIMARY KEY,
	provider_code TEXT NOT NULL, -- the key outlives the provider's configuration
	environment   TEXT NOT NULL,
	hash          BLOB NOT NULL UNIQUE, -- SHA-256 of the key's text
	created_ms    INTEGER,
	revoked_ms    INTEGER, -- NULL while the key lives
	label         TEXT NOT NULL,
	expires_ms    INTEGER, -- NULL: never
	last_used_day TEXT NOT NULL -- UTC; '' for a key that was not used
) STRICT, WITHOUT ROWID;

CREATE TABLE checkouts (
	position                INTEGER PRIMARY KEY, -- the order in which the checkouts entered
	provider_code           TEXT NOT NULL,
	id                      TEXT NOT NULL, -- <provider_code>-<milliseconds>-<suffix>: a provider's are in the order of their creation
	provider_order_id       TEXT NOT NULL,
	idempotency_key         TEXT NOT NULL, -- the header of the request that made it, or else <provider_code>:<provider_order_id>
	request_id              TEXT NOT NULL,
	created_ms              INTEGER NOT NULL,
	status                  TEXT NOT NULL, -- a reserved checkout does not exist yet for its provider
	first_name              TEXT NOT NULL,
	last_name               TEXT NOT NULL,
	email                   TEXT NOT NULL,
	family                  TEXT NOT NULL, -- the folded family name, by whose beginning an operator finds the student
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
	confirmed_ms            INTEGER, -- when the declarations were accepted; NULL until then
	confirmed_by_request_id TEXT NOT NULL DEFAULT '',
	agreed_first_date       TEXT NOT NULL DEFAULT '',
	agreement_id            TEXT NOT NULL DEFAULT '',
	agreement_number        TEXT NOT NULL DEFAULT '',
	document_id             TEXT NOT NULL DEFAULT '',
	ended_ms                INTEGER, -- when it was cancelled, or its agreement withdrawn; NULL: it was not
	ended_by                TEXT NOT NULL DEFAULT '', -- provider or operator; '' until then
	ended_ground            TEXT NOT NULL DEFAULT '', -- of a withdrawal: cooling-off, provider, hardship or error
	ended_reason            TEXT NOT NULL DEFAULT '', -- as it was given
	erased_ms               INTEGER, -- when the personal data of the checkout and of its agreement was erased; NULL while it is on record
	UNIQUE (provider_code, id),
	UNIQUE (provider_code, provider_order_id)
) STRICT;

CREATE INDEX checkouts_family ON checkouts (family, id);
-- Partial, so that a create without a header writes to none of them.
CREATE UNIQUE INDEX checkouts_idempotency_key ON checkouts (provider_code, idempotency_key)
	WHERE idempotency_key <> provider_code || ':' || provider_order_id;
CREATE INDEX checkouts_billing_request ON checkouts (billing_request_id) WHERE billing_request_id <> '';
CREATE INDEX checkouts_mandate ON checkouts (mandate_id) WHERE mandate_id <> '';
-- What needs a hand. Partial, so that a create writes to none of them.
CREATE INDEX checkouts_unconfirmed ON checkouts (setup_completed_ms) WHERE setup_completed_ms IS NOT NULL AND confirmed_ms IS NULL;
CREATE INDEX checkouts_unfinished ON checkouts (created_ms) WHERE consent <> '' AND setup_completed_ms IS NULL AND confirmed_ms IS NULL;
CREATE INDEX checkouts_ended ON checkouts (mandate_since_ms) WHERE status = 'confirmed' AND mandate_status IN ('failed', 'cancelled', 'expired', 'blocked');

-- A key is taken once, whether it is a header or the default of an order. The indexes find two headers and two orders that are
-- alike; this finds a header that is the default key of an order, and the other way round.
CREATE TRIGGER checkouts_key_taken BEFORE INSERT ON checkouts
WHEN CASE WHEN NEW.idempotency_key = NEW.provider_code || ':' || NEW.provider_order_id
	THEN EXISTS (SELECT 1 FROM checkouts AS c WHERE c.provider_code = NEW.provider_code
		AND c.idempotency_key = NEW.idempotency_key AND c.idempotency_key <> c.provider_code || ':' || c.provider_order_id)
	ELSE EXISTS (SELECT 1 FROM checkouts AS c WHERE c.provider_code = NEW.provider_code
		AND c.provider_order_id = substr(NEW.idempotency_key, length(NEW.provider_code) + 2) AND c.idempotency_key = NEW.idempotency_key)
	END
BEGIN
	SELECT RAISE(ABORT, 'the idempotency key is taken');
END;

-- Agreements as they were accepted: frozen, whatever becomes of the rest.
CREATE TABLE agreements (
	provider_code          TEXT NOT NULL,
	number                 TEXT NOT NULL,
	id                     TEXT NOT NULL,
	version                TEXT NOT NULL, -- of the wording
	checkout_id            TEXT NOT NULL,
	provider_order_id      TEXT NOT NULL,
	accepted_ms            INTEGER,
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
	details                TEXT NOT NULL, -- JSON: the provider's colour, the lender, the operator's terms, the consent, the notice; '' if nothing
	PRIMARY KEY (provider_code, number),
	UNIQUE (provider_code, checkout_id),
	FOREIGN KEY (provider_code, checkout_id) REFERENCES checkouts (provider_code, id)
) STRICT;

CREATE INDEX agreements_number ON agreements (number);

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
	provider_code    TEXT NOT NULL,
	agreement_number TEXT NOT NULL,
	id               TEXT NOT NULL,
	sha256           BLOB NOT NULL,
	bytes            BLOB NOT NULL,
	PRIMARY KEY (provider_code, agreement_number),
	FOREIGN KEY (provider_code, agreement_number) REFERENCES agreements (provider_code, number)
) STRICT;

-- Everything that is or was to be done later, once, by one process: events to deliver, notices to send, calls of the CRM, looks at
-- setups, notifications of the processor, and the service's own work, whose provider and checkout are ''.
CREATE TABLE jobs (
	position          INTEGER PRIMARY KEY, -- the order in which the jobs entered
	provider_code     TEXT NOT NULL,
	checkout_id       TEXT NOT NULL,
	id                TEXT NOT NULL,
	kind              TEXT NOT NULL,
	provider_order_id TEXT NOT NULL,
	request_id        TEXT NOT NULL, -- of the request that it follows from; '' if there was none
	name              TEXT NOT NULL, -- of the event, kind of the notice, subject of the notification
	setup_try         INTEGER NOT NULL, -- of the setup that it is about
	created_ms        INTEGER NOT NULL,
	state             TEXT NOT NULL, -- pending, done, dead or dropped
	due_ms            INTEGER NOT NULL, -- when the next attempt may be made
	leased_until_ms   INTEGER, -- NULL while it is not leased
	token             INTEGER NOT NULL, -- rises with every lease
	attempts          INTEGER NOT NULL DEFAULT 0,
	cursor            TEXT NOT NULL DEFAULT '', -- how far the work is
	settled_ms        INTEGER,
	reference         TEXT NOT NULL DEFAULT '', -- under which another system has taken it over: the Message-ID
	answer            TEXT NOT NULL DEFAULT '', -- of that system
	failure           TEXT NOT NULL DEFAULT '', -- of the latest attempt that failed; '' if none did
	failed_ms         INTEGER,
	body              BLOB, -- of an event, as it is signed and sent
	UNIQUE (provider_code, checkout_id, id)
) STRICT;

-- Partial, so that it is as small as what is still to be done.
CREATE INDEX jobs_pending ON jobs (kind, provider_code, leased_until_ms, due_ms) WHERE state = 'pending';
CREATE INDEX jobs_dead ON jobs (provider_code, created_ms) WHERE state = 'dead';
CREATE INDEX jobs_listed ON jobs (provider_code, position) WHERE kind = 'deliver' AND state <> 'pending';
CREATE INDEX jobs_created ON jobs (created_ms);

-- The journal: what happened to each checkout, without personal data. A row is never changed but for its count.
CREATE TABLE moments (
	provider_code TEXT NOT NULL,
	checkout_id   TEXT NOT NULL,
	position      INTEGER NOT NULL, -- within the checkout, from 1 on
	at_ms         INTEGER NOT NULL,
	kind          TEXT NOT NULL,
	actor         TEXT NOT NULL,
	request_id    TEXT NOT NULL, -- '' if there was no request
	detail        TEXT NOT NULL,
	once          TEXT NOT NULL, -- for which it is appended once and then counted; '' if each is appended
	times         INTEGER NOT NULL,
	PRIMARY KEY (provider_code, checkout_id, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX moments_once ON moments (provider_code, checkout_id, once) WHERE once <> '';

-- What operators did. A row is never changed.
CREATE TABLE acts (
	position INTEGER PRIMARY KEY AUTOINCREMENT,
	at_ms    INTEGER NOT NULL,
	operator TEXT NOT NULL, -- a name; nothing proves it
	act      TEXT NOT NULL, -- the command
	subject  TEXT NOT NULL, -- what it was done to: provider codes, an id, a number
	reason   TEXT NOT NULL, -- as it was given; may be ''
	changes  TEXT NOT NULL -- lines
) STRICT;
CREATE INDEX acts_at ON acts (at_ms);

-- What the fake processor keeps about setups.
CREATE TABLE sandbox_records (
	name TEXT NOT NULL PRIMARY KEY,
	data BLOB NOT NULL
) STRICT, WITHOUT ROWID;

