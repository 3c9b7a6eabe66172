// Package sample has values for tests.
package sample

import (
	"testing"
	"time"
	_ "time/tzdata" // New Zealand time on any machine

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// NewZealand returns the time zone of agreements.
func NewZealand(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// Course returns a course with two plans.
func Course() catalogue.Course {
	return catalogue.Course{
		Code:        "NZDIP",
		Name:        "Diploma in Business",
		Price:       2990_00,
		Upfront:     200_00,
		Active:      true,
		Environment: catalogue.Production,
		Options: []catalogue.Option{
			{Frequency: money.Weekly, Number: 52},
			{Frequency: money.Fortnightly, Amount: 120_00},
		},
	}
}

// Agreement returns an agreement on 2,990.02 in n weekly instalments after a payment of 200.00, with a lender's terms.
func Agreement(n int) agreement.Agreement {
	pricing := money.Pricing{Price: 2990_02, Upfront: 200_00, Principal: 2790_02}
	parts, err := money.ByNumber(pricing.Principal, n)
	if err != nil {
		panic(err)
	}
	plan := money.Plan{Frequency: money.Weekly, Instalments: parts, First: money.Date{Year: 2027, Month: time.February, Day: 1}}
	return agreement.Agreement{
		Number:     "PPA-2027-000042",
		Version:    agreement.Version,
		CheckoutID: "KOWHAI-1800000000000-abcdefgh234567ab",
		OrderID:    "order-7",
		AcceptedAt: time.Date(2027, time.January, 15, 3, 12, 5, 0, time.UTC),
		Provider: agreement.Party{Code: "KOWHAI", Name: "Kōwhai Institute", SupportEmail: "help@kowhai.example",
			Colour: "#1f6f54"},
		Student:  agreement.Student{FirstName: "Māia", LastName: "Ngāta", Email: "maia@example.nz"},
		Course:   agreement.Course{Code: "NZDIP", Name: "Diploma in Business"},
		Pricing:  pricing,
		Plan:     plan,
		Schedule: money.Schedule(pricing.Upfront, plan),
		DirectDebit: agreement.DirectDebit{
			AuthorityID: "dda-9", AccountHolder: "M NGATA", AccountMask: "12-3140-•••••23-50",
			AuthorisedAt: time.Date(2027, time.January, 15, 3, 2, 1, 0, time.UTC),
		},
		Terms: agreement.Terms{
			Lender: agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington 6011", Registration: "FSP000001"},
			Blocks: []agreement.Block{
				{Title: "Right to cancel", Text: "The payer can cancel the plan within 5 working days of this agreement."},
				{Title: "Hardship", Text: "A payer who cannot pay can ask the lender for a change of the plan."},
			},
		},
	}
}
