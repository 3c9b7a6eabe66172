package money

import (
	"strings"
	"time"
)

// IsBankDay reports whether the banks of New Zealand process direct debits on d: on every day but Saturdays, Sundays and
// the public holidays of the whole country. A regional holiday is a bank day.
func (d Date) IsBankDay() bool {
	switch d.midnight().Weekday() {
	case time.Saturday, time.Sunday:
		return false
	}
	_, day, _ := strings.Cut(d.String(), "-")
	return !strings.Contains(holidays[d.Year], day)
}

// NextBankDay returns d, or the first day after it on which banks process direct debits.
func (d Date) NextBankDay() Date {
	for !d.IsBankDay() {
		d = d.AddDays(1)
	}
	return d
}

// holidays are the public holidays of the whole country from 2026 to 2037 as months and days: New Year's Day and the day after
// it, Waitangi Day, Good Friday, Easter Monday, Anzac Day, the King's Birthday, Matariki, Labour Day, Christmas Day and Boxing
// Day, as they are kept when one falls on a weekend, by the Holidays Act 2003 and the Te Kāhui o Matariki Public Holiday Act 2022
// as those stood on 22 November 2026. In later years only weekends are known.
var holidays = map[int]string{
	2026: "01-01 01-02 02-06 04-03 04-06 04-27 06-01 07-10 10-26 12-25 12-28",
	2027: "01-01 01-04 02-08 03-26 03-29 04-26 06-07 06-25 10-25 12-27 12-28",
	2028: "01-03 01-04 02-07 04-14 04-17 04-25 06-05 07-14 10-23 12-25 12-26",
	2029: "01-01 01-02 02-06 03-30 04-02 04-25 06-04 07-06 10-22 12-25 12-26",
	2030: "01-01 01-02 02-06 04-19 04-22 04-25 06-03 06-21 10-28 12-25 12-26",
	2031: "01-01 01-02 02-06 04-11 04-14 04-25 06-02 07-11 10-27 12-25 12-26",
	2032: "01-01 01-02 02-06 03-26 03-29 04-26 06-07 07-02 10-25 12-27 12-28",
	2033: "01-03 01-04 02-07 04-15 04-18 04-25 06-06 06-24 10-24 12-26 12-27",
	2034: "01-02 01-03 02-06 04-07 04-10 04-25 06-05 07-07 10-23 12-25 12-26",
	2035: "01-01 01-02 02-06 03-23 03-26 04-25 06-04 06-29 10-22 12-25 12-26",
	2036: "01-01 01-02 02-06 04-11 04-14 04-25 06-02 07-18 10-27 12-25 12-26",
	2037: "01-01 01-02 02-06 04-03 04-06 04-27 06-01 07-10 10-26 12-25 12-28",
}
