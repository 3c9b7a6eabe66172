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

// NoticePeriod is the time from the notice of a payment to the payment. The zero NoticePeriod is UsualNotice calendar days.
type NoticePeriod struct {
	Days     int
	Business bool // whether they are business days, and not calendar days; see money.Date.IsBusinessDay
}

// UsualNotice is the number of calendar days between the notice of a payment and the payment, unless
// something else is agreed.
const UsualNotice = 10

// Limits of a NoticePeriod.
const (
	MaxNotice         = 30 // calendar days
	MaxFrequentNotice = 10 // business days
)

// Long returns the period with the usual days in the place of zero days.
func (p NoticePeriod) Long() NoticePeriod {
	if p.Days == 0 {
		return NoticePeriod{Days: UsualNotice}
	}
	return p
}

// String returns the period as the payer reads it: "10 calendar days".
func (p NoticePeriod) String() string {
	p = p.Long()
	unit := "calendar day"
	if p.Business {
		unit = "business day"
	}
	if p.Days > 1 {
		unit += "s"
	}
	return fmt.Sprintf("%d %s", p.Days, unit)
}

// Usual reports whether the period is as long as the usual one, or longer. A period in business days is another than the usual one.
func (p NoticePeriod) Usual() bool {
	p = p.Long()
	return !p.Business && p.Days >= UsualNotice
}

// notice returns the notice of an agreement of this day with a collector of this calendar.
func (p NoticePeriod) notice(day money.Date, c money.Calendar) Notice {
	p = p.Long()
	end := day.AddDays(p.Days)
	if p.Business {
		end = day
		for range p.Days {
			end = money.BusinessDays.Next(end.AddDays(1))
		}
	}
	return Notice{Period: p, NotBefore: c.Next(end)}
}

// DebitTerms are the terms of a direct debit authority, with what differs from provider to provider.
type DebitTerms struct {
	Version   string // of the wording; "" means the one of Version
	Period    NoticePeriod
	Provider  string // the name by which the payer knows the education provider
	Lender    Lender // who collects, if it is named
	Authority Authority
}

// DebitTerms returns the direct debit terms that the agreement repeats.
func (a Agreement) DebitTerms() DebitTerms {
	return DebitTerms{Version: a.Version, Period: a.Notice.Period, Provider: a.Provider.Name, Lender: a.Terms.Lender,
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
	return fmt.Sprintf("%s/%d/%s", t.version(), t.Period.Long().Days, hex.EncodeToString(sum[:8]))
}

func (t DebitTerms) version() string { return cmp.Or(t.Version, Version) }

// NoticeOn returns the notice of an agreement of this day: no payment is taken before the first collection day when the days of
// notice have passed.
func (t DebitTerms) NoticeOn(day money.Date) Notice {
	return t.Period.notice(day, t.Authority.Calendar)
}

// Consent is the evidence that a payer accepted the direct debit terms. The zero Consent means that the payer has not.
type Consent struct {
	At        time.Time    // UTC, to the millisecond
	From      string       // network address of the payer's browser; "" if it is not known
	Terms     string       // the DebitTerms' Name; "" if it is not known which terms were shown, and then Period is zero
	Period    NoticePeriod // by those terms
	Disclosed Disclosed    // before At
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
	Period    NoticePeriod
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

// AgreedNotice returns the notice of an agreement of this day with a collector of this calendar, by the period that the
// payer consented to or, without a consent to known terms, by the operator's, but at least UsualNotice.
func AgreedNotice(c Consent, own NoticePeriod, day money.Date, calendar money.Calendar) Notice {
	if c.Period.Days > 0 {
		return c.Period.notice(day, calendar)
	}
	given, usual := own.notice(day, calendar), NoticePeriod{}.notice(day, calendar)
	if given.NotBefore.Before(usual.NotBefore) {
		return usual
	}
	return given
}
