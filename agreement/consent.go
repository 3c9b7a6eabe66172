package agreement

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// UsualNotice is how many calendar days lie between the notice of a payment and the payment, where
// nothing else is agreed.
const UsualNotice = 10

// ConsentSince is the first version of the wording whose agreements hold the payer's consent. One that a program
// of the version before concluded holds none, though its checkout may.
const ConsentSince = "2026-11-21"

// DebitTerms are the terms of a direct debit authority in the wording of Version, with what differs from
// provider to provider.
type DebitTerms struct {
	NoticeDays int    // calendar days; 0 stands for the usual ones
	Provider   string // the name that the payer knows the education provider by
	Lender     Lender // who collects, where it is named
}

// Name names the terms as they read, such as "2026-11-21/2/9f86d081884c7d65": the version of their wording, the days
// of notice, and a fingerprint of their words.
func (t DebitTerms) Name() string {
	var words strings.Builder
	for _, r := range t.Rows() {
		words.WriteString(r.Label + "\n" + r.Value + "\n")
	}
	sum := sha256.Sum256([]byte(words.String()))
	return fmt.Sprintf("%s/%d/%s", Version, t.days(), hex.EncodeToString(sum[:8]))
}

// Notice returns for how long an account holder knows of a payment before it is taken: "10 calendar days".
func (t DebitTerms) Notice() string {
	if t.days() == 1 {
		return "1 calendar day"
	}
	return fmt.Sprintf("%d calendar days", t.days())
}

// Earliest returns the first day on which a payment may be taken under an agreement of this day.
func (t DebitTerms) Earliest(day money.Date) money.Date { return day.AddDays(t.days()) }

func (t DebitTerms) days() int { return cmp.Or(t.NoticeDays, UsualNotice) }

// Consent is the evidence that a payer accepted the direct debit terms. The zero Consent is none.
type Consent struct {
	At         time.Time // UTC, to the millisecond
	From       string    // network address of the payer's browser; "" where it is not known
	Terms      string    // the DebitTerms' Name; "" where it is not known which were read, as NoticeDays is 0
	NoticeDays int       // calendar days, by those terms
}

// IsZero tells whether there is no evidence.
func (c Consent) IsZero() bool { return c == Consent{} }

// Version returns the version of the wording that was accepted; "" where it is not known.
func (c Consent) Version() string {
	version, _, _ := strings.Cut(c.Terms, "/")
	return version
}

// Notice is what was agreed of how soon a payment may follow the notice of it, which the agreement gives.
type Notice struct {
	Days      int        // calendar days
	NotBefore money.Date // no payment is taken sooner, whatever day it is planned for
}

// AgreedNotice returns the notice that an agreement of this day gives a payer who consented: without a consent to
// known terms the provider's, and no less than the usual.
func AgreedNotice(c Consent, providerDays int, day money.Date) Notice {
	days := cmp.Or(c.NoticeDays, max(providerDays, UsualNotice))
	return Notice{Days: days, NotBefore: day.AddDays(days)}
}
