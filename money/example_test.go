package money_test

import (
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

func ExampleParse() {
	for _, text := range []string{"1250", "1.25e3", "0.005", "-1", "1e999999", "1,250.00"} {
		amount, err := money.Parse(text)
		if err != nil {
			fmt.Println(text, err)
			continue
		}
		fmt.Println(text, "is", amount)
	}
	// Output:
	// 1250 is 1250.00
	// 1.25e3 is 1250.00
	// 0.005 must be a whole number of cents
	// -1 must not be negative
	// 1e999999 must be at most 9999999.99
	// 1,250.00 must be a number of dollars, such as 1250.00
}

func ExampleByNumber() {
	year, _ := money.ByNumber(2790_00, 52)
	fmt.Println(year.Number-1, "of", year.Regular, "and one of", year.Final, "are", year.Principal())
	// Output:
	// 51 of 53.65 and one of 53.85 are 2790.00
}

func ExampleByAmount() {
	plan, _ := money.ByAmount(2790_00, 120_00)
	fmt.Println(plan.Number-1, "of", plan.Regular, "and one of", plan.Final, "are", plan.Principal())
	// Output:
	// 23 of 120.00 and one of 30.00 are 2790.00
}

func ExampleSchedule() {
	instalments, _ := money.ByNumber(100_00, 3)
	plan := money.Plan{
		Frequency:   money.Monthly,
		Instalments: instalments,
		First:       money.Date{Year: 2027, Month: time.January, Day: 31},
	}
	for _, charge := range money.Schedule(20_00, plan) {
		fmt.Println(charge.Sequence, charge.Due, charge.Amount, charge.Type)
	}
	// Output:
	// 1 2027-01-31 20.00 initial_payment
	// 2 2027-02-28 33.33 instalment
	// 3 2027-03-31 33.33 instalment
	// 4 2027-04-30 33.34 final_instalment
}

func ExampleDate_After() {
	start := money.Date{Year: 2027, Month: time.January, Day: 31}
	fmt.Println(start.After(money.Fortnightly, 1))
	fmt.Println(start.After(money.Monthly, 1))
	fmt.Println(start.After(money.Monthly, 2).Long())
	// Output:
	// 2027-02-14
	// 2027-02-28
	// Wednesday 31 March 2027
}

func ExampleCents_Dollars() {
	fmt.Println(money.Cents(1250_00).Dollars())
	// Output: $1,250.00
}

// A plan whose first payment is due before notice of it is over starts on the first lawful day, and keeps its rhythm. A collector
// that takes payments on business days takes a payment that is planned for a holiday on the next business day.
func ExampleCalendar_Payments() {
	plan := money.Plan{
		Frequency:   money.Weekly,
		Instalments: money.Instalments{Number: 3, Regular: 100_00, Final: 100_00},
		First:       money.Date{Year: 2027, Month: time.January, Day: 4},
	}
	earliest := money.Date{Year: 2027, Month: time.January, Day: 25}
	for _, payment := range money.BusinessDays.Payments(money.Schedule(0, plan), plan.Frequency, earliest) {
		fmt.Printf("planned %s, taken %s (%s)\n", payment.Due, payment.Taken, payment.Moved())
	}
	// Output:
	// planned 2027-01-25, taken 2027-01-25 ()
	// planned 2027-02-01, taken 2027-02-01 ()
	// planned 2027-02-08, taken 2027-02-09 (Monday 8 February is Waitangi Day: taken Tuesday 9)
}
