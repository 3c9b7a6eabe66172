package hostedpages

import (
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/money"
)

// planInWords is a payment plan as it is read. Every figure comes from the schedule itself.
type planInWords struct {
	Price   string
	Initial payment // zero where there is none
	Final   payment // the final instalment; zero where it is like the others
	Total   string

	Count     int    // of the equal instalments
	Each      string // "51 weekly payments of $53.65"
	EachTotal string
	EachFrom  string // dates, as in the two below
	EachUntil string

	Planned   int // payments in all
	Months    []month
	FirstDate string
}

// payment is one planned payment.
type payment struct {
	Number int    // from 1, as the agreement numbers them
	Date   string // "Monday 1 February 2027"
	Day    string // "Monday 1"
	What   string
	Amount string
}

// month is the payments that are planned for one month.
type month struct {
	Name     string // "February 2027"
	Payments []payment
}

// describe puts a schedule into words.
func describe(price money.Cents, schedule []money.Charge, frequency money.Frequency) planInWords {
	words := planInWords{Price: dollars(price), Planned: len(schedule)}
	var total, each, equal money.Cents
	for _, charge := range schedule {
		p := payment{Number: charge.Sequence, Date: charge.Due.Long(), Amount: dollars(charge.Amount)}
		switch charge.Type {
		case money.InitialPayment:
			p.What = "Initial payment"
			words.Initial = p
		case money.FinalInstalment:
			p.What = "Final instalment"
			words.Final = p
		default:
			words.Count++
			p.What = "Instalment"
			if words.Count == 1 {
				words.EachFrom = p.Date
			}
			words.EachUntil, each = p.Date, charge.Amount
			equal += charge.Amount
		}
		total += charge.Amount
		words.add(p, fmt.Sprintf("%s %d", charge.Due.Month, charge.Due.Year))
	}
	words.Each = instalments(words.Count, each, frequency)
	words.EachTotal, words.Total = dollars(equal), dollars(total)
	return words
}

// add puts a payment into its month, which is the latest or a new one.
func (w *planInWords) add(p payment, name string) {
	p.Day = strings.TrimSuffix(p.Date, " "+name)
	if len(w.Months) == 0 {
		w.FirstDate = p.Date
	}
	if last := len(w.Months) - 1; last < 0 || w.Months[last].Name != name {
		w.Months = append(w.Months, month{Name: name})
	}
	latest := &w.Months[len(w.Months)-1]
	latest.Payments = append(latest.Payments, p)
}

// instalments writes the equal instalments of a plan: "51 weekly payments of $53.65".
func instalments(number int, each money.Cents, frequency money.Frequency) string {
	if number == 1 {
		return "1 payment of " + dollars(each)
	}
	return fmt.Sprintf("%d %s payments of %s", number, strings.ToLower(string(frequency)), dollars(each))
}

// dollars writes an amount for a reader: "$2,990.00".
func dollars(amount money.Cents) string {
	whole, cents, _ := strings.Cut(amount.String(), ".")
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	return "$" + whole + "." + cents
}
