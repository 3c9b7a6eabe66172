package agreement

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
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
	words := ""
	for _, r := range t.Rows() {
		words += r.Label + "\n" + r.Value + "\n"
	}
	sum := sha256.Sum256([]byte(words))
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

// AgreedNotice returns the notice of an agreement that is concluded on day. Its period is the one in the consent or, without a
// consent to known terms, own, but at least UsualNotice.
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

// Disclosure is the content of the page that asks for a payer's consent: the plan, the operator's terms and the direct debit terms. It
// has no personal data, for its hash is kept where nothing is erased. From the agreement and its checkout it can be made again.
type Disclosure struct {
	DebitTerms DebitTerms
	Terms      Terms
	Course     string // its name
	Pricing    money.Pricing
	Payments   []money.Payment // of an enrolment that is confirmed on the day of the page
}

// Text returns the one text of a disclosure, the same bytes for the same disclosure: each label on a line with a colon, and below it
// its value, a line each after two spaces.
func (d Disclosure) Text() string {
	var b strings.Builder
	for _, r := range d.rows() {
		b.WriteString(r.Label + ":\n  " + strings.ReplaceAll(r.Value, "\n", "\n  ") + "\n")
	}
	return b.String()
}

func (d Disclosure) rows() []Row {
	rows := []Row{
		{"Education provider", d.DebitTerms.Provider},
		{"Course", d.Course},
		{"Total to pay", d.Pricing.Price.Dollars() + ", with no interest"},
	}
	for _, p := range d.Payments {
		value := p.Type.Label() + " of " + p.Amount.Dollars() + " on " + p.Taken.Long()
		if moved := p.Moved(); moved != "" {
			value += "\n" + moved
		}
		rows = append(rows, Row{fmt.Sprintf("Payment %d", p.Sequence), value})
	}
	if lender := d.Terms.Lender; lender != (Lender{}) {
		rows = append(rows, Row{"Lender", strings.Join([]string{lender.Name, lender.Address, lender.Registration, lender.Email}, "\n")})
	}
	rows = append(rows, d.Terms.Rights()...)
	return slices.Concat(rows, rowsOf(d.Terms.Blocks), d.DebitTerms.Rows())
}

// SHA256 returns the SHA-256 of the text, in hexadecimal.
func (d Disclosure) SHA256() string {
	sum := sha256.Sum256([]byte(d.Text()))
	return hex.EncodeToString(sum[:])
}

// Name returns the name under which a page records the text that it has shown: that of the direct debit terms, and the SHA-256 of the whole text.
func (d Disclosure) Name() string { return d.DebitTerms.Name() + "/" + d.SHA256() }

// Disclosed is the evidence of the Disclosure that a payer was shown before the consent. The zero Disclosed means that it is not known.
type Disclosed struct {
	SHA256 string // of Disclosure.Text, in hexadecimal
	Page   string // the path of the page that showed it, without its token; "" if it is not known
}
