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

// UsualNotice is the number of calendar days between the notice of a payment and the payment, unless
// something else is agreed.
const UsualNotice = 10

// MaxNotice is the longest notice of a payment, in calendar days.
const MaxNotice = 30

// DebitTerms are the terms of a direct debit authority, with what differs from provider to provider.
type DebitTerms struct {
	Version    string // of the wording; "" means the one of Version
	NoticeDays int    // calendar days; 0 means UsualNotice
	Provider   string // the name by which the payer knows the education provider
	Lender     Lender // who collects, if it is named
	Authority  Authority
}

// DebitTerms returns the direct debit terms that the agreement repeats.
func (a Agreement) DebitTerms() DebitTerms {
	return DebitTerms{Version: a.Version, NoticeDays: a.Notice.Days, Provider: a.Provider.Name, Lender: a.Terms.Lender,
		Authority: a.Terms.Authority}
}

// Name returns the id of the terms, such as "2026-11-29/2/9f86d081884c7d65": the version of the wording, the days
// of notice, and a fingerprint of the text.
func (t DebitTerms) Name() string {
	var words strings.Builder
	for _, r := range t.Rows() {
		words.WriteString(r.Label + "\n" + r.Value + "\n")
	}
	sum := sha256.Sum256([]byte(words.String()))
	return fmt.Sprintf("%s/%d/%s", t.version(), t.Days(), hex.EncodeToString(sum[:8]))
}

func (t DebitTerms) version() string { return cmp.Or(t.Version, Version) }

// Notice returns how long before a payment the account holder has notice of it: "10 calendar days".
func (t DebitTerms) Notice() string {
	if t.Days() == 1 {
		return "1 calendar day"
	}
	return fmt.Sprintf("%d calendar days", t.Days())
}

// NoticeOn returns the notice of an agreement of this day: no payment is taken before the first collection day when the days of
// notice have passed.
func (t DebitTerms) NoticeOn(day money.Date) Notice {
	return noticeOn(day, t.Days(), t.Authority.Calendar)
}

func noticeOn(day money.Date, days int, c money.Calendar) Notice {
	return Notice{Days: days, NotBefore: c.Next(day.AddDays(days))}
}

// Days returns how many calendar days of notice the terms give.
func (t DebitTerms) Days() int { return cmp.Or(t.NoticeDays, UsualNotice) }

// Consent is the evidence that a payer accepted the direct debit terms. The zero Consent means that the payer has not.
type Consent struct {
	At         time.Time // UTC, to the millisecond
	From       string    // network address of the payer's browser; "" if it is not known
	Terms      string    // the DebitTerms' Name; "" if it is not known which terms were shown, and then NoticeDays is 0
	NoticeDays int       // calendar days, by those terms
	Disclosed  Disclosed // before At
}

// IsZero reports whether there is no consent.
func (c Consent) IsZero() bool { return c == Consent{} }

// Version returns the version of the wording that was accepted; "" if it is not known.
func (c Consent) Version() string {
	version, _, _ := strings.Cut(c.Terms, "/")
	return version
}

// Notice is the agreed period between the notice of a payment, which the agreement gives, and the payment.
type Notice struct {
	Days      int        // calendar days
	NotBefore money.Date // no payment is taken before this collection day, even if it is planned for an earlier day
}

// Start returns the day on which collection starts where the first payment is planned for the day first: that day, or NotBefore
// if a collector with this calendar would take the payment sooner.
func (n Notice) Start(first money.Date, c money.Calendar) money.Date {
	if c.Next(first).Before(n.NotBefore) {
		return n.NotBefore
	}
	return first
}

// AgreedNotice returns the notice period of an agreement of this day with a collector of this calendar: the period that the
// payer consented to or, without a consent to known terms, the operator's, but at least UsualNotice.
func AgreedNotice(c Consent, days int, day money.Date, calendar money.Calendar) Notice {
	return noticeOn(day, cmp.Or(c.NoticeDays, max(days, UsualNotice)), calendar)
}
