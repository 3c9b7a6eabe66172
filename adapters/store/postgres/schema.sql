-- The schema of a store. Times are milliseconds since 1970-01-01 UTC, and 0 for a time that is not known or has not come; dates are
-- YYYY-MM-DD in New Zealand, and '' for no date; amounts are whole cents of New Zealand dollars; JSON is '' for no value. Texts that are
-- compared or sorted are in the order of their bytes.

-- The one row about the store itself.
CREATE TABLE store (
	id                 bigint PRIMARY KEY CHECK (id = 1),
	version            bigint NOT NULL, -- of this schema; a program opens no other
	environment        text NOT NULL CHECK (environment IN ('', 'sandbox', 'production')), -- '' until a server stamps it
	secret_fingerprint text NOT NULL, -- of the secret that encrypts; '' until one does
	own_secret         text NOT NULL -- '' where the operator's encrypts
);
INSERT INTO store (id, version, environment, secret_fingerprint, own_secret) VALUES (1, 2, '', '', '');

CREATE TABLE providers (
	code              text COLLATE "C" PRIMARY KEY,
	name              text NOT NULL,
	account_id        text NOT NULL,
	environment       text NOT NULL,
	active            boolean NOT NULL,
	api_enabled       boolean NOT NULL,
	disabled          boolean NOT NULL, -- by an operator's act
	mode              text NOT NULL, -- catalogue or legacy
	enrolment_origins text NOT NULL, -- JSON
	success_url       text NOT NULL,
	cancel_url        text NOT NULL,
	rate_limit        bigint NOT NULL, -- requests a second with one key; 0: as many as the server allows
	display_name      text NOT NULL,
	primary_colour    text NOT NULL,
	logo_url          text NOT NULL,
	support_email     text NOT NULL,
	webhook_url       text NOT NULL,
	webhook_secret    bytea NOT NULL -- encrypted; empty without a secret
);

CREATE TABLE courses (
	provider_code text COLLATE "C",
	code          text COLLATE "C",
	position      bigint NOT NULL, -- within the provider
	name          text NOT NULL,
	price_cents   bigint NOT NULL,
	upfront_cents bigint NOT NULL,
	active        boolean NOT NULL,
	environment   text NOT NULL,
	options       text NOT NULL, -- JSON: frequency, and number or amount of the instalments
	prices        text NOT NULL, -- JSON: later prices, each from a day on
	PRIMARY KEY (provider_code, code)
);

CREATE TABLE api_keys (
	id            text COLLATE "C" PRIMARY KEY,
	provider_code text NOT NULL,
	environment   text NOT NULL,
	hash          bytea NOT NULL UNIQUE, -- SHA-256 of the key's text
	created_ms    bigint NOT NULL,
	revoked_ms    bigint NOT NULL,
	label         text NOT NULL,
	expires_ms    bigint NOT NULL,
	last_used_ms  bigint NOT NULL
);

CREATE TABLE checkouts (
	provider_code           text COLLATE "C" NOT NULL,
	id                      text COLLATE "C" NOT NULL,
	provider_order_id       text COLLATE "C" NOT NULL,
	idempotency_key         text COLLATE "C" NOT NULL, -- of the request that opened it; by default <provider_code>:<provider_order_id>
	status                  text NOT NULL,
	created_ms              bigint NOT NULL,
	search                  text COLLATE "C" NOT NULL, -- family name, given name and address, folded
	billing_request_id      text NOT NULL,
	consent                 text NOT NULL, -- JSON: when the payer accepted the direct debit terms, from where, and which
	mandate_id              text NOT NULL,
	mandate_status          text NOT NULL,
	mandate_since_ms        bigint NOT NULL,
	setup_completed_ms      bigint NOT NULL,
	ended                   text NOT NULL, -- JSON: when it was cancelled or withdrawn, by whom and why
	attention_ms            bigint NOT NULL, -- since when a mandate is dead, a confirm is missing, or the payer is not back
	revision                bigint NOT NULL, -- grows with each change
	request_id              text NOT NULL, -- of the request that opened it, like created_by
	created_by              text NOT NULL,
	first_name              text NOT NULL,
	last_name               text NOT NULL,
	email                   text COLLATE "C" NOT NULL,
	course_code             text NOT NULL, -- '' for a legacy provider
	course_name             text NOT NULL,
	price_cents             bigint NOT NULL, -- the amount to finance is price - upfront
	upfront_cents           bigint NOT NULL,
	frequency               text NOT NULL,
	number                  bigint NOT NULL, -- of instalments
	instalment_cents        bigint NOT NULL,
	final_cents             bigint NOT NULL, -- the last instalment
	first_payment           text COLLATE "C" NOT NULL, -- the provider's preference
	setup_tokens            text NOT NULL, -- JSON: epoch and end of each token, oldest first; the text of a token is not stored
	setup_try               bigint NOT NULL,
	billing_request_status  text NOT NULL,
	mandate                 text NOT NULL, -- JSON: the processor's code for its status, such as DISHONOUR-AC04, and the first day of collection
	authorisation_status    text NOT NULL,
	account_holder          text NOT NULL,
	account_mask            text NOT NULL,
	confirmed_ms            bigint NOT NULL,
	confirmed_by_request_id text NOT NULL,
	agreed_first_payment    text COLLATE "C" NOT NULL,
	agreement_number        text NOT NULL,
	document_sha256         bytea NOT NULL, -- of the PDF; empty without a PDF
	erased_ms               bigint NOT NULL, -- when the personal data was erased
	PRIMARY KEY (provider_code, id),
	UNIQUE (provider_order_id, provider_code),
	UNIQUE (idempotency_key, provider_code)
);
CREATE INDEX checkouts_created ON checkouts (created_ms, id);
-- Partial, so that a create writes to none of them.
CREATE INDEX checkouts_billing_request ON checkouts (billing_request_id) WHERE billing_request_id <> '';
CREATE INDEX checkouts_mandate ON checkouts (mandate_id) WHERE mandate_id <> '';
CREATE INDEX checkouts_search ON checkouts (search) WHERE consent <> '';
CREATE INDEX checkouts_attention ON checkouts (attention_ms) WHERE attention_ms <> 0;

-- Agreements as they were accepted. Only an erasure changes one.
CREATE TABLE agreements (
	provider_code text COLLATE "C" NOT NULL,
	checkout_id   text COLLATE "C" NOT NULL,
	number        text NOT NULL,
	facts         text NOT NULL, -- JSON: the whole agreement
	PRIMARY KEY (provider_code, checkout_id),
	UNIQUE (number, provider_code)
);

CREATE TABLE documents (
	provider_code text COLLATE "C" NOT NULL,
	checkout_id   text COLLATE "C" NOT NULL,
	sha256        bytea NOT NULL,
	bytes         bytea NOT NULL, -- the PDF; empty once it is erased
	PRIMARY KEY (provider_code, checkout_id)
);
ALTER TABLE documents ALTER COLUMN bytes SET STORAGE EXTERNAL; -- a PDF is compressed

-- What is done after a commit: events, notices, calls of the CRM and the processor. Provider and checkout of the service's own jobs are ''.
CREATE TABLE jobs (
	provider_code   text COLLATE "C" NOT NULL,
	checkout_id     text COLLATE "C" NOT NULL,
	id              text COLLATE "C" NOT NULL,
	kind            text NOT NULL,
	position        bigint NOT NULL, -- within the checkout
	request_id      text NOT NULL, -- of the request that it follows from
	name            text NOT NULL, -- of an event; the kind of a notice
	body            bytea NOT NULL, -- of an event, as it is signed and sent
	try             bigint NOT NULL, -- of the setup that a notice is about
	created_ms      bigint NOT NULL,
	due_ms          bigint NOT NULL, -- of the next attempt; 0: at once
	state           text NOT NULL, -- pending, done, failed or dropped
	again           boolean NOT NULL DEFAULT false, -- armed since it was leased
	token           bigint NOT NULL DEFAULT 0, -- of the latest lease; grows
	leased_until_ms bigint NOT NULL DEFAULT 0, -- 0: the latest lease was settled or given back
	attempts        bigint NOT NULL DEFAULT 0,
	cursor          text NOT NULL DEFAULT '', -- for the next attempt
	failed_ms       bigint NOT NULL DEFAULT 0, -- of the latest attempt that failed, like failure
	failure         text NOT NULL DEFAULT '',
	receipt         text NOT NULL DEFAULT '', -- the other system's words
	settled_ms      bigint NOT NULL DEFAULT 0,
	entered         xid8 NOT NULL DEFAULT pg_current_xact_id(), -- the transaction that it entered in
	PRIMARY KEY (provider_code, checkout_id, id)
) WITH (fillfactor = 80);
CREATE INDEX jobs_due ON jobs (kind, due_ms) WHERE state = 'pending';
CREATE INDEX jobs_failed ON jobs (settled_ms) WHERE state = 'failed';
CREATE INDEX jobs_listed ON jobs (provider_code, entered, checkout_id, position) WHERE kind = 'deliver';
CREATE INDEX jobs_settled ON jobs (id) WHERE state <> 'pending' AND kind IN ('deliver', 'notify');

-- The timelines of checkouts, without personal data.
CREATE TABLE moments (
	provider_code text COLLATE "C" NOT NULL,
	checkout_id   text COLLATE "C" NOT NULL,
	id            text NOT NULL,
	position      bigint NOT NULL,
	at_ms         bigint NOT NULL,
	kind          text NOT NULL,
	actor         text NOT NULL,
	request_id    text NOT NULL,
	detail        text NOT NULL,
	times         bigint NOT NULL,
	PRIMARY KEY (provider_code, checkout_id, id)
);

-- What operators did.
CREATE TABLE acts (
	provider_code text COLLATE "C" NOT NULL, -- '' for an act of no provider
	at_ms         bigint NOT NULL,
	id            text COLLATE "C" NOT NULL,
	operator      text NOT NULL,
	act           text NOT NULL, -- the command
	subject       text NOT NULL,
	reason        text NOT NULL,
	changes       text NOT NULL, -- JSON
	PRIMARY KEY (provider_code, at_ms, id)
);
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'acts are not changed'; END$$;
CREATE TRIGGER acts_are_not_changed BEFORE UPDATE OR DELETE OR TRUNCATE ON acts FOR EACH STATEMENT EXECUTE FUNCTION refuse();

-- Records of the fake processor.
CREATE TABLE sandbox_records (
	name text COLLATE "C" PRIMARY KEY,
	data bytea NOT NULL
);
