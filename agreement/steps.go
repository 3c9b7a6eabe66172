package agreement

import (
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
)

// Step is an amount with the day or the days on which it is paid, in a payer's words.
type Step struct {
	Label  string // "First payment", "Then", or "Payment" for the only one
	Amount string // "$53.65 a week"
	When   string // "until Monday 6 December 2027; the last payment is $53.85"
	Moved  string // the reason for each day in When that is not the planned one; "" where all are
}

// String returns the step as a sentence has it.
func (s Step) String() string {
	text := s.Amount + " " + s.When
	if s.Moved != "" {
		text += " (" + s.Moved + ")"
	}
	return text
}

// Steps says a plan as a payer is told it before all else, on pages and documents alike: what is paid first and when and, unless
// that is all, how much each period until when. Every day is the day of collection.
func Steps(payments []money.Payment, f money.Frequency) []Step {
	on := func(label string, p money.Payment) Step {
		return Step{label, p.Amount.Dollars(), "on " + p.Taken.Long(), p.Moved()}
	}
	switch len(payments) {
	case 0:
		return nil
	case 1:
		return []Step{on("Payment", payments[0])}
	}
	rest := payments[1:]
	next, last := rest[0], rest[len(rest)-1]
	then := on("Then", next)
	switch {
	case len(rest) == 1:
	case len(rest) == 2 && next.Amount != last.Amount:
		then.When += ", and " + last.Amount.Dollars() + " on " + last.Taken.Long()
		then.Moved = strings.Trim(then.Moved+"; "+last.Moved(), "; ")
	default:
		then = Step{then.Label, next.Amount.Dollars() + " " + f.Period(), "until " + last.Taken.Long(), last.Moved()}
		if next.Amount != last.Amount {
			then.When += "; the last payment is " + last.Amount.Dollars()
		}
	}
	return []Step{on("First payment", payments[0]), then}
}

// InAll says the price with as much of interest and fees as the terms state: "$2,990.00 in all. No interest."
func (t Terms) InAll(price money.Cents) string {
	return strings.TrimSpace(price.Dollars() + " in all. No interest. " + t.FeesInShort())
}

// Deferred says that the payments of a plan start on the day start, because the notice of the first payment does not allow the
// planned day.
func Deferred(planned, start money.Date) string {
	return "The first payment was planned for " + planned.Long() + ", which is too soon: the payer must get notice of a payment some days before it. " +
		"The payments start on " + start.Long() + " instead."
}
