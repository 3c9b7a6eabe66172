package agreement_test

import (
	"testing"
	"time"
	_ "time/tzdata" // New Zealand time on any machine

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

// nzTime is New Zealand time.
func nzTime(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// diploma is an agreement with an initial payment and a residual: 200.00 and four
// instalments, of which the last is two cents larger.
func diploma() agreement.Agreement {
	plan := money.Plan{
		Frequency:   money.Monthly,
		Instalments: money.Instalments{Number: 4, Regular: 697_50, Final: 697_52},
		First:       money.Date{Year: 2027, Month: time.January, Day: 31},
	}
	return agreement.Agreement{
		ID:         "a0X000000000042",
		Number:     number(42),
		Version:    agreement.Version,
		CheckoutID: "KOWHAI-1800000000000-abcdefgh234567ab",
		OrderID:    "order-7",
		AcceptedAt: time.Date(2027, time.January, 15, 3, 12, 5, 0, time.UTC),
		Provider: agreement.Party{Code: "KOWHAI", Name: "Kōwhai Institute", SupportEmail: "help@kowhai.example",
			Colour: "#1f6f54"},
		Student:  agreement.Student{FirstName: "Māia", LastName: "Ngāta", Email: "maia@example.nz"},
		Course:   agreement.Course{Code: "NZDIP", Name: "Diploma in Business"},
		Pricing:  money.Pricing{Price: 2990_02, Upfront: 200_00, Principal: 2790_02},
		Plan:     plan,
		Schedule: money.Schedule(200_00, plan),
		DirectDebit: agreement.DirectDebit{
			AuthorityID:   "dda-9",
			AccountHolder: "M NGATA",
			AccountTail:   "23",
			AuthorisedAt:  time.Date(2027, time.January, 15, 3, 2, 1, 0, time.UTC),
			Consent: agreement.Consent{At: time.Date(2027, time.January, 15, 2, 59, 0, 0, time.UTC), From: "203.0.113.7",
				Terms: agreement.DebitTerms{NoticeDays: 2, Provider: "Kōwhai Institute", Lender: terms().Lender}.Name(), NoticeDays: 2},
		},
		Notice: agreement.Notice{Days: 2, NotBefore: money.Date{Year: 2027, Month: time.January, Day: 17}},
		Terms:  terms(),
	}
}
