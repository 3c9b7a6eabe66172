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
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
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
	store, clock := memory.New(), now
	return desk{operate.Operator{Store: store, Keyring: ring, By: "Aroha", Reason: "ticket 7",
		Now: func() time.Time { clock = clock.Add(time.Millisecond); return clock }, Rand: rand.Reader}, store}
}

// recorded returns the acts in the order in which they were done.
func (d desk) recorded(t *testing.T) []checkout.Act {
	t.Helper()
	acts, err := d.store.Acts(t.Context(), checkout.ActFilter{}, 1000)
	must(t, err)
	slices.Reverse(acts)
	return acts
}

// says checks that one act is on record: its name, its subject, and all of these changes.
func (d desk) says(t *testing.T, name, subject string, changes ...string) {
	t.Helper()
	acts := d.recorded(t)
	if len(acts) != 1 {
		t.Fatalf("%d acts, want one: %+v", len(acts), acts)
	}
	checkAct(t, acts[0], name, subject, changes...)
}

func checkAct(t *testing.T, got checkout.Act, name, subject string, changes ...string) {
	t.Helper()
	want := checkout.Act{At: got.At, Operator: "Aroha", Name: name, Subject: subject, Reason: "ticket 7", Changes: changes}
	if late := got.At.Sub(now); !reflect.DeepEqual(got, want) || late < 0 || late > time.Second {
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
	text, err := d.IssueKey(t.Context(), "KOWHAI", operate.KeyOptions{})
	must(t, err)
	id := catalogue.KeyID(text)
	d.says(t, "keys issue", "KOWHAI", "+ key "+id+": of provider KOWHAI, for sandbox")
	if _, err := d.RevokeKey(t.Context(), "ppk_unknown"); !errors.Is(err, ports.ErrNotFound) || strings.Contains(err.Error(), "ppk_unknown") {
		t.Errorf("an unknown key: %v, which must not repeat it", err)
	}
	for n, named := range []string{text, id} { // the second time nothing happens
		if got, err := d.RevokeKey(t.Context(), named); got != id || err != nil {
			t.Errorf("revoked by %q: %q, %v", named, got, err)
		}
		acts := d.recorded(t)
		if len(acts) != 2 {
			t.Fatalf("call %d: the acts are %+v", n+1, acts)
		}
		checkAct(t, acts[1], "keys revoke", "KOWHAI", "- key "+id+": of provider KOWHAI, for sandbox, live → revoked")
	}
	keys, err := d.store.Keys(t.Context())
	if err != nil || len(keys) != 1 || !keys[0].RevokedAt.After(now) {
		t.Errorf("on record are %+v, %v", keys, err)
	}
}

// opened stores a checkout whose enrolment waits for the CRM for a minute, and returns the change.
func (d desk) opened(t *testing.T) checkout.Change {
	t.Helper()
	cmd := checkout.Create{RequestID: "req_1", Actor: checkout.ProviderActor("k1"), ProviderCode: checkout.Some("KOWHAI"), OrderID: checkout.Some("ORDER-1"),
		FirstName: checkout.Some("Canary"), LastName: checkout.Some("Rāpata"), Email: checkout.Some("canary@example.nz")}
	change := cmd.Reserve(checkout.Intent{}, "KOWHAI-1-a", now.Add(-time.Hour))
	change.Jobs[0].Due = now.Add(time.Minute)
	must(t, d.store.InsertCheckout(t.Context(), change, checkout.JobEntry{Now: now.Add(-time.Hour)}))
	return change
}

func TestAJobIsHastenedWithItsRecordAndAMoment(t *testing.T) {
	d := newDesk(t)
	c := d.opened(t)
	id := c.Jobs[0].ID
	query := checkout.JobQuery{Now: now.Add(time.Second), For: time.Second, Kinds: checkout.JobKinds(), Limit: 1}
	if due, err := d.store.Lease(t.Context(), query); err != nil || len(due) != 0 {
		t.Fatalf("due are %+v, %v", due, err)
	}
	for _, unknown := range []string{"", "open:nothing"} {
		if err := d.Retry(t.Context(), unknown); !errors.Is(err, ports.ErrNotFound) {
			t.Errorf("job %q: %v", unknown, err)
		}
	}
	must(t, d.Retry(t.Context(), id))
	d.says(t, "jobs retry", id, "~ open: pending, due now")
	moments, err := d.store.Moments(t.Context(), c.Next.ID)
	if last := moments[len(moments)-1]; err != nil || last.Kind != checkout.MomentOperated || last.Actor != "operator:Aroha" || last.Detail != "jobs retry "+id {
		t.Errorf("the journal ends with %+v, %v", last, err)
	}
	due, err := d.store.Lease(t.Context(), query)
	if err != nil || len(due) != 1 || due[0].Job.ID != id {
		t.Fatalf("due are %+v, %v; want the job", due, err)
	}
	must(t, d.store.Settle(t.Context(), due[0], checkout.Outcome{State: checkout.JobDone}, checkout.JobEntry{Now: now}, nil))
	if err := d.Retry(t.Context(), id); !errors.Is(err, ports.ErrNotFound) || len(d.recorded(t)) != 1 {
		t.Errorf("a job that is done: %v, and %d records", err, len(d.recorded(t)))
	}
}

func TestThatSomebodyLookedIsRecorded(t *testing.T) {
	d := newDesk(t)
	must(t, d.Looked(t.Context(), "privacy export", "KOWHAI-1-a"))
	d.says(t, "privacy export", "KOWHAI-1-a")
}

// configure stores providers as they are on record before a test begins.
func (d desk) configure(t *testing.T, all ...catalogue.Configuration) {
	t.Helper()
	err := d.store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
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
