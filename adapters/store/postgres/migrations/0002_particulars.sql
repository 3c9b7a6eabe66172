-- What an agreement holds beside its figures, as JSON: the provider's colour, the lender, the operator's
-- terms. Empty where there is none of it, as in what a program without this column writes.
ALTER TABLE agreements ADD COLUMN particulars text NOT NULL DEFAULT '';
