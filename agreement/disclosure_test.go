package agreement_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

// disclosed is the disclosure of a plan of three payments, with every field of the terms.
func disclosed() agreement.Disclosure {
	t := lawful()
	t.Authority = agreement.Authority{AuthorisationCode: "0123456", Initiator: "Pūtea Collections", Statement: "particulars KOWHAI",
		Conditions: []agreement.Block{{Title: "Conditions", Text: "First.\nSecond."}}}
	t.Blocks = []agreement.Block{{Title: "Changes", Text: "Tell us.\n\nSoon."}}
	t.DefaultFees.Fees = []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "for each payment that the bank refuses"}}
	plan := money.Plan{Frequency: money.Weekly, Instalments: money.Instalments{Number: 2, Regular: 50_00, Final: 50_01},
		First: money.Date{Year: 2026, Month: time.December, Day: 21}}
	return agreement.Disclosure{
		DebitTerms: agreement.DebitTerms{Period: agreement.NoticePeriod{Days: 2}, Provider: "Kōwhai Institute", Lender: t.Lender, Authority: t.Authority},
		Terms:      t, Course: "Diploma in Business", Pricing: money.Pricing{Price: 120_01, Upfront: 20_00, Principal: 100_01},
		Payments: money.BusinessDays.Payments(money.Schedule(20_00, plan), plan.Frequency, plan.First),
	}
}

func TestDisclosureHasOneText(t *testing.T) {
	text := disclosed().Text()
	compare(t, "disclosure.txt", text)
	if sum := sha256.Sum256([]byte(text)); disclosed().SHA256() != hex.EncodeToString(sum[:]) {
		t.Errorf("the SHA-256 is %s, that of the text %x", disclosed().SHA256(), sum)
	}
	if name := disclosed().Name(); name != disclosed().DebitTerms.Name()+"/"+disclosed().SHA256() {
		t.Errorf("the name is %s", name)
	}
}

// A disclosure that differs in anything that a payer reads has another text.
func TestDisclosuresThatDifferHaveOtherTexts(t *testing.T) {
	texts := map[string]bool{disclosed().Text(): true}
	for name, change := range map[string]func(*agreement.Disclosure){
		"provider":     func(d *agreement.Disclosure) { d.DebitTerms.Provider = "Rimu College" },
		"notice":       func(d *agreement.Disclosure) { d.DebitTerms.Period.Days = 3 },
		"code":         func(d *agreement.Disclosure) { d.DebitTerms.Authority.AuthorisationCode = "7654321" },
		"conditions":   func(d *agreement.Disclosure) { d.DebitTerms.Authority.Conditions = nil },
		"course":       func(d *agreement.Disclosure) { d.Course = "Certificate" },
		"price":        func(d *agreement.Disclosure) { d.Pricing.Price++ },
		"amount":       func(d *agreement.Disclosure) { d.Payments[1].Amount++ },
		"type":         func(d *agreement.Disclosure) { d.Payments[1].Type = money.FinalInstalment },
		"day":          func(d *agreement.Disclosure) { d.Payments[2].Taken = d.Payments[2].Taken.AddDays(1) },
		"planned day":  func(d *agreement.Disclosure) { d.Payments[0].Due = d.Payments[0].Due.AddDays(-2) },
		"a payment":    func(d *agreement.Disclosure) { d.Payments = d.Payments[:2] },
		"lender":       func(d *agreement.Disclosure) { d.Terms.Lender.Name = "Other" },
		"address":      func(d *agreement.Disclosure) { d.Terms.Lender.Address = "2 Quay" },
		"registration": func(d *agreement.Disclosure) { d.Terms.Lender.Registration = "FSP2" },
		"e-mail":       func(d *agreement.Disclosure) { d.Terms.Lender.Email = "" },
		"no lender":    func(d *agreement.Disclosure) { d.Terms.Lender = agreement.Lender{} },
		"scheme":       func(d *agreement.Disclosure) { d.Terms.Disputes.Name = "Other" },
		"contact":      func(d *agreement.Disclosure) { d.Terms.Disputes.Contact = "0800 222 222" },
		"working days": func(d *agreement.Disclosure) { d.Terms.Cancellation.WorkingDays = 10 },
		"pay within":   func(d *agreement.Disclosure) { d.Terms.Cancellation.PayWithin = 20 },
		"how":          func(d *agreement.Disclosure) { d.Terms.Cancellation.How = "Call." },
		"hardship":     func(d *agreement.Disclosure) { d.Terms.Hardship = "0800 222 222" },
		"fee":          func(d *agreement.Disclosure) { d.Terms.DefaultFees.Fees[0].Amount++ },
		"no fees":      func(d *agreement.Disclosure) { d.Terms.DefaultFees = agreement.FeeList{} },
		"block":        func(d *agreement.Disclosure) { d.Terms.Blocks[0].Text = "Tell us." },
		"title":        func(d *agreement.Disclosure) { d.Terms.Blocks[0].Title = "Change" },
		"a value that reads like a label": func(d *agreement.Disclosure) {
			d.Terms.Blocks[0].Text = "Tell us.\nConditions:\nFirst."
		},
	} {
		other := disclosed()
		change(&other)
		if text := other.Text(); texts[text] {
			t.Errorf("another %s has the text\n%s", name, text)
		} else {
			texts[text] = true
		}
	}
}
