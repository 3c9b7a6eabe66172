package storetest

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// at returns a time of the suite's day.
func at(minute int) time.Time {
	return time.Date(2026, time.November, 20, 4, minute, 6, 789_000_000, time.UTC)
}

// nzdt is the zone of callers that do not use UTC.
var nzdt = time.FixedZone("NZDT", 13*60*60)

// oddTexts are texts that a careless store changes, or takes for each other.
func oddTexts() []string {
	return []string{
		"Kōwhai", "Ko\u0304whai", "KŌWHAI", "kōwhai", // forms and cases of one word
		" lead", "trail ", "two  spaces", "tab\tnew\nline\r\n", "\ufeffmark", "zero\u200bwidth",
		"1", "01", "1.0", "1e0", "0x1", "+1", "NULL", "null", "true", "''", `""`, "x'00'", `\x00`, `\u0000`,
		`Robert'); DROP TABLE checkouts;--`, `back\slash`, "100%", "under_score", "$1 ?1 :a @b {{.}}",
		"😀👩‍👩‍👧", "مرحبا", "ﬁ", "\u0001", "\u007f", "\ufffd", "a:b:c", "a b", "a;b", "a,b|c", "<&>\u2028",
		strings.Repeat("ā", 255),
	}
}

// idOf returns the id of checkout number n of a provider.
func idOf(provider string, n int) string {
	return checkout.NewID(provider, at(n), [10]byte{8: byte(n >> 8), 9: byte(n)})
}

// opened returns the change of a create that opens checkout number n, with an event and a job of kind JobSync.
func opened(n int) checkout.Change { return openedBy("KOWHAI", n) }

func openedBy(provider string, n int) checkout.Change {
	c := checkout.Checkout{
		ID:             idOf(provider, n),
		ProviderCode:   provider,
		OrderID:        fmt.Sprintf("order-%d", n),
		IdempotencyKey: fmt.Sprintf("key-%d", n),
		RequestID:      fmt.Sprintf("req_%d", n),
		CreatedBy:      checkout.ProviderActor("id1"),
		CreatedAt:      at(n),
		Status:         checkout.SetupRequired,
		Student:        checkout.Student{FirstName: "Ānaru", LastName: "O’Neill", Email: "anaru@student.example"},
		CourseCode:     "NZDIP",
		Intent: checkout.Intent{
			CourseName: "Diploma in Business",
			Pricing:    money.Pricing{Price: 2990_00, Upfront: 200_00, Principal: 2790_00},
			Plan: money.Plan{Frequency: money.Weekly, Instalments: money.Instalments{Number: 52, Regular: 53_65, Final: 53_85},
				First: money.Date{Year: 2027, Month: time.February, Day: 1}},
		},
		Tokens: []checkout.Token{{Epoch: 1, KID: "k1", Expires: at(50)}},
		Setup: checkout.Setup{Observation: checkout.Observation{BillingRequest: checkout.BillingPending,
			Authorisation: checkout.CustomerInProgress}},
	}
	return checkout.Change{At: at(n), Next: c, Jobs: []checkout.Job{event(c, "checkout.created", n), syncOf(c, n)}}
}

// stored returns a change as it is stored on a new store.
func stored(change checkout.Change) checkout.Change { return change.Numbered(checkout.Checkout{}) }

// event returns the job that delivers an event of the checkout.
func event(c checkout.Checkout, name string, minute int) checkout.Job {
	return checkout.Job{ID: "evt_" + name + "_" + c.ID, Kind: checkout.JobDeliver, ProviderCode: c.ProviderCode, CheckoutID: c.ID,
		RequestID: c.RequestID, Name: name, CreatedAt: at(minute),
		Body: []byte(`{"event":"` + name + `", "student" : "Ānaru O’Neill\u0000\n"}` + "\n\x00\xff")}
}

// notice returns the job that sends the payer notice number n about the checkout.
func notice(c checkout.Checkout, n int) checkout.Job {
	return checkout.Job{ID: fmt.Sprint("ntc_", n), Kind: checkout.JobNotify, ProviderCode: c.ProviderCode, CheckoutID: c.ID,
		RequestID: c.RequestID, Name: string(checkout.NoticeOfSetup), Try: n, CreatedAt: at(n)}
}

func syncOf(c checkout.Checkout, minute int) checkout.Job {
	return c.Job(checkout.JobSync, c.RequestID, at(minute), 0)
}

// moment returns a moment of a minute, which is its id.
func moment(kind checkout.MomentKind, minute int) checkout.Moment {
	return checkout.Moment{ID: fmt.Sprint("minute ", minute), At: at(minute), Kind: kind, Actor: checkout.ProviderActor("id1"),
		RequestID: fmt.Sprint("req_", minute), Detail: "detail", Times: 1}
}

// act returns act number n.
func act(n int) checkout.Act {
	return checkout.Act{ID: fmt.Sprint("act_", n), At: at(n), Operator: "Māia", Name: "keys revoke", Subject: fmt.Sprint("subject-", n%2),
		ProviderCode: "KOWHAI", Reason: "it’s 100% \"leaked\"", Changes: []string{"name: a → b", " second line"}}
}

// begun returns the checkout with a payer who has gone on to the bank setup.
func begun(c checkout.Checkout, minute int) checkout.Checkout {
	c.Setup.Try, c.Setup.BillingRequestID = 2, "BRQ-"+c.OrderID
	c.Setup.Consent = agreement.Consent{At: at(minute), From: "2001:db8::7", Terms: "2026-11-21/2/0123456789abcdef", Period: agreement.NoticePeriod{Days: 2, Business: true},
		Disclosed: agreement.Disclosed{SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Page: "/pay/api/dd-setup"}}
	return c
}

// completed returns the checkout with the bank setup done.
func completed(c checkout.Checkout, minute int) checkout.Checkout {
	c = begun(c, minute)
	c.Tokens = append(c.Tokens[:len(c.Tokens):len(c.Tokens)], checkout.Token{Epoch: 2, KID: "k2", Expires: at(59), Renewed: at(3)},
		checkout.Token{Epoch: 3, KID: "k2", Expires: at(58), Mailed: true})
	c.Setup.Observation = checkout.Observation{
		BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission, MandateID: "MD-" + c.OrderID,
		MandateSince: at(minute + 2), MandateReason: "REASON-" + c.OrderID, Authorisation: checkout.Authorised,
		AccountHolder: "A O’NEILL", AccountMask: "01-0902-•••••89-00", CompletedAt: at(minute + 1),
		FirstCharge: money.Date{Year: 2027, Month: time.March, Day: 9},
	}
	return c
}

// confirmed returns the change of a confirm of the checkout, with agreement number n: two events, a notice, a sync and a moment.
func confirmed(c checkout.Checkout, n int) checkout.Change {
	c = completed(c, 4)
	a, d := agreed(c, n), document(n)
	c.Status = checkout.Confirmed
	c.Confirmation = checkout.Confirmation{At: at(6), RequestID: "req_confirm", FirstPayment: a.Plan.First, AgreementNumber: a.Number,
		DocumentSHA256: d.SHA256}
	return checkout.Change{At: at(6), Next: c, Agreement: &a, Document: &d,
		Jobs:    []checkout.Job{event(c, "checkout.confirmed", 6), event(c, "agreement.generated", 6), syncOf(c, 6), notice(c, 6)},
		Moments: []checkout.Moment{moment(checkout.MomentConfirmed, 6)}}
}

// withdrawn returns the change that ends a confirmed checkout.
func withdrawn(c checkout.Checkout) checkout.Change {
	c.End = checkout.End{At: at(7), By: checkout.PartyOperator, Ground: checkout.GroundHardship, Reason: "she’s ill, it’s 100% true"}
	return checkout.Change{At: at(7), Next: c}
}

// erased returns the change that erases the checkout.
func erased(c checkout.Checkout) checkout.Change {
	a := act(8)
	a.ID += fmt.Sprint(" ", c.ID, " ", c.Revision)
	return c.Erase(at(8), checkout.OperatorActor("Māia"), &a)
}

// numberOf returns an agreement's number.
func numberOf(n int) string { return fmt.Sprintf("PPA-2026-%06d", n) }

func agreed(c checkout.Checkout, n int) agreement.Agreement {
	a := agreement.Agreement{
		Number: numberOf(n), Version: "2026-11-20", CheckoutID: c.ID, OrderID: c.OrderID, AcceptedAt: at(6), Sandbox: true, SignedBy: "c0ffee",
		Requests: agreement.Requests{Create: c.RequestID, Confirm: "req_confirm"},
		Provider: agreement.Party{Code: c.ProviderCode, Name: "Kōwhai Institute", SupportEmail: "help@kowhai.example", Colour: "#1f6f54"},
		Student:  agreement.Student(c.Student),
		Course:   agreement.Course{Code: c.CourseCode, Name: c.Intent.CourseName},
		Pricing:  c.Intent.Pricing,
		Plan:     c.Intent.Plan,
		DirectDebit: agreement.DirectDebit{AuthorityID: "dda_1", MandateID: c.Setup.MandateID, AccountHolder: c.Setup.AccountHolder, AccountMask: c.Setup.AccountMask,
			AuthorisedAt: c.Setup.CompletedAt, Consent: c.Setup.Consent},
		Notice: agreement.Notice{Period: agreement.NoticePeriod{Days: 2, Business: true}, NotBefore: money.Date{Year: 2026, Month: time.November, Day: 22}},
		Terms: agreement.Terms{
			Lender:       agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay", Registration: "FSP1", Email: "a@putea.example"},
			Disputes:     agreement.DisputeScheme{Name: "A scheme", Contact: "0800 000 000"},
			Cancellation: agreement.Cancellation{WorkingDays: 5, How: "Write to the lender.\n(a) Soon.", PayWithin: 15},
			NoticeDays:   7, FrequentNotice: 3, Hardship: "0800 111 111",
			DefaultFees: agreement.FeeList{Stated: true, Fees: []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "each time"}}},
			Authority: agreement.Authority{AuthorisationCode: "0123456", Initiator: "Pūtea Collections", Statement: "particulars KOWHAI",
				Form: "A processor", Calendar: money.BusinessDays, Conditions: []agreement.Block{{Title: "Disputes", Text: "Ask.\n(a) Soon."}}},
			Blocks: []agreement.Block{{Title: "Right to cancel", Text: "Within 5 working days."}},
		},
		CancelUntil: money.Date{Year: 2026, Month: time.December, Day: 1},
	}
	a.Plan.First = money.Date{Year: 2027, Month: time.February, Day: 8}
	a.Schedule = money.Schedule(a.Pricing.Upfront, a.Plan)
	return a
}

func document(n int) agreement.Document {
	text := fmt.Append(nil, "%PDF-1.7\n\x00\xff", n)
	return agreement.Document{SHA256: sha256.Sum256(text), Bytes: text}
}

// configuration returns a provider with every field filled, and two courses.
func configuration(code string) catalogue.Configuration {
	return catalogue.Configuration{
		Provider: catalogue.Provider{
			Code: code, Name: "Kōwhai Institute", AccountID: "acc-" + code, Environment: catalogue.Sandbox, Active: true, APIEnabled: true, Disabled: true,
			EnrolmentOrigins: []string{"https://enrol.example", "https://a.example:8443"},
			SuccessURL:       "https://enrol.example/done", CancelURL: "https://enrol.example/cancelled", RateLimit: 250,
			Branding: catalogue.Branding{DisplayName: "Kōwhai", PrimaryColour: "#1f6f54", LogoURL: "https://enrol.example/logo.svg",
				SupportEmail: "help@kowhai.example"},
			Destination: catalogue.Destination{URL: "https://hooks.example/checkout", Secret: "whsec_" + code + "_0123456789abcdefghij"},
			Mode:        catalogue.Authoritative,
		},
		Courses: []catalogue.Course{
			{
				Code: "NZDIP", Name: "Diploma in Business", Price: 2990_00, Upfront: 200_00, Active: true, Environment: catalogue.Sandbox,
				Options: []catalogue.Option{{Frequency: money.Weekly, Number: 52}, {Frequency: money.Fortnightly, Amount: 120_00}},
				Prices: []catalogue.Price{{From: money.Date{Year: 2027, Month: 1, Day: 1}, Price: 3090_00, Upfront: 250_00},
					{From: money.Date{Year: 2028, Month: 2, Day: 29}, Price: 3190_00}},
			},
			{Code: "CERT", Name: "Certificate", Price: 500_00, Environment: catalogue.Production,
				Options: []catalogue.Option{{Frequency: money.Monthly, Number: 5}}},
		},
	}
}

// legacy returns a provider without a catalogue, as bare as one can be.
func legacy(code string) catalogue.Configuration {
	return catalogue.Configuration{Provider: catalogue.Provider{Code: code, Name: code, Environment: catalogue.Production,
		Mode: catalogue.Legacy}}
}

// key returns API key number n.
func key(n int) catalogue.Key {
	return catalogue.Key{ID: fmt.Sprint("id", n), Provider: "KOWHAI", Environment: catalogue.Sandbox,
		Hash: sha256.Sum256(fmt.Append(nil, "key ", n)), CreatedAt: at(n), Label: "Ō of n", ExpiresAt: at(1000)}
}

// Opened returns the change of create number n, for tests of one store alone.
func Opened(n int) checkout.Change { return opened(n) }
