package agreement

import (
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
)

// Fee is an amount that the operator charges where a payment fails or comes late.
type Fee struct {
	Name   string
	Amount money.Cents // above 0
	When   string      // "for each payment that the bank refuses"
}

// FeeList is a list of fees. The zero FeeList does not say whether there are any; a stated, empty FeeList says that
// the operator charges no fees.
type FeeList struct {
	Stated bool
	Fees   []Fee
}

// None reports whether the list says that there are no fees.
func (l FeeList) None() bool { return l.Stated && len(l.Fees) == 0 }

// Text returns the fees as a row says them, a line each, or that there is no fee; "" if the list is not stated.
func (l FeeList) Text() string {
	switch {
	case !l.Stated:
		return ""
	case len(l.Fees) == 0:
		return noDefaultFees
	}
	lines := []string{"If a payment fails or comes late:"}
	for _, f := range l.Fees {
		lines = append(lines, fmt.Sprintf("%s: %s, %s", f.Name, f.Amount.Dollars(), f.When))
	}
	return strings.Join(lines, "\n")
}

const noDefaultFees = "This plan has no fee for a payment that fails or comes late."

// FeesInShort says as much of fees as the terms state: a sentence, or "" where they state nothing.
func (t Terms) FeesInShort() string {
	switch {
	case len(t.DefaultFees.Fees) > 0:
		return "There are fees only if a payment fails or comes late: see “Default fees”."
	case t.DefaultFees.None():
		return noDefaultFees
	}
	return ""
}
