package agreement

import (
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// Cancellation is the payer's right to cancel the plan soon after the agreement. The zero Cancellation says nothing of it.
type Cancellation struct {
	WorkingDays int    // after the day on which the payer counts as having received the agreement
	How         string // the payer cancels
	PayWithin   int    // working days in which a payer who cancels and keeps the course pays the rest of its price; 0: it is not said
}

// PayWithinByLaw is the Cancellation's PayWithin by section 27 of the Credit Contracts and Consumer Finance Act 2003, which wants the cash
// price of services that the debtor wants to obtain within this time of the notice.
const PayWithinByLaw = 15

// Period returns the number of working days: "5 working days".
func (c Cancellation) Period() string {
	if c.WorkingDays == 1 {
		return "1 working day"
	}
	return fmt.Sprintf("%d working days", c.WorkingDays)
}

// receivedAfter is the number of working days after which disclosure that was sent electronically counts as made, for the right to
// cancel: section 35 of the Credit Contracts and Consumer Finance Act 2003.
const receivedAfter = 2

// Until returns the last day on which a payer can cancel an agreement that was sent electronically on this day in New Zealand; the
// zero Date for the zero Cancellation. Section 27 of the Act counts the working days "of the day" of the disclosure, and that day
// itself is not counted (Legislation Act 2019, section 54).
func (c Cancellation) Until(sent money.Date) money.Date {
	if c.WorkingDays < 1 {
		return money.Date{}
	}
	day := sent
	for left := c.WorkingDays + receivedAfter; left > 0; {
		if day = day.AddDays(1); isWorkingDay(day) {
			left--
		}
	}
	return day
}

// isWorkingDay reports whether d is a working day by section 5 of the Act: no Saturday, Sunday or public holiday of the whole country,
// also where one is kept on the Monday or Tuesday after a weekend, and none of the days from 25 December to 2 January. A regional
// holiday is a working day. The Act was read as reprinted on 1 August 2009. Later Acts have Waitangi Day and Anzac Day kept on a
// Monday, and brought Matariki: none of these is counted, which can only give the payer a later date.
func isWorkingDay(d money.Date) bool {
	christmas := d.Month == time.December && d.Day >= 25 || d.Month == time.January && d.Day <= 2
	return d.IsBusinessDay() && !christmas
}
