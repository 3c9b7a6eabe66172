package checkout_test

import (
	"crypto/sha256"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

const latest = "TUI-1.1.kid.mac"

// ready returns a checkout whose direct debit is set up, and the confirm that fits it.
func ready(t rapid.TB) (checkout.Checkout, checkout.Confirm) {
	t.Helper()
	c := openedNow(t).Next
	c = c.Begun(1, "BR1", agreement.Consent{}).Next
	c = c.Observe(checkout.Observation{BillingRequest: checkout.BillingFulfilled,
		Mandate: checkout.MandatePendingSubmission, MandateID: "MD1", Authorisation: checkout.CustomerInProgress,
		AccountHolder: "A NGATA", AccountMask: "01-0902-•••••89-00", CompletedAt: noon}, noon).Next
	text := checkout.Some[string]
	return c, checkout.Confirm{
		RequestID: "req_2", CheckoutID: text(c.ID),
		ProviderCode: text("TUI"), OrderID: text("ORDER-1"), Token: text(latest),
		OpportunityID: text(c.Records(catalogue.Sandbox).OpportunityID), DDAID: text(c.Records(catalogue.Sandbox).DDAID),
		PaymentMethod: text("service_payment_plan"), FirstPayment: checkout.Some(money.Date{Year: 2027, Month: 2, Day: 8}),
		DepositConfirmed: checkout.Some(true), PaymentPlanAccepted: checkout.Some(true),
		InformationConfirmed: checkout.Some(true), PrivacyConsentAccepted: checkout.Some(true),
	}
}

// confirmedNow returns a checkout whose direct debit is set up, the confirm that fits it, and the change that the confirm leads to.
func confirmedNow(t testing.TB) (checkout.Checkout, checkout.Confirm, checkout.Change) {
	t.Helper()
	stored, cmd := ready(t)
	change, err := cmd.Decide(stored, latest, prepared(stored, cmd))
	if err != nil {
		t.Fatal(err)
	}
	return stored, cmd, change
}

// agreed holds the facts that the agreements of these tests take from outside.
var agreed = checkout.AgreementFacts{Environment: catalogue.Sandbox, Provider: catalogue.Provider{Code: "TUI", Name: "Tūī College"},
	Number: "PPA-2026-000000001A5", Now: noon, Today: money.DateOf(noon)}

// prepared returns what a confirm of the checkout concludes.
func prepared(c checkout.Checkout, cmd checkout.Confirm) checkout.Prepared {
	pdf := []byte("%PDF")
	return checkout.Prepared{Environment: catalogue.Sandbox, Now: noon, Agreement: cmd.Agreement(c, agreed),
		Document: &agreement.Document{SHA256: sha256.Sum256(pdf), Bytes: pdf}}
}

func TestDecideConfirmLeavesNothingOut(t *testing.T) {
	stored, cmd := ready(t)
	done := prepared(stored, cmd)
	change, err := cmd.Decide(stored, latest, done)
	if err != nil {
		t.Fatal(err)
	}
	got := change.Next.Confirmation
	want := checkout.Confirmation{At: noon, RequestID: "req_2", FirstPayment: cmd.FirstPayment.Value,
		AgreementNumber: "PPA-2026-000000001A5", DocumentSHA256: done.Document.SHA256}
	if got != want || !got.PDFGenerated() {
		t.Errorf("confirmation %+v\nwant         %+v", got, want)
	}
	if got, want := told(change), []string{"event checkout.confirmed", "event agreement.generated", "agreement", "sync"}; !slices.Equal(got, want) {
		t.Errorf("told by %q, want %q", got, want)
	}
	a := change.Agreement
	if a.Plan.First != cmd.FirstPayment.Value || a.Schedule[0].Due != cmd.FirstPayment.Value {
		t.Error("the agreement must start on the confirmed first payment date, not on the preferred one")
	}
	var sum money.Cents
	for _, charge := range a.Schedule {
		sum += charge.Amount
	}
	if sum != a.Pricing.Price {
		t.Errorf("the schedule sums to %v, want %v", sum, a.Pricing.Price)
	}
}

// No payment is planned before the processor can collect it, however short the notice is.
func TestNothingIsCollectedBeforeTheProcessorCan(t *testing.T) {
	stored, cmd := ready(t)
	stored.Setup.Consent = agreement.Consent{At: noon, Terms: "2026-11-22/2/0123456789abcdef", Period: agreement.NoticePeriod{Days: 2}}
	with := agreed
	with.Terms.Authority.Calendar = money.BusinessDays
	for first, want := range map[money.Date]money.Date{
		{}:                               {Year: 2026, Month: time.November, Day: 23}, // a Monday
		{Year: 2026, Month: 11, Day: 23}: {Year: 2026, Month: time.November, Day: 23},
		{Year: 2026, Month: 11, Day: 27}: {Year: 2026, Month: time.November, Day: 27},
		{Year: 2026, Month: 11, Day: 28}: {Year: 2026, Month: time.November, Day: 30}, // a Saturday, which its calendar has not
	} {
		stored.Setup.FirstCharge = first
		a := cmd.Agreement(stored, with)
		if a.Notice.NotBefore != want || a.Notice.Period.Days != 2 {
			t.Errorf("where it can collect from %v on, the notice is %+v, want until %v", first, a.Notice, want)
		}
		for _, p := range a.Payments() {
			if p.Taken.Before(want) {
				t.Errorf("a payment is taken on %v, before %v", p.Taken, want)
			}
		}
	}
}

// The agreement takes every figure from the checkout, the date and nothing else from the confirm, and its number and
// terms from outside.
func TestAgreement(t *testing.T) {
	stored, cmd := ready(t)
	stored.Setup.Consent = agreement.Consent{At: noon, From: "192.0.2.1", Terms: "2026-11-22/2/0123456789abcdef", Period: agreement.NoticePeriod{Days: 2}}
	with := agreed
	with.Terms = agreement.Terms{Lender: agreement.Lender{Name: "Pūtea Limited", Address: "Wellington"},
		Cancellation: agreement.Cancellation{WorkingDays: 5, How: "Write."}}
	with.Provider.Branding = catalogue.Branding{DisplayName: "Tūī", PrimaryColour: "#1f6f54", SupportEmail: "help@tui.example"}
	plan := money.Plan{Frequency: money.Weekly, Instalments: money.Instalments{Number: 3, Regular: 333_33, Final: 333_34}, First: cmd.FirstPayment.Value}
	want := agreement.Agreement{
		Number:     "PPA-2026-000000001A5",
		Version:    agreement.Version,
		CheckoutID: stored.ID,
		OrderID:    "ORDER-1",
		AcceptedAt: noon,
		Sandbox:    true,
		Requests:   agreement.Requests{Create: stored.RequestID, Confirm: cmd.RequestID},
		Provider:   agreement.Party{Code: "TUI", Name: "Tūī", SupportEmail: "help@tui.example", Colour: "#1f6f54"},
		Student:    agreement.Student{FirstName: "Aroha", LastName: "Ngata", Email: "aroha@example.ac.nz"},
		Course:     agreement.Course{Name: "Certificate in Wellbeing"},
		Pricing:    money.Pricing{Price: 1250_00, Upfront: 250_00, Principal: 1000_00},
		Plan:       plan,
		Schedule:   money.Schedule(250_00, plan),
		DirectDebit: agreement.DirectDebit{AuthorityID: stored.Records(catalogue.Sandbox).DDAID, MandateID: stored.Setup.MandateID, AccountHolder: "A NGATA", AccountMask: "01-0902-•••••89-00",
			AuthorisedAt: noon, Consent: stored.Setup.Consent},
		Notice: agreement.Notice{Period: agreement.NoticePeriod{Days: 2}, NotBefore: money.Date{Year: 2026, Month: time.November, Day: 22}},
		Terms:  with.Terms,

		CancelUntil: money.Date{Year: 2026, Month: time.December, Day: 1}, // seven working days after Friday 20 November
	}
	got := cmd.Agreement(stored, with)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("agreement %+v\nwant      %+v", got, want)
	}
	if err := got.Check(); err != nil {
		t.Errorf("its figures are not consistent: %v", err)
	}
	with.Environment = catalogue.Production
	if cmd.Agreement(stored, with).Sandbox {
		t.Error("an agreement of production says that it is not binding")
	}
	stored.CourseCode = "NZDIP"
	if got := cmd.Agreement(stored, with).Course.Code; got != "NZDIP" {
		t.Errorf("course code %q, want NZDIP", got)
	}
}

func TestATokenThatCannotBeDerivedMatchesNothing(t *testing.T) {
	stored, cmd := ready(t)
	cmd.Token = checkout.Some("")
	expectFault(t, cmd.Match(stored, catalogue.Sandbox, ""), checkout.CodeConflict, "checkout.checkout_token")
}

// eventNames returns the names of the events of a change.
func eventNames(c checkout.Change) (names []events.Name) {
	for _, j := range c.Jobs {
		if j.Kind == checkout.JobDeliver {
			names = append(names, events.Name(j.Name))
		}
	}
	return names
}

// An agreement states what is on record of its checkout, and says which facts do not.
func TestStated(t *testing.T) {
	_, _, change := confirmedNow(t)
	c, a := change.Next, *change.Agreement
	if differ := a.Differences(c.Stated(a, catalogue.Sandbox)); len(differ) > 0 {
		t.Errorf("of its own checkout an agreement states otherwise %q", differ)
	}
	c.Student.LastName, c.Setup.MandateID, c.Setup.Consent.From = "Other", "MD9", "192.0.2.9"
	want := []string{"direct_debit.consent.from", "direct_debit.mandate_id", "student.last_name"}
	if differ := a.Differences(c.Stated(a, catalogue.Sandbox)); !slices.Equal(differ, want) {
		t.Errorf("it states otherwise %q, want %q", differ, want)
	}
}
