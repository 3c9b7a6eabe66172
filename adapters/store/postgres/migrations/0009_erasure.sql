-- When the personal data of a checkout and of its agreement was erased; NULL while it is on record.
ALTER TABLE checkouts ADD COLUMN erased_ms bigint;
