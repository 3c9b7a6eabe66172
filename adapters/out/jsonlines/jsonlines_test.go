package jsonlines

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// secretCanary marks what must stay out of an export in the records below.
const secretCanary = "canary"

func configurationOnRecord() catalogue.Configuration {
	return catalogue.Configuration{
		Provider: catalogue.Provider{
			Code: "KOWHAI", Name: "Kōwhai Institute", AccountID: "acc-kowhai", Environment: catalogue.Sandbox,
			Active: true, APIEnabled: true, Disabled: true, EnrolmentOrigins: []string{"https://enrol.kowhai.example"},
			SuccessURL:  "https://enrol.kowhai.example/done?a=1&b=2",
			Branding:    catalogue.Branding{PrimaryColour: "#1f6f54"},
			Destination: catalogue.Destination{URL: "https://hooks.kowhai.example/", Secret: "whsec_" + secretCanary},
			Mode:        catalogue.Authoritative,
		},
		Courses: []catalogue.Course{{
			Code: "NZDIP", Name: "Diploma in Business", Price: 2990_00, Upfront: 200_00, Active: true,
			Environment: catalogue.Sandbox,
			Options: []catalogue.Option{
				{Frequency: money.Weekly, Number: 52},
				{Frequency: money.Fortnightly, Amount: 120_00},
			},
		}},
	}
}

func keyOnRecord() catalogue.Key {
	return catalogue.Key{ID: "k1", Provider: "KOWHAI", Environment: catalogue.Sandbox,
		Hash: [32]byte([]byte(strings.Repeat(secretCanary, 6))[:32]), CreatedAt: morning, RevokedAt: morning.Add(time.Hour)}
}

var morning = time.Date(2027, 2, 1, 9, 30, 0, 0, time.UTC)

// openOnRecord is a checkout whose payer has done nothing yet.
func openOnRecord() checkout.Checkout {
	return checkout.Checkout{
		ID: "TUI-1-open", ProviderCode: "TUI", OrderID: "T-77", RequestID: "req_1", CreatedAt: morning,
		Status:  checkout.SetupRequired,
		Student: checkout.Student{FirstName: "Wiremu", LastName: "Pātene", Email: "wiremu@example.nz"},
		Intent: checkout.Intent{
			CourseName: "Carpentry <4>",
			Pricing:    money.Pricing{Price: 1000_00, Principal: 1000_00},
			Plan: money.Plan{Frequency: money.Weekly, First: money.Date{Year: 2027, Month: 2, Day: 15},
				Instalments: money.Instalments{Number: 3, Regular: 333_33, Final: 333_34}},
		},
		Tokens: []checkout.Token{{Epoch: 1, KID: secretCanary, Expires: morning.Add(168 * time.Hour)}},
		Setup: checkout.Setup{Observation: checkout.Observation{BillingRequest: checkout.BillingPending,
			Authorisation: checkout.CustomerInProgress}},
	}
}

// confirmedOnRecord is everything that there can be of one checkout. Its mandate died after the confirm.
func confirmedOnRecord() checkout.CheckoutRecord {
	c := openOnRecord()
	c.ID, c.ProviderCode, c.OrderID, c.IdempotencyKey, c.CourseCode = "KOWHAI-2-done", "KOWHAI", "ENROL-1", "try-1", "NZDIP"
	c.Intent = checkout.Intent{
		CourseName: "Diploma in Business",
		Pricing:    money.Pricing{Price: 100_00, Upfront: 10_05, Principal: 89_95},
		Plan: money.Plan{Frequency: money.Monthly, First: money.Date{Year: 2027, Month: 2, Day: 28},
			Instalments: money.Instalments{Number: 2, Regular: 44_97, Final: 44_98}},
	}
	c.Status = checkout.Confirmed
	c.Setup = checkout.Setup{
		Try: 1, BillingRequestID: "BR1",
		Observation: checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandateFailed,
			MandateID: "MD1", MandateSince: morning.Add(48 * time.Hour), MandateReason: "DISHONOUR-AC05",
			Authorisation: checkout.Authorised, AccountHolder: "W Pātene", AccountMask: "01-0902-•••••89-00",
			CompletedAt: morning.Add(time.Minute)},
	}
	c.Confirmation = checkout.Confirmation{At: morning.Add(time.Hour), RequestID: "req_2", FirstPayment: c.Intent.Plan.First,
		AgreementNumber: "PPA-2027-000001", DocumentSHA256: [32]byte{0xab, 31: 0xcd}}
	a := agreement.Agreement{
		Number: "PPA-2027-000001", Version: "2026-11-20", CheckoutID: c.ID, OrderID: c.OrderID,
		AcceptedAt: c.Confirmation.At,
		Provider:   agreement.Party{Code: "KOWHAI", Name: "Kōwhai Institute"},
		Student:    agreement.Student(c.Student),
		Course:     agreement.Course{Code: "NZDIP", Name: "Diploma in Business"},
		Pricing:    c.Intent.Pricing, Plan: c.Intent.Plan,
		Schedule: money.Schedule(c.Intent.Pricing.Upfront, c.Intent.Plan),
		DirectDebit: agreement.DirectDebit{AuthorityID: "dda_1", AccountHolder: "W Pātene", AccountMask: "01-0902-•••••89-00",
			AuthorisedAt: c.Setup.CompletedAt, Consent: agreement.Consent{At: morning, From: "192.0.2.1", Terms: "2026-11-20/2/0123456789abcdef",
				Period: agreement.NoticePeriod{Days: 2}, Disclosed: agreement.Disclosed{SHA256: "9f86d081", Page: "/api/dd-setup"}}},
		Terms:       agreement.Terms{Cancellation: agreement.Cancellation{WorkingDays: 5, How: "Write."}},
		CancelUntil: money.Date{Year: 2027, Month: time.February, Day: 11},
	}
	return checkout.CheckoutRecord{
		Checkout: c, Agreement: &a,
		Document: 20480,
		Jobs: []checkout.JobRecord{{
			Job: checkout.DeliveryOf(events.Event{ID: "evt_1", Name: events.CheckoutConfirmed, CheckoutID: c.ID, ProviderCode: "KOWHAI",
				OrderID: "ENROL-1", RequestID: "req_2", CreatedAt: c.Confirmation.At, Body: []byte(`{"event":"checkout.confirmed"}`)}),
			State: checkout.JobFailed, Attempts: 3,
		}, {
			Job:   checkout.Job{ID: "ntc_1", Kind: checkout.JobNotify, Name: "setup", CheckoutID: c.ID, Try: 1, CreatedAt: morning.Add(2 * time.Minute)},
			State: checkout.JobDone, Attempts: 2, SettledAt: morning.Add(4 * time.Minute),
			Receipt: "<ntc_1@lender.example> 250 2.0.0 Ok: queued as 4F1A",
			Failure: checkout.Failure{At: morning.Add(3 * time.Minute), Reason: "451 4.7.1 try again"},
		}, {
			Job:   checkout.Job{ID: "ntc_2", Kind: checkout.JobNotify, Name: "agreement", CheckoutID: c.ID, Try: 1, CreatedAt: c.Confirmation.At},
			State: checkout.JobPending,
		}},
		Moments: []checkout.Moment{{At: c.Confirmation.At, Kind: checkout.MomentConfirmed, Actor: checkout.ProviderActor("id1"),
			RequestID: "req_2", Detail: a.Number}},
	}
}

func TestExportIsTheDocumentedShape(t *testing.T) {
	var out bytes.Buffer
	v := NewVisitor(&out, catalogue.Sandbox, nil)
	for _, err := range []error{
		v.Configuration(configurationOnRecord()),
		v.Key(keyOnRecord()),
		v.Checkout(checkout.CheckoutRecord{Checkout: openOnRecord()}),
		v.Checkout(confirmedOnRecord()),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/export.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	got, wanted := strings.Split(out.String(), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(got), len(wanted)) {
		if i >= len(got) || i >= len(wanted) || got[i] != wanted[i] {
			t.Errorf("line %d is\n%s\nwant\n%s", i+1, at(got, i), at(wanted, i))
		}
	}
	if strings.Contains(out.String(), secretCanary) || strings.Contains(out.String(), `"hash"`) {
		t.Errorf("the export reveals a secret:\n%s", out.String())
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "(nothing)"
}
