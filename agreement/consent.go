package agreement

import (
	"cmp"
	"fmt"
	"time"
)

// UsualNotice is how many calendar days pass between the notice of a payment and the payment, where
// nothing else is agreed.
const UsualNotice = 10

// DebitTerms name the terms of a direct debit authority exactly: the version of their words, and what
// differs from provider to provider.
type DebitTerms struct {
	Version    string // of the wording; "" where it is not on record
	NoticeDays int    // calendar days; 0 where it is not on record
}

// CurrentTerms returns the terms that a payer is shown now. noticeDays are the provider's; 0 stands
// for the usual ones.
func CurrentTerms(noticeDays int) DebitTerms {
	return DebitTerms{Version: Version, NoticeDays: cmp.Or(noticeDays, UsualNotice)}
}

// String names the terms in one word, "2026-11-21/10": version and days of notice.
func (t DebitTerms) String() string { return fmt.Sprintf("%s/%d", t.Version, t.NoticeDays) }

// Notice returns for how long an account holder knows of a payment before it is taken: "10 calendar days".
func (t DebitTerms) Notice() string {
	if t.days() == 1 {
		return "1 calendar day"
	}
	return fmt.Sprintf("%d calendar days", t.days())
}

// days are those of notice: the usual ones, unless others are known to be agreed.
func (t DebitTerms) days() int { return cmp.Or(t.NoticeDays, UsualNotice) }

// Consent is the evidence that a payer accepted the direct debit terms. The zero Consent is none.
type Consent struct {
	At    time.Time // UTC, to the millisecond
	From  string    // network address of the payer's browser; "" where it is not known
	Terms DebitTerms
}

// IsZero tells whether there is no evidence.
func (c Consent) IsZero() bool { return c == Consent{} }
