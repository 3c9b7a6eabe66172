package operate_test

import (
	"crypto/rand"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

var now = time.Date(2026, time.November, 20, 4, 0, 0, 0, time.UTC)

// desk is an operator over an empty store in memory.
type desk struct {
	operate.Operator
	store *memory.Store
}

func newDesk(t *testing.T) desk {
	t.Helper()
	ring, err := checkout.NewKeyring([]byte(strings.Repeat("s", 32)))
	must(t, err)
	at := now
	clock := func() time.Time { at = at.Add(time.Millisecond); return at }
	store := memory.New(clock)
	return desk{operate.Operator{Store: store, Keyring: ring, By: "Aroha", Reason: "ticket 7", Now: clock, Rand: rand.Reader}, store}
}

// recorded returns the acts in the order in which they were done.
func (d desk) recorded(t *testing.T) []checkout.Act {
	t.Helper()
	acts, err := d.store.Acts(t.Context(), checkout.ActFilter{}, 1000)
	must(t, err)
	slices.Reverse(acts)
	return acts
}

// says checks that one act is on record since the acts before: its name, its subject, and all of these changes.
func (d desk) says(t *testing.T, before int, name, subject string, changes ...string) {
	t.Helper()
	acts := d.recorded(t)
	if len(acts) != before+1 {
		t.Fatalf("%d acts, want one more than %d: %+v", len(acts), before, acts)
	}
	checkAct(t, acts[before], name, subject, changes...)
}

func checkAct(t *testing.T, got checkout.Act, name, subject string, changes ...string) {
	t.Helper()
	want := checkout.Act{ID: got.ID, At: got.At, Operator: "Aroha", Name: name, Subject: subject, ProviderCode: got.ProviderCode,
		Reason: "ticket 7", Changes: changes}
	late := got.At.Sub(now)
	if !reflect.DeepEqual(got, want) || late < 0 || late > time.Second || len(got.ID) != len("act_0123456789abcdef") || got.ProviderCode == "" {
		t.Errorf("the act is %+v, want %+v", got, want)
	}
}

func TestAReasonIsOneReadableLine(t *testing.T) {
	if got, err := operate.ParseReason("  prices of 2027, Ma\u0304ui "); got != "prices of 2027, Māui" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, reason := range []string{"a\nb", "a\x1b[2K", "\u202e", "\xff", strings.Repeat("ā", 1001)} {
		if got, err := operate.ParseReason(reason); err == nil {
			t.Errorf("%q is accepted as %q", reason, got)
		}
	}
	if _, err := operate.ParseReason(strings.Repeat("ā", 1000)); err != nil {
		t.Error(err)
	}
}

func TestAKeyThatIsNoUseIsNotIssued(t *testing.T) {
	d := newDesk(t)
	d.configure(t, named("KOWHAI", "Kōwhai"))
	for name, with := range map[string]operate.KeyOptions{"a label of two lines": {Label: "a\nb"}, "a label that is too long": {Label: strings.Repeat("ā", 81)},
		"a time that is over": {ExpiresAt: now.Add(-time.Second)}} {
		if _, err := d.IssueKey(t.Context(), "KOWHAI", with); err == nil || len(d.recorded(t)) > 0 {
			t.Errorf("%s: %v, and %d acts", name, err, len(d.recorded(t)))
		}
	}
}

// opened stores a checkout of the student Canary Rāpata with an event and a job for the CRM, and returns it.
func (d desk) opened(t *testing.T, order string) checkout.Checkout {
	t.Helper()
	cmd := checkout.Create{RequestID: "req_1", Actor: checkout.ProviderActor("k1"), ProviderCode: checkout.Some("KOWHAI"), OrderID: checkout.Some(order),
		FirstName: checkout.Some("Canary"), LastName: checkout.Some("Rāpata"), Email: checkout.Some("canary@example.nz")}
	intent := checkout.Intent{Pricing: money.Pricing{Price: 300_00, Principal: 300_00}, Plan: money.Plan{Frequency: money.Weekly,
		Instalments: money.Instalments{Number: 3, Regular: 100_00, Final: 100_00}, First: money.Date{Year: 2026, Month: 12, Day: 1}}}
	change := cmd.Open(intent, checkout.Opening{ID: "KOWHAI-1-" + strings.ToLower(order), Now: now, Environment: catalogue.Sandbox,
		Token: d.Keyring.Issue(1, now.Add(24*time.Hour))})
	_, err := d.store.InsertCheckout(t.Context(), change, 0)
	must(t, err)
	c, err := d.store.Checkout(t.Context(), change.Next.ID)
	must(t, err)
	return c
}

// settle settles the due jobs of a kind.
func (d desk) settle(t *testing.T, kind checkout.JobKind, state checkout.JobState) {
	t.Helper()
	leases, err := d.store.Lease(t.Context(), checkout.JobQuery{Limits: map[checkout.JobKind]int{kind: 10}, For: time.Second})
	must(t, err)
	for _, l := range leases {
		must(t, d.store.Settle(t.Context(), l, checkout.Outcome{State: state, Attempts: 3}))
	}
}

func (d desk) jobs(t *testing.T, f checkout.JobFilter) []checkout.JobRecord {
	t.Helper()
	list, err := d.store.Jobs(t.Context(), f, 100)
	must(t, err)
	return list
}

func TestThatSomebodyLookedIsRecorded(t *testing.T) {
	d := newDesk(t)
	c := d.opened(t, "A")
	must(t, d.Looked(t.Context(), "privacy export", c))
	d.says(t, 0, "privacy export", c.ID)
	d.Reason = "canary@example.nz asks"
	if err := d.Looked(t.Context(), "privacy export", c); !errors.Is(err, operate.ErrNamed) || len(d.recorded(t)) != 1 {
		t.Errorf("for a reason that names the student: %v, %d acts", err, len(d.recorded(t)))
	}
}

// configure stores providers as they are on record before a test begins.
func (d desk) configure(t *testing.T, all ...catalogue.Configuration) {
	t.Helper()
	err := d.store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
		return all, nil, nil
	})
	must(t, err)
}

func named(code, name string) catalogue.Configuration {
	return catalogue.Configuration{Provider: catalogue.Provider{Code: code, Name: name, Environment: catalogue.Sandbox, Mode: catalogue.Legacy}}
}

// must ends the test with an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// confirmed stores a confirmed checkout and returns it.
func (d desk) confirmed(t *testing.T, order, number string) checkout.Checkout {
	t.Helper()
	c := d.opened(t, order)
	c = d.changes(t, c, func(c checkout.Checkout) (checkout.Change, error) {
		return c.Begun(1, "BR-"+order, agreement.Consent{At: now}), nil
	})
	c = d.changes(t, c, func(c checkout.Checkout) (checkout.Change, error) {
		return c.Observe(checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandateActive, MandateID: "MD-" + order,
			AccountHolder: "C RAPATA", AccountMask: "01-0902-•••••89-00", CompletedAt: now}, now), nil
	})
	return d.changes(t, c, func(c checkout.Checkout) (checkout.Change, error) {
		records := c.Records(catalogue.Sandbox)
		cmd := checkout.Confirm{RequestID: "req_2", CheckoutID: checkout.Some(c.ID), OrderID: checkout.Some(c.OrderID), Token: checkout.Some("t"),
			OpportunityID: checkout.Some(records.OpportunityID), DDAID: checkout.Some(records.DDAID), FirstPayment: checkout.Some(c.Intent.Plan.First)}
		facts := checkout.AgreementFacts{Environment: catalogue.Sandbox, Number: number, Now: now}
		return cmd.Decide(c, "t", checkout.Prepared{Environment: catalogue.Sandbox, Now: now, Agreement: cmd.Agreement(c, facts)})
	})
}

// changes changes a checkout and returns it as it is then.
func (d desk) changes(t *testing.T, c checkout.Checkout, decide ports.Decide) checkout.Checkout {
	t.Helper()
	change, _, err := d.store.UpdateCheckout(t.Context(), c, 0, decide)
	must(t, err)
	return change.Next
}

const number = "PPA-2026-000000001A5"

func TestNoReasonNamesTheStudent(t *testing.T) {
	d := newDesk(t)
	c := d.opened(t, "A")
	d.confirmed(t, "B", number)
	d.Reason = "for Canary"
	retry := func(jobs []checkout.JobRecord) error { _, err := d.Retry(t.Context(), jobs); return err }
	for name, err := range map[string]error{"a cancel": d.Cancel(t.Context(), c.ID), "a withdrawal": d.Withdraw(t.Context(), number, checkout.GroundError),
		"a link": d.MailLink(t.Context(), c.ID, time.Hour), "a retry": retry(d.jobs(t, checkout.JobFilter{CheckoutID: c.ID, Kinds: []checkout.JobKind{checkout.JobSync}}))} {
		if !errors.Is(err, operate.ErrNamed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.Reason = ""
	if err := d.Cancel(t.Context(), c.ID); !checkout.Refused(err, checkout.CodeValidation) || len(d.recorded(t)) > 0 {
		t.Errorf("without a reason: %v, %d acts", err, len(d.recorded(t)))
	}
}
