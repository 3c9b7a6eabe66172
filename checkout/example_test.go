package checkout_test

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// A create that is sent again is a replay, in whatever spelling, and a create that means another enrolment is a conflict.
func ExampleCreate_Decide() {
	send := func(course string) checkout.Create {
		return checkout.Create{
			ProviderCode: checkout.Some("TUI"),
			OrderID:      checkout.Some("ORDER-1"),
			CourseName:   checkout.Some(course),
		}.Normalized()
	}
	first := send("Certificate in Wellbeing")
	keyring, err := checkout.NewKeyring(bytes.Repeat([]byte("secret! "), 4))
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2027, 1, 15, 3, 0, 0, 0, time.UTC)
	facts := checkout.Facts{Mode: catalogue.Legacy, Environment: catalogue.Sandbox}

	intent, err := first.Decide(facts) // nothing is on record
	fmt.Println(intent.CourseName, err)
	opened := first.Open(intent, checkout.Opening{ID: "TUI-1795132800000-aaaaaaaaaaaaaaaa", Now: now,
		Environment: catalogue.Sandbox, Token: keyring.Issue(1, now.Add(7*24*time.Hour))})
	order := opened.Next
	fmt.Println(order.Status, opened.Jobs[0].Name, opened.Jobs[1].Kind)

	facts.ByOrder = &order
	for _, cmd := range []checkout.Create{send(" Certificate in Wellbeing "), send("Certificate in Baking")} {
		_, err := cmd.Decide(facts)
		fmt.Println(err)
	}
	// Output:
	// Certificate in Wellbeing <nil>
	// direct_debit_setup_required checkout.created sync
	// <nil>
	// this order already has a checkout with a different enrolment intent; nothing was changed: send the first intent again, or use a new provider_order_id: course.course_name is Certificate in Wellbeing on the existing checkout, not Certificate in Baking; an order cannot be changed
}

// A confirm is decided twice: before its agreement is prepared, which takes time, and for good with what was prepared.
func ExampleConfirm_Decide() {
	stored := checkout.Checkout{
		ID: "TUI-1795132800000-aaaaaaaaaaaaaaaa", ProviderCode: "TUI", OrderID: "ORDER-1", Status: checkout.SetupRequired,
		Intent: checkout.Intent{Pricing: money.Pricing{Price: 100_00, Principal: 100_00},
			Plan: money.Plan{Frequency: money.Weekly, Instalments: money.Instalments{Number: 1, Regular: 100_00, Final: 100_00}}},
		Setup: checkout.Setup{BillingRequestID: "BR1", Observation: checkout.Observation{
			BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission,
			AccountHolder: "A NGATA", AccountMask: "01-0902-•••••89-00", CompletedAt: time.Date(2027, 1, 15, 3, 2, 1, 0, time.UTC)}},
	}
	records := stored.Records(catalogue.Sandbox)
	cmd := checkout.Confirm{CheckoutID: checkout.Some(stored.ID), OrderID: checkout.Some("ORDER-1"), Token: checkout.Some("the latest"),
		OpportunityID: checkout.Some(records.OpportunityID), DDAID: checkout.Some(records.DDAID),
		FirstPayment: checkout.Some(money.Date{Year: 2027, Month: time.February, Day: 1})}

	fmt.Println("may be prepared:", cmd.Ready(stored, catalogue.Sandbox, "the latest") == nil)

	now := stored.Setup.CompletedAt
	prepared := checkout.Prepared{Environment: catalogue.Sandbox, Now: now,
		Agreement: cmd.Agreement(stored, checkout.AgreementFacts{Environment: catalogue.Sandbox, Number: "PPA-2027-000000001A5", Now: now})}
	change, err := cmd.Decide(stored, "the latest", prepared)
	fmt.Println(change.Next.Status, change.Jobs[0].Name, err)

	_, err = cmd.Decide(change.Next, "the latest", prepared)
	fmt.Println("a repeat:", errors.Is(err, checkout.ErrAlreadyConfirmed))
	// Output:
	// may be prepared: true
	// confirmed checkout.confirmed <nil>
	// a repeat: true
}

// A payer goes on from the setup page with the terms that it showed. If they have changed since, they are read again.
func ExampleAcceptance_Decide() {
	shown := agreement.Disclosure{DebitTerms: agreement.DebitTerms{Period: agreement.NoticePeriod{Days: 2}, Provider: "Tūī College"}}
	now := time.Date(2027, 1, 15, 3, 0, 0, 0, time.UTC)
	read := checkout.Acceptance{From: "192.0.2.1", TermsID: shown.Name()}

	consent, err := read.Decide(checkout.PageOpen, shown, now)
	fmt.Println(consent.Period, err)

	shown.DebitTerms.Period.Days = 5
	_, err = read.Decide(checkout.PageOpen, shown, now)
	fmt.Println(err)
	// Output:
	// 2 calendar days <nil>
	// the terms or the plan have changed since this page was opened
}

func ExampleCompare() {
	stored := checkout.Intent{CourseName: "Diploma", Plan: money.Plan{Frequency: money.Weekly,
		Instalments: money.Instalments{Number: 52, Regular: 53_65, Final: 53_85}}}
	want := stored
	want.Plan.Regular, want.Plan.Frequency = 107_30, money.Fortnightly
	for _, fault := range checkout.Compare(stored, want) {
		fmt.Println(fault.Field, fault.Message)
	}
	// Output:
	// plan.instalment_amount is 53.65 on the existing checkout, not 107.30; an order cannot be changed
	// plan.payment_frequency is Weekly on the existing checkout, not Fortnightly; an order cannot be changed
}

// The record of an enrolment has the same id whenever, and by whomever, it is made.
func ExampleNaturalKey() {
	fmt.Println(checkout.NaturalKey(catalogue.Sandbox, "KOWHAI", "ENROL-1", "contact"))
	// Output: 17ccda669d5e58760e9bbca20ead294d
}

func ExampleKeyring() {
	operator := bytes.Repeat([]byte("secret! "), 4) // 32 bytes or more
	keyring, err := checkout.NewKeyring(operator)
	if err != nil {
		fmt.Println(err)
		return
	}
	token := keyring.Issue(1, time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)) // of this only epoch, kid and expiry are stored
	text, _ := keyring.Text("TUI-1795132800000-aaaaaaaaaaaaaaaa", token)
	id, epoch, ok := keyring.Read(text)
	fmt.Println(id, epoch, ok)

	_, _, ok = keyring.Read(text[:len(text)-1] + "x")
	fmt.Println("forged:", ok)
	// Output:
	// TUI-1795132800000-aaaaaaaaaaaaaaaa 1 true
	// forged: false
}

// A file has a secret a line: the first signs, the others only verify.
func ExampleParseSecrets() {
	secrets, err := checkout.ParseSecrets("this year's secret, of thirty-six bytes\nlast year's secret, of thirty-six bytes\n", "\n")
	fmt.Println(len(secrets), err)
	_, err = checkout.ParseSecrets("hush", "\n")
	fmt.Println(err)
	// Output:
	// 2 <nil>
	// secret 1 has 4 bytes; at least 32 are needed
}
