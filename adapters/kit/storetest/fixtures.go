package storetest

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// at returns a time of the suite's day.
func at(minute int) time.Time {
	return time.Date(2026, time.November, 20, 4, minute, 6, 789_000_000, time.UTC)
}

// pending returns how jobs enter if a case does not depend on it: due at once.
func pending() checkout.JobEntry { return checkout.JobEntry{Now: now()} }

// oddTexts are texts that a careless store changes or takes for each other.
func oddTexts() []string {
	return []string{
		"Kōwhai", "Ko\u0304whai", "KŌWHAI", "kōwhai", // forms and cases of one word
		" lead", "trail ", "two  spaces", "tab\tnew\nline\r\n", "\ufeffmark", "zero\u200bwidth",
		"1", "01", "1.0", "1e0", "0x1", "+1", "NULL", "null", "true", "''", `""`, "x'00'",
		`Robert'); DROP TABLE checkouts;--`, `back\slash`, "100%", "under_score", "$1 ?1 :a @b {{.}}",
		"😀👩‍👩‍👧", "مرحبا", "ﬁ", "\u0001", "\u007f", "\ufffd", "a:b:c", "a b", "a;b", "a,b|c",
		strings.Repeat("ā", 255),
	}
}

// opened returns what a create stores: checkout number n, with every field of it filled.
func opened(n int) checkout.Change {
	c := checkout.Checkout{
		ID:             fmt.Sprintf("KOWHAI-1795147506789-aaaaaaaaaaaa%04d", n),
		ProviderCode:   "KOWHAI",
		OrderID:        fmt.Sprintf("order-%d", n),
		IdempotencyKey: fmt.Sprintf("key-%d", n),
		RequestID:      fmt.Sprintf("req_%d", n),
		CreatedAt:      at(0),
		Status:         checkout.SetupRequired,
		Student:        checkout.Student{FirstName: "Ānaru", LastName: "O’Neill", Email: "anaru@student.example"},
		CourseCode:     "NZDIP",
		Intent: checkout.Intent{
			CourseName: "Diploma in Business",
			Pricing:    money.Pricing{Price: 2990_00, Upfront: 200_00, Principal: 2790_00},
			Plan: money.Plan{
				Frequency:   money.Weekly,
				Instalments: money.Instalments{Number: 52, Regular: 53_65, Final: 53_85},
				First:       money.Date{Year: 2027, Month: time.February, Day: 1},
			},
		},
		Records: checkout.Records{ContactID: fmt.Sprint("con_", n), OpportunityID: fmt.Sprint("opp_", n), DDAID: fmt.Sprint("dda_", n)},
		Tokens:  []checkout.Token{{Epoch: 1, KID: "k1", Expires: at(50)}},
		Setup: checkout.Setup{Observation: checkout.Observation{
			BillingRequest: checkout.BillingPending, Authorisation: checkout.CustomerInProgress,
		}},
	}
	return checkout.Change{Next: c, Events: []events.Event{event(c, events.CheckoutCreated)},
		Moments: []checkout.Moment{moment(checkout.MomentCreated, n)}}
}

// ofProvider returns what a create stores as a create of another provider stores it.
func ofProvider(provider string, change checkout.Change) checkout.Change {
	c := &change.Next
	c.ProviderCode, c.ID = provider, provider+strings.TrimPrefix(c.ID, c.ProviderCode)
	for i, e := range change.Events {
		change.Events[i] = event(*c, e.Name)
	}
	for i, j := range change.Jobs {
		change.Jobs[i] = job(*c, j.Kind, j.Try)
	}
	return change
}

// reserved returns what a create stores that reserves checkout number n, for the CRM to open.
func reserved(n int) checkout.Change {
	c := opened(n).Next
	c.Status, c.Records, c.Tokens = checkout.Reserved, checkout.Records{}, nil
	return checkout.Change{Next: c, Jobs: []checkout.Job{job(c, checkout.JobOpen, 0)},
		Moments: []checkout.Moment{moment(checkout.MomentCreated, n)}}
}

// job returns a job about the checkout, with every field of it filled but Due.
func job(c checkout.Checkout, kind checkout.JobKind, n int) checkout.Job {
	return checkout.Job{
		ID: fmt.Sprintf("%s:%s:%d", kind, c.ID, n), Kind: kind, ProviderCode: c.ProviderCode, OrderID: c.OrderID, CheckoutID: c.ID,
		RequestID: c.RequestID, Name: fmt.Sprint("name-", n), Body: []byte("\x00\xff Kōwhai\n"), Try: n, CreatedAt: at(2),
	}
}

// work returns a job of the service itself.
func work(n int) checkout.Job {
	return checkout.Job{ID: fmt.Sprintf("notified:%04d", n), Kind: checkout.JobNotified, Name: fmt.Sprintf("BRQ%d", n), CreatedAt: now()}
}

// workFrom returns count jobs of the service itself, from number first on.
func workFrom(first, count int) []checkout.Job {
	all := make([]checkout.Job, count)
	for i := range all {
		all[i] = work(first + i)
	}
	return all
}

// moment returns a moment of a minute.
func moment(kind checkout.MomentKind, minute int) checkout.Moment {
	return checkout.Moment{At: at(minute), Kind: kind, Actor: checkout.ProviderActor("id1"), RequestID: fmt.Sprint("req_", minute),
		Detail: "detail", Times: 1}
}

// completed returns the checkout with the payer's bank setup done.
func completed(c checkout.Checkout) checkout.Checkout {
	c.Tokens = append(c.Tokens[:len(c.Tokens):len(c.Tokens)], checkout.Token{Epoch: 2, KID: "k2", Expires: at(59), Renewed: at(3)},
		checkout.Token{Epoch: 3, KID: "k2", Expires: at(58), Mailed: true})
	c.Setup = checkout.Setup{
		Try:              2,
		BillingRequestID: "BRQ-" + c.OrderID,
		Consent:          consent(),
		Observation: checkout.Observation{
			BillingRequest: checkout.BillingFulfilled,
			Mandate:        checkout.MandatePendingSubmission,
			MandateID:      "MD-" + c.OrderID,
			MandateSince:   at(6),
			MandateReason:  "REASON-" + c.OrderID,
			Authorisation:  checkout.CustomerInProgress,
			AccountHolder:  "A O’NEILL",
			AccountMask:    "01-0902-•••••89-00",
			CompletedAt:    at(5),
		},
	}
	return c
}

func consent() agreement.Consent {
	return agreement.Consent{At: at(4), From: "2001:db8::7", Terms: "2026-11-21/2/0123456789abcdef", NoticeDays: 2,
		Disclosed: agreement.Disclosed{SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", Page: "/pay/api/dd-setup"}}
}

// confirmed returns what a confirm stores: the state, the agreement, the document, two events, a notice and a moment.
func confirmed(c checkout.Checkout, sequence int64) checkout.Change {
	a := agreed(c, sequence)
	d := document(a, "%PDF-1.3\n"+a.Number)
	c.Status = checkout.Confirmed
	c.Confirmation = checkout.Confirmation{
		At: at(6), RequestID: "req_confirm", FirstPayment: a.Plan.First,
		AgreementID: a.ID, AgreementNumber: a.Number, DocumentID: d.ID,
	}
	c.End = checkout.End{At: at(7), By: checkout.PartyOperator, Ground: checkout.GroundHardship, Reason: "she’s ill, it’s 100% true"}
	return checkout.Change{
		Next:      c,
		Events:    []events.Event{event(c, events.CheckoutConfirmed), event(c, events.AgreementGenerated)},
		Jobs:      []checkout.Job{job(c, checkout.JobNotify, 2)},
		Moments:   []checkout.Moment{moment(checkout.MomentConfirmed, 6)},
		Agreement: &a,
		Document:  &d,
	}
}

func agreed(c checkout.Checkout, sequence int64) agreement.Agreement {
	a := agreement.Agreement{
		ID:         fmt.Sprintf("agr_%d", sequence),
		Number:     fmt.Sprintf("PPA-2026-%06d", sequence),
		Version:    "2026-11-20",
		CheckoutID: c.ID,
		OrderID:    c.OrderID,
		AcceptedAt: at(6),
		Sandbox:    true,
		Provider: agreement.Party{Code: c.ProviderCode, Name: "Kōwhai Institute",
			SupportEmail: "help@kowhai.example", Colour: "#1f6f54"},
		Student: agreement.Student(c.Student),
		Course:  agreement.Course{Code: c.CourseCode, Name: c.Intent.CourseName},
		Pricing: c.Intent.Pricing,
		Plan:    c.Intent.Plan,
		DirectDebit: agreement.DirectDebit{
			AuthorityID: c.Records.DDAID, AccountHolder: "A O’NEILL", AccountMask: "01-0902-•••••89-00", AuthorisedAt: at(5), Consent: consent(),
		},
		Notice: agreement.Notice{Days: 2, NotBefore: money.Date{Year: 2026, Month: time.November, Day: 22}},
		Terms: agreement.Terms{
			Lender:       agreement.Lender{Name: "Pūtea Limited", Address: "1 Lambton Quay, Wellington", Registration: "FSP1", Email: "a@putea.example"},
			Disputes:     agreement.DisputeScheme{Name: "A scheme", Contact: "0800 000 000"},
			Cancellation: agreement.Cancellation{WorkingDays: 5, How: "Write to the lender.\n(a) Soon."}, Hardship: "0800 111 111",
			DefaultFees: agreement.FeeList{Stated: true,
				Fees: []agreement.Fee{{Name: "Dishonour fee", Amount: 10_00, When: "for each payment that the bank refuses"}}},
			Authority: agreement.Authority{AuthorisationCode: "0123456", Initiator: "Pūtea Collections",
				Statement: "particulars KOWHAI", Form: "A processor", Calendar: money.BusinessDays, Conditions: []agreement.Block{{Title: "Disputes", Text: "Ask the bank.\n(a) Soon."}}},
			Blocks: []agreement.Block{{Title: "Right to cancel", Text: "Within 5 working days."}},
		},
		CancelUntil: money.Date{Year: 2026, Month: time.December, Day: 1},
	}
	a.Plan.First = money.Date{Year: 2027, Month: time.February, Day: 8}
	a.Schedule = schedule(53)
	return a
}

// schedule returns n charges of every type. It need not add up.
func schedule(n int) []money.Charge {
	day := time.Date(2027, time.February, 8, 0, 0, 0, 0, time.UTC)
	charges := make([]money.Charge, n)
	for i := range charges {
		charges[i] = money.Charge{Sequence: i + 1, Type: money.Instalment, Due: money.DateOf(day.AddDate(0, 0, 7*i)), Amount: 53_65}
	}
	charges[0].Type, charges[0].Amount = money.InitialPayment, 200_00
	charges[n-1].Type, charges[n-1].Amount = money.FinalInstalment, 53_85
	return charges
}

func document(a agreement.Agreement, text string) agreement.Document {
	return agreement.Document{ID: "doc_" + a.ID, SHA256: sha256.Sum256([]byte(text)), Bytes: []byte(text)}
}

func event(c checkout.Checkout, name events.Name) events.Event {
	return events.Event{ID: "evt_" + c.ID + "_" + string(name), Name: name, CheckoutID: c.ID, ProviderCode: c.ProviderCode,
		OrderID: c.OrderID, RequestID: c.RequestID, CreatedAt: at(1),
		Body: []byte(`{"event":"` + string(name) + `", "student" : "Ānaru O’Neill\u0000\n"}` + "\n")}
}

// configuration returns a provider with every field filled, and two courses.
func configuration(code string) catalogue.Configuration {
	return catalogue.Configuration{
		Provider: catalogue.Provider{
			Code: code, Name: "Kōwhai Institute", AccountID: "acc-" + code,
			Environment: catalogue.Sandbox, Active: true, APIEnabled: true,
			EnrolmentOrigins: []string{"https://enrol.example", "https://a.example:8443"},
			SuccessURL:       "https://enrol.example/done",
			CancelURL:        "https://enrol.example/cancelled",
			NoticeDays:       2,
			RateLimit:        250,
			Branding: catalogue.Branding{
				DisplayName: "Kōwhai", PrimaryColour: "#1f6f54",
				LogoURL: "https://enrol.example/logo.svg", SupportEmail: "help@kowhai.example",
			},
			Destination: catalogue.Destination{
				URL: "https://hooks.example/checkout", Secret: "whsec_" + code + "_0123456789abcdefghij",
			},
			Mode: catalogue.Authoritative,
		},
		Courses: []catalogue.Course{
			{
				Code: "NZDIP", Name: "Diploma in Business", Price: 2990_00, Upfront: 200_00,
				Active: true, Environment: catalogue.Sandbox,
				Options: []catalogue.Option{
					{Frequency: money.Weekly, Number: 52},
					{Frequency: money.Fortnightly, Amount: 120_00},
				},
				Prices: []catalogue.Price{{From: money.Date{Year: 2027, Month: 1, Day: 1}, Price: 3090_00, Upfront: 250_00},
					{From: money.Date{Year: 2028, Month: 2, Day: 29}, Price: 3190_00}},
			},
			{
				Code: "CERT", Name: "Certificate", Price: 500_00, Environment: catalogue.Production,
				Options: []catalogue.Option{{Frequency: money.Monthly, Number: 5}},
			},
		},
	}
}

// legacy returns a provider without a catalogue, as bare as one can be.
func legacy(code string) catalogue.Configuration {
	return catalogue.Configuration{Provider: catalogue.Provider{Code: code, Name: code, Environment: catalogue.Production, Mode: catalogue.Legacy}}
}

func key(n int) catalogue.Key {
	return catalogue.Key{ID: fmt.Sprint("id", n), Provider: "KOWHAI", Environment: catalogue.Sandbox,
		Hash: sha256.Sum256(fmt.Append(nil, "key ", n)), CreatedAt: at(n), Label: "Ō of n", ExpiresAt: at(1000)}
}

func insert(t *testing.T, s ports.Admin, changes ...checkout.Change) {
	t.Helper()
	for _, c := range changes {
		must(t, "InsertCheckout "+c.Next.ID, s.InsertCheckout(t.Context(), c, pending()))
	}
}

// find returns the checkout that a reference names.
func find(t *testing.T, s ports.Admin, by checkout.Reference) checkout.Checkout {
	t.Helper()
	return result(s.FindCheckout(t.Context(), by))(t)
}

func byOrder(provider, order string) checkout.Reference {
	return checkout.Reference{ProviderCode: provider, OrderID: order}
}

func byKey(provider, key string) checkout.Reference {
	return checkout.Reference{ProviderCode: provider, Key: key}
}

func ids(changes ...checkout.Change) (all []string) {
	for _, c := range changes {
		all = append(all, c.Next.ID)
	}
	return all
}

// change stores a change of checkout number n, but for Next.
func change(t *testing.T, s ports.Admin, n int, c checkout.Change) {
	t.Helper()
	update(t, s, opened(n).Next.ID, func(was checkout.Checkout) checkout.Change {
		c.Next = was
		return c
	})
}

// update stores what f returns for the checkout.
func update(t *testing.T, s ports.Admin, id string, f func(checkout.Checkout) checkout.Change) {
	t.Helper()
	must(t, "UpdateCheckout "+id, s.UpdateCheckout(t.Context(), id, pending(),
		func(c checkout.Checkout) (checkout.Change, error) { return f(c), nil }))
}

// confirm confirms the checkout that is on record.
func confirm(t *testing.T, s ports.Admin, id string, sequence int64) checkout.Change {
	t.Helper()
	var done checkout.Change
	update(t, s, id, func(c checkout.Checkout) checkout.Change {
		done = confirmed(completed(c), sequence)
		return done
	})
	return done
}

func configure(t *testing.T, s ports.Admin, all ...catalogue.Configuration) {
	t.Helper()
	must(t, "ReplaceProviders", s.ReplaceProviders(t.Context(), by(all, nil, nil)))
}

// replacement is a decision about all configurations.
type replacement = func([]catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error)

// by returns a decision of this result, whatever it gets.
func by(all []catalogue.Configuration, did *checkout.Act, err error) replacement {
	return func([]catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
		return all, did, err
	}
}

func addKeys(t *testing.T, s ports.Admin, keys ...catalogue.Key) {
	t.Helper()
	for _, k := range keys {
		must(t, "AddKey "+k.ID, s.AddKey(t.Context(), k, nil))
	}
}
