-- The evidence that a payer accepted the direct debit terms, as JSON: when, from where, and which terms. Empty
-- where there is none, as in what a program without this column inserts; what one updates keeps the earlier evidence.
ALTER TABLE checkouts ADD COLUMN consent text NOT NULL DEFAULT '';

-- Calendar days from the notice of a payment to the payment; 0: the usual ones.
ALTER TABLE providers ADD COLUMN notice_days bigint NOT NULL DEFAULT 0;
