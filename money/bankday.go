package money

import (
	"cmp"
	"slices"
	"time"
)

// IsBankDay reports whether the banks of New Zealand process direct debits on d: on every day but Saturdays, Sundays and
// the holidays of the whole country. A regional holiday is a bank day.
func (d Date) IsBankDay() bool {
	switch d.midnight().Weekday() {
	case time.Saturday, time.Sunday:
		return false
	}
	first, _ := slices.BinarySearchFunc(holidays[:], d, func(h Holiday, d Date) int { return h.Day.compare(d) })
	for _, h := range holidays[first:] {
		if h.Day != d {
			break
		}
		if h.Region == "" {
			return false
		}
	}
	return true
}

// NextBankDay returns d, or the first day after it on which banks process direct debits.
func (d Date) NextBankDay() Date {
	for !d.IsBankDay() {
		d = d.AddDays(1)
	}
	return d
}

func (d Date) compare(e Date) int {
	return cmp.Or(cmp.Compare(d.Year, e.Year), cmp.Compare(d.Month, e.Month), cmp.Compare(d.Day, e.Day))
}
