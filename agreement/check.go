package agreement

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// Check returns nil if the figures of the agreement are consistent, or an error with every way in which they are
// not: the price must be the initial payment and the instalments, and the charges must sum to it and be
// the charges of the plan (see [money.Schedule]).
func (a Agreement) Check() error {
	var f faults
	if sum := a.Pricing.Upfront + a.Pricing.Principal; sum != a.Pricing.Price {
		f.add("initial payment and amount to finance are %s, the course price is %s", sum, a.Pricing.Price)
	}
	if sum := a.Plan.Principal(); sum != a.Pricing.Principal {
		f.add("the instalments of the plan are %s, the amount to finance is %s", sum, a.Pricing.Principal)
	}
	var sum money.Cents
	for _, c := range a.Schedule {
		sum += c.Amount
	}
	if sum != a.Pricing.Price {
		f.add("the charges sum to %s, the course price is %s", sum, a.Pricing.Price)
	}
	switch {
	case !a.Plan.Frequency.Valid() || a.Plan.Number < 1 || a.Plan.Number > money.MaxInstalments:
		f.add("the plan has no schedule: %d instalments, %q", a.Plan.Number, a.Plan.Frequency)
	case !slices.Equal(a.Schedule, money.Schedule(a.Pricing.Upfront, a.Plan)):
		f.add("the charges are not those of the plan")
	}
	return errors.Join(f...)
}

// faults collects what is wrong with an agreement or with terms. A fault of terms begins with its place.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// text reports a text that is not as it must be.
func (f *faults) text(place, value string, limit int, required bool) {
	switch fault := text.CheckReadable(value); {
	case value == "" && required:
		f.add("%s must be given", place)
	case !utf8.ValidString(value):
		f.add("%s must be valid UTF-8", place)
	case utf8.RuneCountInString(value) > limit:
		f.add("%s must have at most %d characters", place, limit)
	case fault != "":
		f.add("%s %s", place, fault)
	}
}

// block reports what is wrong with a term.
func (f *faults) block(place string, b Block) {
	f.text(place+".title", b.Title, maxTermLine, true)
	before := len(*f)
	f.text(place+".text", strings.ReplaceAll(b.Text, "\n", " "), maxBlockText, true) // no other control character is text
	if len(*f) == before && len(Lines(b.Text)) == 0 {
		f.add("%s.text must hold a visible character", place)
	}
}

// fees reports what is wrong with a list of fees.
func (f *faults) fees(place string, l FeeList) {
	if len(l.Fees) > maxFees {
		f.add("%s must be at most %d", place, maxFees)
	}
	for i, fee := range l.Fees {
		at := fmt.Sprintf("%s[%d]", place, i)
		if fee.Amount <= 0 || fee.Amount > money.Max {
			f.add("%s.amount must be above zero and at most %s", at, money.Max.Dollars())
		}
		f.text(at+".name", fee.Name, maxTermLine, true)
		f.text(at+".when", fee.When, maxTermLine, true)
	}
}

// authority reports what is wrong with an authority.
func (f *faults) authority(a Authority) {
	if code := a.AuthorisationCode; code != "" && (len(code) != authorisationDigits || strings.Trim(code, "0123456789") != "") {
		f.add("authority.authorisation_code must be %d digits", authorisationDigits)
	}
	f.text("authority.initiator", a.Initiator, maxTermLine, false)
	f.text("authority.statement", a.Statement, maxTermLine, false)
	if a.Calendar != "" && !a.Calendar.Valid() {
		f.add("authority.collection_days must be %q or %q", money.EveryDay, money.BusinessDays)
	}
	if len(a.Conditions) > maxConditions {
		f.add("authority.conditions must be at most %d", maxConditions)
	}
	for i, b := range a.Conditions {
		f.block(fmt.Sprintf("authority.conditions[%d]", i), b)
	}
}
