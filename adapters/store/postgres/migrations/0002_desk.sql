-- The words by which an operator finds a person: folded names, the family name first and the given name first, and the folded
-- e-mail address; '' once the personal data is erased. A create leaves them NULL, and a server fills them in a second later, oldest
-- first, and enters the checkout in the indexes below: a create writes to the first alone.
ALTER TABLE checkouts ADD COLUMN search_family text COLLATE "C";
ALTER TABLE checkouts ADD COLUMN search_name text COLLATE "C";
ALTER TABLE checkouts ADD COLUMN search_email text COLLATE "C";
CREATE INDEX checkouts_unfolded ON checkouts (created_ms) WHERE search_name IS NULL;
CREATE INDEX checkouts_search_family ON checkouts (search_family, id) WHERE search_family IS NOT NULL;
CREATE INDEX checkouts_search_name ON checkouts (search_name, id) WHERE search_name IS NOT NULL;
CREATE INDEX checkouts_search_email ON checkouts (search_email, id) WHERE search_email IS NOT NULL;
CREATE INDEX checkouts_listed ON checkouts (provider_code, status, listed, updated_ms, id) WHERE search_name IS NOT NULL;
-- The requests about a checkout: those of its create and of its confirm, and the others in its journal.
CREATE INDEX checkouts_request ON checkouts (request_id) WHERE search_name IS NOT NULL;
CREATE INDEX checkouts_confirmed_by ON checkouts (confirmed_by_request_id) WHERE confirmed_by_request_id <> '';
CREATE INDEX moments_request ON moments (request_id) WHERE request_id <> '' AND kind <> 'created' AND kind <> 'confirmed';
CREATE INDEX jobs_settled_event ON jobs (id) WHERE kind = 'deliver' AND (state = 'done' OR state = 'dead' OR state = 'dropped');
-- What needs a hand. Partial, so that a create writes to none of them.
CREATE INDEX checkouts_unconfirmed ON checkouts (setup_completed_ms) WHERE setup_completed_ms IS NOT NULL AND confirmed_ms IS NULL;
CREATE INDEX checkouts_unfinished ON checkouts (created_ms) WHERE consent <> '' AND setup_completed_ms IS NULL AND confirmed_ms IS NULL;
CREATE INDEX checkouts_ended ON checkouts (mandate_since_ms) WHERE status = 'confirmed' AND mandate_status IN ('failed', 'cancelled', 'expired', 'blocked');
-- The agreements of a month. The day is in the index for the agreements that it leaves out.
CREATE INDEX agreements_accepted ON agreements (accepted_ms, number, last_day);
CREATE INDEX checkouts_withdrawn ON checkouts (ended_ms) WHERE ended_ms IS NOT NULL;
-- The farthest stage of the funnel in the journal: 1 created, 2 opened, 3 pressed, 4 set up, 5 confirmed; 0 for 1 until the words are
-- filled in. The time is in the index so that no row is read.
ALTER TABLE checkouts ADD COLUMN stage bigint NOT NULL DEFAULT 0;
CREATE INDEX checkouts_stages ON checkouts ((created_ms / 86400000), provider_code, stage, created_ms) WHERE stage > 0;
