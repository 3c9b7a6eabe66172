-- Times are milliseconds since 1970-01-01 UTC, dates are YYYY-MM-DD New Zealand dates, amounts
-- are whole cents of New Zealand dollars. The rows of a provider have its code first in their keys, so that they can be kept
-- on one of several nodes. Every order is that of a value that the store writes.
-- What is looked up or sorted is in byte order (COLLATE "C"), which no locale and no upgrade changes.

-- The one row that says what this store is.
CREATE TABLE store (
	id                 bigint PRIMARY KEY CHECK (id = 1),
	environment        text NOT NULL CHECK (environment IN ('', 'sandbox', 'production')), -- '' until a server stamps it
	crm                text NOT NULL, -- in which the records of the checkouts are: embedded where it is this store; '' until a server stamps it
	secret_fingerprint text NOT NULL, -- of the operator's secret that encrypts; '' until one does
	own_secret         text           -- what encrypts where no operator's secret was given; never in production
);

INSERT INTO store (id, environment, crm, secret_fingerprint) VALUES (1, '', '', '');

CREATE TABLE providers (
	code              text COLLATE "C" PRIMARY KEY,
	name              text NOT NULL,
	account_id        text NOT NULL,
	environment       text NOT NULL,
	active            boolean NOT NULL,
	api_enabled       boolean NOT NULL,
	mode              text NOT NULL, -- catalogue or legacy
	enrolment_origins text NOT NULL, -- JSON array
	success_url       text NOT NULL,
	cancel_url        text NOT NULL,
	display_name      text NOT NULL,
	primary_colour    text NOT NULL,
	logo_url          text NOT NULL,
	support_email     text NOT NULL,
	notice_days       bigint NOT NULL, -- calendar days from the notice of a payment to the payment; 0: the usual ones
	rate_limit        bigint NOT NULL, -- requests a second with one of its keys; 0: as many as the server allows
	webhook_url       text NOT NULL,
	webhook_secret    bytea -- encrypted under the operator's secret; NULL where there is none
);

CREATE TABLE courses (
	provider_code text COLLATE "C" NOT NULL REFERENCES providers (code),
	code          text COLLATE "C" NOT NULL,
	position      bigint NOT NULL, -- within the provider
	name          text NOT NULL,
	price_cents   bigint NOT NULL,
	upfront_cents bigint NOT NULL,
	active        boolean NOT NULL,
	environment   text NOT NULL,
	prices        text NOT NULL, -- JSON: [{from, price_cents, upfront_cents}, …] in the order of the days; '' for one price
	PRIMARY KEY (provider_code, code)
);

CREATE TABLE plan_options (
	provider_code         text COLLATE "C" NOT NULL,
	course_code           text COLLATE "C" NOT NULL,
	position              bigint NOT NULL, -- within the course
	payment_frequency     text NOT NULL,
	number_of_instalments bigint NOT NULL, -- 0 where the amount is fixed
	instalment_cents      bigint NOT NULL, -- 0 where the number is fixed
	PRIMARY KEY (provider_code, course_code, position),
	FOREIGN KEY (provider_code, course_code) REFERENCES courses (provider_code, code)
);

CREATE TABLE api_keys (
	id            text COLLATE "C" PRIMARY KEY,
	provider_code text NOT NULL, -- the key outlives the provider's configuration
	environment   text NOT NULL,
	hash          bytea NOT NULL UNIQUE, -- SHA-256 of the key's text
	created_ms    bigint,
	revoked_ms    bigint, -- NULL while the key lives
	label         text NOT NULL,
	expires_ms    bigint, -- NULL: never
	last_used_day text COLLATE "C" NOT NULL -- UTC; '' for a key that was not used
);

CREATE TABLE checkouts (
	provider_code           text COLLATE "C" NOT NULL,
	id                      text COLLATE "C" NOT NULL, -- <provider_code>-<milliseconds>-<suffix>: a provider's are in the order of their creation
	provider_order_id       text COLLATE "C" NOT NULL,
	idempotency_key         text COLLATE "C" NOT NULL, -- the header of the request that made it, or else <provider_code>:<provider_order_id>
	request_id              text NOT NULL,
	created_ms              bigint NOT NULL,
	status                  text NOT NULL, -- a reserved checkout does not exist yet for its provider
	first_name              text NOT NULL,
	last_name               text NOT NULL,
	email                   text NOT NULL,
	family                  text COLLATE "C" NOT NULL, -- the folded family name, by whose beginning an operator finds the student
	course_code             text NOT NULL, -- '' for a legacy provider
	course_name             text NOT NULL,
	price_cents             bigint NOT NULL,
	upfront_cents           bigint NOT NULL,
	principal_cents         bigint NOT NULL, -- amount to finance
	payment_frequency       text NOT NULL,
	number_of_instalments   bigint NOT NULL,
	instalment_cents        bigint NOT NULL,
	final_instalment_cents  bigint NOT NULL,
	first_payment_date      text NOT NULL, -- the provider's preference
	contact_id              text NOT NULL,
	opportunity_id          text NOT NULL,
	dda_id                  text NOT NULL,
	setup_tokens            text NOT NULL, -- epoch:expires_ms:key_id, oldest first, separated by spaces
	setup_try               bigint NOT NULL,
	billing_request_id      text COLLATE "C" NOT NULL,
	billing_request_status  text NOT NULL,
	mandate_id              text COLLATE "C" NOT NULL, -- the processor's; '' while there is none
	mandate_status          text NOT NULL,
	mandate_since_ms        bigint, -- when the mandate reached its status; NULL: not known
	mandate_reason          text NOT NULL, -- the processor's code for why it did, such as DISHONOUR-AC05; '' if it gave none
	authorisation_status    text NOT NULL,
	account_holder          text NOT NULL,
	account_mask            text NOT NULL, -- the number with its middle digits masked: all that is kept
	consent                 text NOT NULL, -- JSON: when the payer accepted the direct debit terms, from where, and which; '' if not
	setup_completed_ms      bigint,
	confirmed_ms            bigint, -- when the declarations were accepted; NULL until then
	confirmed_by_request_id text NOT NULL DEFAULT '',
	agreed_first_date       text NOT NULL DEFAULT '',
	agreement_id            text NOT NULL DEFAULT '',
	agreement_number        text NOT NULL DEFAULT '',
	document_id             text NOT NULL DEFAULT '',
	ended_ms                bigint, -- when it was cancelled, or its agreement withdrawn; NULL: it was not
	ended_by                text NOT NULL DEFAULT '', -- provider or operator; '' until then
	ended_ground            text NOT NULL DEFAULT '', -- of a withdrawal: cooling-off, provider, hardship or error
	ended_reason            text NOT NULL DEFAULT '', -- as it was given
	erased_ms               bigint, -- when the personal data of the checkout and of its agreement was erased; NULL while it is on record
	PRIMARY KEY (provider_code, id),
	UNIQUE (provider_code, provider_order_id),
	UNIQUE (provider_code, idempotency_key)
);

CREATE INDEX checkouts_family ON checkouts (family, id);
-- Partial, so that a create writes to none of them.
CREATE INDEX checkouts_billing_request ON checkouts (billing_request_id) WHERE billing_request_id <> '';
CREATE INDEX checkouts_mandate ON checkouts (mandate_id) WHERE mandate_id <> '';
-- What needs a hand. Partial, so that a create writes to none of them.
CREATE INDEX checkouts_unconfirmed ON checkouts (setup_completed_ms) WHERE setup_completed_ms IS NOT NULL AND confirmed_ms IS NULL;
CREATE INDEX checkouts_unfinished ON checkouts (created_ms) WHERE consent <> '' AND setup_completed_ms IS NULL AND confirmed_ms IS NULL;
CREATE INDEX checkouts_ended ON checkouts (mandate_since_ms) WHERE status = 'confirmed' AND mandate_status IN ('failed', 'cancelled', 'expired', 'blocked');

-- Agreements as they were accepted: frozen, whatever becomes of the rest.
CREATE TABLE agreements (
	provider_code          text COLLATE "C" NOT NULL,
	number                 text COLLATE "C" NOT NULL,
	id                     text NOT NULL,
	version                text NOT NULL, -- of the wording
	checkout_id            text COLLATE "C" NOT NULL,
	provider_order_id      text NOT NULL,
	accepted_ms            bigint,
	provider_name          text NOT NULL,
	support_email          text NOT NULL,
	first_name             text NOT NULL,
	last_name              text NOT NULL,
	email                  text NOT NULL,
	course_code            text NOT NULL,
	course_name            text NOT NULL,
	price_cents            bigint NOT NULL,
	upfront_cents          bigint NOT NULL,
	principal_cents        bigint NOT NULL,
	payment_frequency      text NOT NULL,
	number_of_instalments  bigint NOT NULL,
	instalment_cents       bigint NOT NULL,
	final_instalment_cents bigint NOT NULL,
	first_payment_date     text NOT NULL,
	schedule               text NOT NULL, -- JSON: [[sequence, type, due date, cents], …]; read it in charges
	dda_id                 text NOT NULL,
	account_holder         text NOT NULL,
	account_mask           text NOT NULL,
	authorised_ms          bigint,
	details                text NOT NULL, -- JSON: the provider's colour, the lender, the operator's terms, the consent, the notice; '' if nothing
	PRIMARY KEY (provider_code, number),
	UNIQUE (provider_code, checkout_id),
	CONSTRAINT agreements_checkout FOREIGN KEY (provider_code, checkout_id) REFERENCES checkouts (provider_code, id)
);

CREATE INDEX agreements_number ON agreements (number);

-- The charge schedules, one row a charge. A plan is written in one row, for a confirm must be
-- quick, and read here in as many as it has.
CREATE VIEW charges AS
	SELECT agreements.number            AS agreement_number,
	       agreements.checkout_id,
	       (charge.value ->> 0)::bigint AS sequence,
	       charge.value ->> 1           AS type,
	       charge.value ->> 2           AS due_date,
	       (charge.value ->> 3)::bigint AS amount_cents
	FROM agreements, jsonb_array_elements(agreements.schedule::jsonb) AS charge (value);

CREATE TABLE documents (
	provider_code    text COLLATE "C" NOT NULL,
	agreement_number text COLLATE "C" NOT NULL,
	id               text NOT NULL,
	sha256           bytea NOT NULL,
	bytes            bytea NOT NULL,
	PRIMARY KEY (provider_code, agreement_number),
	CONSTRAINT documents_agreement FOREIGN KEY (provider_code, agreement_number) REFERENCES agreements (provider_code, number)
);

-- Everything that is or was to be done later, once, by one process: events to deliver, notices to send, calls of the CRM, looks at
-- setups, notifications of the processor, and the service's own work, whose provider and checkout are ''. That the checkout of a job is there is not checked once more, at a
-- tenth of the price of a create.
CREATE TABLE jobs (
	position          bigint NOT NULL, -- within the checkout, in the order in which the jobs entered
	provider_code     text COLLATE "C" NOT NULL,
	checkout_id       text COLLATE "C" NOT NULL,
	id                text COLLATE "C" NOT NULL,
	kind              text COLLATE "C" NOT NULL,
	provider_order_id text COLLATE "C" NOT NULL,
	request_id        text NOT NULL, -- of the request that it follows from; '' if there was none
	name              text NOT NULL, -- of the event, kind of the notice, subject of the notification
	setup_try         bigint NOT NULL, -- of the setup that it is about
	created_ms        bigint NOT NULL,
	state             text COLLATE "C" NOT NULL, -- pending, done, dead or dropped
	due_ms            bigint NOT NULL, -- when the next attempt may be made
	leased_until_ms   bigint, -- NULL while it is not leased
	token             bigint NOT NULL, -- rises with every lease
	attempts          bigint NOT NULL DEFAULT 0,
	cursor            text NOT NULL DEFAULT '', -- how far the work is
	settled_ms        bigint,
	reference         text NOT NULL DEFAULT '', -- under which another system has taken it over: the Message-ID
	answer            text NOT NULL DEFAULT '', -- of that system
	failure           text NOT NULL DEFAULT '', -- of the latest attempt that failed; '' if none did
	failed_ms         bigint,
	body              bytea, -- of an event, as it is signed and sent
	epoch             bigint NOT NULL DEFAULT CAST(CAST(pg_current_xact_id() AS text) AS bigint), -- of the transaction in which it entered
	entered           bigserial, -- within that
	PRIMARY KEY (provider_code, checkout_id, id)
);

-- Partial, so that it is as small as what is still to be done.
CREATE INDEX jobs_pending ON jobs (kind, provider_code, leased_until_ms, due_ms) WHERE state = 'pending';
CREATE INDEX jobs_dead ON jobs (provider_code, created_ms) WHERE state = 'dead';
CREATE INDEX jobs_listed ON jobs (provider_code, epoch, entered) WHERE kind = 'deliver' AND state <> 'pending';

-- The journal: what happened to each checkout, without personal data. A row is never changed but for its count.
CREATE TABLE moments (
	provider_code text COLLATE "C" NOT NULL,
	checkout_id   text COLLATE "C" NOT NULL,
	position      bigint NOT NULL, -- within the checkout, from 1 on
	at_ms         bigint NOT NULL,
	kind          text COLLATE "C" NOT NULL,
	actor         text NOT NULL,
	request_id    text NOT NULL, -- '' if there was no request
	detail        text NOT NULL,
	once          text COLLATE "C" NOT NULL, -- for which it is appended once and then counted; '' if each is appended
	times         bigint NOT NULL,
	PRIMARY KEY (provider_code, checkout_id, position)
);
CREATE UNIQUE INDEX moments_once ON moments (provider_code, checkout_id, once) WHERE once <> '';

-- What operators did. A row is never changed.
CREATE TABLE acts (
	position bigserial PRIMARY KEY,
	at_ms    bigint NOT NULL,
	operator text NOT NULL, -- a name; nothing proves it
	act      text NOT NULL, -- the command
	subject  text NOT NULL, -- what it was done to: provider codes, an id, a number
	reason   text NOT NULL, -- as it was given; may be ''
	changes  text NOT NULL -- lines
);
CREATE INDEX acts_at ON acts (at_ms);

-- What the fake processor keeps about setups.
CREATE TABLE sandbox_records (
	name text COLLATE "C" PRIMARY KEY,
	data bytea NOT NULL
);

