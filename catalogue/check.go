package catalogue

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// Fault is one thing wrong with a provider file, with its place in the file:
// "providers[0].courses[2].plans[1].instalment_amount".
type Fault struct {
	Place   string
	Message string // reads on from the place: "must be an e-mail address"
}

// maxOrigins limits the enrolment origins: each page names them all in a header, whose length proxies limit.
const maxOrigins = 16

// Check returns every fault of c, with places relative to the provider and in the provider file's
// words ("courses[2].course_price"); nil if c may be stored. A fault that only
// follows from another is not reported.
func (c Configuration) Check() []Fault {
	var f faults
	f.provider(c.Provider)
	switch mode := c.Provider.Mode; {
	case mode != Authoritative && mode != Legacy:
		f.add("courses", "must say which pricing mode is meant, %s or %s", Authoritative, Legacy)
	case mode == Legacy && len(c.Courses) > 0:
		f.add("courses", "must be absent for a legacy provider")
	}
	seen := make(map[string]bool, len(c.Courses))
	for i, course := range c.Courses {
		place := fmt.Sprintf("courses[%d]", i)
		f.course(place, course)
		if seen[course.Code] && course.Code != "" {
			f.add(place+".course_code", "must be unique within the provider: %q is given twice", course.Code)
		}
		seen[course.Code] = true
	}
	return f
}

// Twice names a provider that comes twice, or a course that comes twice within its provider; "" without any.
func Twice(all []Configuration) string {
	providers := map[string]bool{}
	for _, c := range all {
		if providers[c.Provider.Code] {
			return fmt.Sprintf("provider %q", c.Provider.Code)
		}
		providers[c.Provider.Code] = true
		courses := map[string]bool{}
		for _, course := range c.Courses {
			if courses[course.Code] {
				return fmt.Sprintf("course %q of provider %q", course.Code, c.Provider.Code)
			}
			courses[course.Code] = true
		}
	}
	return ""
}

type faults []Fault

func (f *faults) add(place, format string, args ...any) {
	*f = append(*f, Fault{Place: place, Message: fmt.Sprintf(format, args...)})
}

func (f *faults) provider(p Provider) {
	if !codeForm.MatchString(p.Code) {
		f.add("provider_code", "must be 1 to 32 of A-Z, 0-9, _ and -, and begin with a letter or digit")
	}
	f.note("name", text.CheckName(p.Name))
	f.optional("account_id", p.AccountID, text.CheckName)
	f.environment("environment", p.Environment)

	sandbox := p.Environment != Production // a wrong environment adds no further faults here
	if len(p.EnrolmentOrigins) > maxOrigins {
		f.add("enrolment_origins", "must be at most %d: there are %d", maxOrigins, len(p.EnrolmentOrigins))
	}
	for i, origin := range p.EnrolmentOrigins {
		f.note(fmt.Sprintf("enrolment_origins[%d]", i), originFault(origin, sandbox))
	}
	page := func(url string) string { return pageFault(url, sandbox) }
	f.optional("success_url", p.SuccessURL, page)
	f.optional("cancel_url", p.CancelURL, page)

	if p.RateLimit < 0 || p.RateLimit > MaxRate {
		f.add("rate_limit", "must be a whole number from 1 to %d", MaxRate)
	}
	f.optional("branding.display_name", p.Branding.DisplayName, text.CheckName)
	if c := p.Branding.PrimaryColour; c != "" && !colourForm.MatchString(c) {
		f.add("branding.primary_colour", "must be a colour written as #rrggbb")
	}
	logo := page
	if isPicture(p.Branding.LogoURL) {
		logo = pictureFault
	}
	f.optional("branding.logo_url", p.Branding.LogoURL, logo)
	f.optional("branding.support_email", p.Branding.SupportEmail, text.CheckEmail)
	if p.Destination != (Destination{}) {
		f.note("webhook.url", receiverFault(p.Destination.URL, sandbox))
		f.note("webhook.signing_secret", secretFault(p.Destination.Secret))
	}
}

// MaxRate is the largest number of requests a second that a provider may have.
const MaxRate = 10_000

func (f *faults) course(place string, c Course) {
	f.note(place+".course_code", text.CheckName(c.Code))
	f.note(place+".course_name", text.CheckName(c.Name))
	f.environment(place+".environment", c.Environment)

	priced := f.price(place, c.Price, c.Upfront)
	for i, p := range c.Prices {
		place := fmt.Sprintf("%s.prices[%d]", place, i)
		switch {
		case !p.From.Valid():
			f.add(place+".valid_from", "%v", money.ErrDate)
		case i > 0 && !c.Prices[i-1].From.Before(p.From):
			f.add(place+".valid_from", "must be after %s, the day of the price before it", c.Prices[i-1].From)
		}
		if then := (Course{Price: p.Price, Upfront: p.Upfront}); f.price(place, p.Price, p.Upfront) {
			for j, o := range c.Options {
				if _, err := o.divide(then.pricing().Principal); err != nil && o.Number >= 0 && o.Amount >= 0 {
					f.add(place+".course_price", "must leave an amount that plans[%d] can divide: %v", j, err)
				}
			}
		}
	}
	if len(c.Options) == 0 {
		f.add(place+".plans", "must hold at least one plan")
	}
	for i, o := range c.Options {
		place := fmt.Sprintf("%s.plans[%d]", place, i)
		same := func(earlier Option) bool { return earlier.Frequency == o.Frequency }
		switch {
		case !o.Frequency.Valid():
			f.add(place+".payment_frequency", "must be %s, %s or %s", money.Weekly, money.Fortnightly, money.Monthly)
		case slices.ContainsFunc(c.Options[:i], same):
			f.add(place+".payment_frequency", "must be unique within the course: %s is given twice", o.Frequency)
		}
		f.option(place, o, c.pricing().Principal, priced)
	}
}

func (f *faults) price(place string, price, upfront money.Cents) bool {
	switch {
	case price <= 0:
		f.add(place+".course_price", "must be above zero")
	case price > money.Max:
		f.add(place+".course_price", "must be at most %v", money.Max)
	case upfront < 0:
		f.add(place+".upfront_payment", "must not be negative")
	case upfront >= price:
		f.add(place+".upfront_payment", "must be below the course price of %v", price)
	default:
		return true
	}
	return false
}

func (f *faults) option(place string, o Option, principal money.Cents, priced bool) {
	number, amount := place+".number_of_instalments", place+".instalment_amount"
	switch {
	case o.Number != 0 && o.Amount != 0:
		f.add(place, "must fix number_of_instalments or instalment_amount, not both")
	case o.Number == 0 && o.Amount == 0:
		f.add(place, "must fix number_of_instalments or instalment_amount")
	case o.Number < 0 || o.Number > money.MaxInstalments:
		f.add(number, "must be from 1 to %d", money.MaxInstalments)
	case o.Amount < 0:
		f.add(amount, "must be above zero")
	case o.Amount > money.Max:
		f.add(amount, "must be at most %v", money.Max)
	case priced:
		fixed := amount
		if o.Number != 0 {
			fixed = number
		}
		if _, err := o.divide(principal); err != nil {
			f.add(fixed, "must divide the %v to finance: %v", principal, err)
		}
	}
}

// note adds a fault, unless it is "".
func (f *faults) note(place, fault string) {
	if fault != "" {
		f.add(place, "%s", fault)
	}
}

func (f *faults) optional(place, value string, check func(string) string) {
	if value != "" {
		f.note(place, check(value))
	}
}

func (f *faults) environment(place string, e Environment) {
	if !e.Valid() {
		f.add(place, "must be %s or %s", Sandbox, Production)
	}
}

var (
	codeForm   = regexp.MustCompile(`^[A-Z0-9][A-Z0-9_-]{0,31}$`)
	colourForm = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)
)

const (
	minSecret = 24 // bytes of a signing secret
	// minDistinct is the smallest number of different bytes in a signing secret. 24 decimal digits drawn at random have fewer
	// once in 60,000 draws, letters never.
	minDistinct = 6
)

func secretFault(secret string) string {
	switch {
	case secret == "":
		return "must be given along with the URL"
	case len(secret) < minSecret:
		return fmt.Sprintf("must have at least %d bytes", minSecret)
	case !utf8.ValidString(secret) || strings.ContainsFunc(secret, unicode.IsControl):
		return "must be text without control characters"
	case !isVaried(secret):
		return "must be random: it repeats itself"
	}
	return ""
}

// isVaried reports whether a secret may have been drawn at random: "whsec_aaaaaaaaaaaaaaaaaa" and "abcdefg1abcdefg1abcdefg1"
// were not.
func isVaried(secret string) bool {
	secret = strings.TrimPrefix(secret, "whsec_")
	// A text that is one part again and again is found in two of itself before its second begins.
	repeats := strings.Index((secret + secret)[1:], secret)+1 < len(secret)
	distinct := slices.Compact(slices.Sorted(slices.Values([]byte(secret))))
	return len(distinct) >= minDistinct && !repeats
}
