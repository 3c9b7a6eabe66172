package agreement

import (
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
)

// Fee is an amount that the operator charges on top of the payments of the plan.
type Fee struct {
	Name   string
	Amount money.Cents // above 0
	When   string      // "for each payment that the bank refuses"
}

// FeeList is the fees of one kind. The zero FeeList does not say whether there are any; a stated, empty FeeList says that
// the operator charges no fees.
type FeeList struct {
	Stated bool
	Fees   []Fee
}

// None reports whether the list says that there are no fees.
func (l FeeList) None() bool { return l.Stated && len(l.Fees) == 0 }

// Text returns the fees as a row says them, a line each: "Nil" if the stated list is empty, and "" if it is not stated.
func (l FeeList) Text() string {
	switch {
	case !l.Stated:
		return ""
	case len(l.Fees) == 0:
		return "Nil"
	}
	lines := make([]string, len(l.Fees))
	for i, f := range l.Fees {
		lines[i] = fmt.Sprintf("%s: %s, %s", f.Name, f.Amount.Dollars(), f.When)
	}
	return strings.Join(lines, "\n")
}

// FeesInShort says whether there are fees, as much as the terms state: a sentence after "No interest".
func (t Terms) FeesInShort() string {
	switch {
	case len(t.Fees.Fees) > 0:
		return "Fees apply: see Fees."
	case t.Fees.None() && t.DefaultFees.None():
		return "No fees."
	case len(t.DefaultFees.Fees) > 0 && t.Fees.None():
		return "No fee for the plan. Default fees may apply: see Fees."
	case len(t.DefaultFees.Fees) > 0:
		return "Default fees may apply: see Fees."
	case t.Fees.None(), len(t.Blocks) == 0: // without terms the operator charges nothing for the plan
		return "No fee for the plan."
	}
	return "Fees are as the terms of the plan say."
}

// FeeRows returns the rows that list the fees that are stated.
func (t Terms) FeeRows() (rows []Row) {
	for _, kind := range []struct {
		label string
		list  FeeList
	}{{"Fees", t.Fees}, {"Default fees", t.DefaultFees}} {
		if text := kind.list.Text(); text != "" {
			rows = append(rows, Row{kind.label, text})
		}
	}
	return rows
}
