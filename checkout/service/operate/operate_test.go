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

func TestAnOperatorsNameIsReadable(t *testing.T) {
	for name, ok := range map[string]bool{"Aroha Ngata": true, "uid 1001": true, "": false, " ": false, "Aroha\nroot": false,
		"toor\u202e": false, strings.Repeat("a", 256): false} {
		if err := operate.CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v, want it accepted: %v", name, err, ok)
		}
	}
}

func TestAKeyIsIssuedAndRevokedWithItsRecord(t *testing.T) {
	d := newDesk(t)
	if _, err := d.IssueKey(t.Context(), "KOWHAI", operate.KeyOptions{}); !errors.Is(err, operate.ErrNoProvider) {
		t.Errorf("a key of no provider: %v", err)
	}
	d.configure(t, named("KOWHAI", "Kōwhai"))
	text, err := d.IssueKey(t.Context(), "KOWHAI", operate.KeyOptions{Label: "  warehouse ", ExpiresAt: now.Add(time.Hour)})
	must(t, err)
	id := catalogue.KeyID(text)
	described := "key " + id + ": of provider KOWHAI, for sandbox, \"warehouse\", until 2026-11-20T05:00:00Z"
	d.says(t, 0, "keys issue", id, "+ "+described)
	if _, err := d.RevokeKey(t.Context(), "ppk_unknown"); !errors.Is(err, ports.ErrNotFound) || strings.Contains(err.Error(), "ppk_unknown") {
		t.Errorf("an unknown key: %v, which must not repeat it", err)
	}
	for _, named := range []string{text, id} { // the second time nothing happens
		if got, err := d.RevokeKey(t.Context(), named); got != id || err != nil {
			t.Errorf("revoked by %q: %q, %v", named, got, err)
		}
		d.says(t, 1, "keys revoke", id, "- "+described+", live → revoked")
	}
	keys, err := d.store.Keys(t.Context())
	if err != nil || len(keys) != 1 || !keys[0].RevokedAt.After(now) {
		t.Errorf("on record are %+v, %v", keys, err)
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

func TestJobsThatWaitOrHaveFailedAreRetriedWithTheirRecord(t *testing.T) {
	d := newDesk(t)
	a, b := d.opened(t, "A"), d.opened(t, "B")
	d.settle(t, checkout.JobDeliver, checkout.JobFailed)
	d.settle(t, checkout.JobSync, checkout.JobDone)
	if n, err := d.Retry(t.Context(), d.jobs(t, checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobSync}})); n != 0 || err != nil || len(d.recorded(t)) != 0 {
		t.Errorf("jobs that are done: %d, %v, %d acts", n, err, len(d.recorded(t)))
	}
	n, err := d.Retry(t.Context(), d.jobs(t, checkout.JobFilter{CheckoutID: a.ID}))
	if n != 1 || err != nil {
		t.Errorf("retried %d, %v; want the event", n, err)
	}
	event := d.jobs(t, checkout.JobFilter{CheckoutID: a.ID, Kinds: []checkout.JobKind{checkout.JobDeliver}})[0]
	d.says(t, 0, "jobs retry", a.ID, "~ 1 jobs, such as "+event.ID)
	if event.State != checkout.JobPending || event.Attempts != 3 || event.Due.After(now.Add(time.Second)) {
		t.Errorf("the event is %s after %d attempts, due %s", event.State, event.Attempts, event.Due)
	}
	n, err = d.Retry(t.Context(), d.jobs(t, checkout.JobFilter{}))
	if n != 2 || err != nil {
		t.Errorf("retried %d, %v; want the events of both checkouts", n, err)
	}
	if last := d.recorded(t)[1]; last.Subject != "KOWHAI" || !strings.HasPrefix(last.Changes[0], "~ 2 jobs, such as evt_") {
		t.Errorf("the act of several jobs is %+v", last)
	}
	d.Reason = "Rāpata rang"
	of := checkout.JobFilter{CheckoutID: b.ID}
	if _, err := d.Retry(t.Context(), d.jobs(t, of)); !errors.Is(err, operate.ErrNamed) || len(d.recorded(t)) != 2 {
		t.Errorf("for a reason that names the student: %v, %d acts", err, len(d.recorded(t)))
	}
}

func TestWhatChangedSinceATimeIsSyncedOnceMore(t *testing.T) {
	d := newDesk(t)
	a, b := d.opened(t, "A"), d.opened(t, "B")
	d.settle(t, checkout.JobSync, checkout.JobDone)
	n, err := d.Sync(t.Context(), time.UnixMilli(b.Revision+1))
	if n != 0 || err != nil || len(d.recorded(t)) != 0 {
		t.Errorf("after the last change: %d, %v, %d acts", n, err, len(d.recorded(t)))
	}
	n, err = d.Sync(t.Context(), time.UnixMilli(a.Revision))
	if n != 2 || err != nil {
		t.Errorf("queued %d, %v; want both checkouts", n, err)
	}
	d.says(t, 0, "crm sync", "KOWHAI", "~ 2 jobs, such as sync")
	if waiting := d.jobs(t, checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobSync}, State: checkout.JobPending}); len(waiting) != 2 {
		t.Errorf("%d jobs wait, want two", len(waiting))
	}
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

// names returns the names of the providers on record.
func (d desk) names(t *testing.T) (all []string) {
	t.Helper()
	list, err := d.store.Providers(t.Context())
	must(t, err)
	for _, p := range list {
		all = append(all, p.Name)
	}
	return all
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

// A repeat changes nothing, and neither does what may not be done: neither is an act.
func TestACheckoutEndsOnceWithItsRecord(t *testing.T) {
	d := newDesk(t)
	open, agreed := d.opened(t, "A"), d.confirmed(t, "B", number)
	must(t, d.Cancel(t.Context(), open.ID))
	d.says(t, 0, "cancel", open.ID)
	must(t, d.Withdraw(t.Context(), number, checkout.GroundHardship))
	d.says(t, 1, "withdraw", agreed.ID, number+", ground: hardship")
	for _, c := range []checkout.Checkout{open, agreed} {
		got, err := d.store.Checkout(t.Context(), c.ID)
		if err != nil || !got.Ended() || got.End.By != checkout.PartyOperator || got.End.Reason != "ticket 7" {
			t.Errorf("on record is %+v, %v", got.End, err)
		}
		moments, err := d.store.Moments(t.Context(), c.ID)
		if err != nil || moments[len(moments)-1].Actor != "operator:Aroha" {
			t.Errorf("the timeline ends with %+v, %v", moments, err)
		}
	}
	for name, err := range map[string]error{"a repeat of the cancel": d.Cancel(t.Context(), open.ID),
		"a repeat of the withdrawal": d.Withdraw(t.Context(), number, checkout.GroundError)} {
		if !errors.Is(err, checkout.ErrEnded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := d.Cancel(t.Context(), agreed.ID); !checkout.Refused(err, checkout.CodeConflict) {
		t.Errorf("a cancel of what is confirmed: %v", err)
	}
	if err := d.Withdraw(t.Context(), number, "whim"); err == nil {
		t.Error("an unknown ground is accepted")
	}
	if err := d.Withdraw(t.Context(), "PPA-2026-0000000000", checkout.GroundError); !errors.Is(err, ports.ErrNotFound) {
		t.Errorf("an unknown agreement: %v", err)
	}
	if acts := d.recorded(t); len(acts) != 2 {
		t.Errorf("the acts are %+v, want two", acts)
	}
}

func TestNoEndNamesTheStudent(t *testing.T) {
	d := newDesk(t)
	c := d.opened(t, "A")
	d.confirmed(t, "B", number)
	d.Reason = "for Canary"
	for name, err := range map[string]error{"a cancel": d.Cancel(t.Context(), c.ID), "a withdrawal": d.Withdraw(t.Context(), number, checkout.GroundError),
		"a link": d.MailLink(t.Context(), c.ID, time.Hour)} {
		if !errors.Is(err, operate.ErrNamed) {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.Reason = ""
	if err := d.Cancel(t.Context(), c.ID); !checkout.Refused(err, checkout.CodeValidation) || len(d.recorded(t)) > 0 {
		t.Errorf("without a reason: %v, %d acts", err, len(d.recorded(t)))
	}
}

func TestALinkIsMailedWithItsRecord(t *testing.T) {
	d := newDesk(t)
	c := d.opened(t, "A")
	must(t, d.MailLink(t.Context(), c.ID, 48*time.Hour))
	d.says(t, 0, "link", c.ID)
	notices := d.jobs(t, checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobNotify}})
	after, err := d.store.Checkout(t.Context(), c.ID)
	if err != nil || len(notices) != 1 || notices[0].Name != string(checkout.NoticeOfLink) || d.Keyring.MailedText(after) == "" ||
		!slices.Equal(after.Tokens[:1], c.Tokens) {
		t.Errorf("notices %+v, tokens %+v, %v", notices, after.Tokens, err)
	}
	if err := d.MailLink(t.Context(), c.ID, time.Hour); !errors.Is(err, checkout.ErrLinkSent) || len(d.recorded(t)) != 1 {
		t.Errorf("at once again: %v, %d acts", err, len(d.recorded(t)))
	}
}
