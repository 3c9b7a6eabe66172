package operate_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
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
	return desk{operate.Operator{Store: store, Keyring: ring, By: "Aroha", Role: "support", Reason: "ticket 7",
		Now: func() time.Time { clock = clock.Add(time.Millisecond); return clock }, Rand: rand.Reader}, store}
}

// recorded returns the leaves of the evidence log in their order, and checks that each is attested.
func (d desk) recorded(t *testing.T) (leaves []string) {
	t.Helper()
	entries, err := d.store.UnsealedEvidence(t.Context(), 1000)
	must(t, err)
	for _, e := range entries {
		if !d.Keyring.Attests(e) || e.At.Sub(now) > time.Second {
			t.Errorf("the record %s of %s is attested: %v", e.Leaf, e.At, d.Keyring.Attests(e))
		}
		leaves = append(leaves, string(e.Leaf))
	}
	return leaves
}

// says checks that one record was made, and that it says all of this.
func (d desk) says(t *testing.T, want ...string) {
	t.Helper()
	leaves := d.recorded(t)
	if len(leaves) != 1 {
		t.Fatalf("%d records, want one: %q", len(leaves), leaves)
	}
	for _, text := range append(want, `"operator":"Aroha (support)"`, `"reason":"ticket 7"`) {
		if !strings.Contains(leaves[0], text) {
			t.Errorf("the record %s lacks %s", leaves[0], text)
		}
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
	d.says(t, `"operation":"keys issue"`, `"subject":"`+id+`"`, "+ key "+id+": of provider KOWHAI, for sandbox")
	if leaf := d.recorded(t)[0]; strings.Contains(leaf, text) {
		t.Errorf("the record %s has the key", leaf)
	}
	if _, err := d.RevokeKey(t.Context(), "ppk_unknown"); !errors.Is(err, ports.ErrNotFound) || strings.Contains(err.Error(), "ppk_unknown") {
		t.Errorf("an unknown key: %v, which must not repeat it", err)
	}
	for n, named := range []string{text, id} { // the second time nothing happens
		if got, err := d.RevokeKey(t.Context(), named); got != id || err != nil {
			t.Errorf("revoked by %q: %q, %v", named, got, err)
		}
		if leaves := d.recorded(t); len(leaves) != 2 || !strings.Contains(leaves[1], "- key "+id+": of provider KOWHAI, for sandbox, live → revoked") {
			t.Errorf("call %d: the records are %q", n+1, leaves)
		}
	}
	keys, err := d.store.Keys(t.Context())
	if err != nil || len(keys) != 1 || !keys[0].RevokedAt.After(now) {
		t.Errorf("on record are %+v, %v", keys, err)
	}
}

// Nothing is changed without its record, and nothing is recorded that was not changed.
func TestWhatCannotBeRecordedIsNotDone(t *testing.T) {
	d := newDesk(t)
	d.configure(t, named("KOWHAI", "Kōwhai"))
	job := d.opened(t).Jobs[0]
	d.Rand = bytes.NewReader(nil)
	if _, _, err := d.Configure(t.Context(), "apply", operate.Change{Named: []catalogue.Configuration{named("RATA", "Rata")}}); err == nil {
		t.Error("providers are changed")
	}
	if _, err := d.IssueKey(t.Context(), "KOWHAI", operate.KeyOptions{}); err == nil {
		t.Error("a key is issued")
	}
	if err := d.Retry(t.Context(), job.ID); err == nil {
		t.Error("a job is hastened")
	}
	if err := d.Looked(t.Context(), "privacy export", "a student"); err == nil {
		t.Error("somebody looked without a record")
	}
	if keys, err := d.store.Keys(t.Context()); len(keys) != 0 || err != nil || len(d.recorded(t)) != 0 || len(d.names(t)) != 1 {
		t.Errorf("on record are the keys %+v, the providers %q and %q, %v", keys, d.names(t), d.recorded(t), err)
	}
}

// opened stores a checkout whose enrolment waits for the CRM for a minute, and returns the change.
func (d desk) opened(t *testing.T) checkout.Change {
	t.Helper()
	return d.openedDue(t, now.Add(time.Minute))
}

func (d desk) openedDue(t *testing.T, due time.Time) checkout.Change {
	t.Helper()
	cmd := checkout.Create{RequestID: "req_1", Actor: checkout.ProviderActor("k1"), ProviderCode: checkout.Some("KOWHAI"), OrderID: checkout.Some("ORDER-1"),
		FirstName: checkout.Some("Canary"), LastName: checkout.Some("Rāpata"), Email: checkout.Some("canary@example.nz")}
	change := cmd.Reserve(checkout.Intent{}, "KOWHAI-1-a", now.Add(-time.Hour))
	change.Jobs[0].Due = due
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
	d.says(t, `"operation":"jobs retry"`, `"subject":"`+id+`"`, "~ open: due 2026-11-20T04:01:00Z → 2026-11-20T04:00:00Z")
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

func TestAJobThatIsDueStaysDue(t *testing.T) {
	d := newDesk(t)
	must(t, d.Retry(t.Context(), d.openedDue(t, now.Add(-time.Minute)).Jobs[0].ID))
	d.says(t, "~ open: due 2026-11-20T03:59:00Z → 2026-11-20T03:59:00Z")
}

// What was done is on record, in as many records as it needs.
func TestALongListOfChangesIsRecordedInParts(t *testing.T) {
	d := newDesk(t)
	var lines []string
	for n := range 2*operate.MaxChanges + 1 {
		lines = append(lines, fmt.Sprint("event evt_", n, ": delivered"))
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	must(t, d.Record(ended, evidence.Operation{Name: "events redeliver", Subject: "failed since then", Changes: lines}))
	if leaves := d.recorded(t); len(leaves) != 3 || !slices.ContainsFunc(leaves, func(l string) bool { return strings.Contains(l, lines[len(lines)-1]) }) {
		t.Errorf("%d records, want three with every line", len(leaves))
	}
}

func TestThatSomebodyLookedIsRecorded(t *testing.T) {
	d := newDesk(t)
	must(t, d.Looked(t.Context(), "privacy export", "KOWHAI-1-a"))
	d.says(t, `"operation":"privacy export"`, `"subject":"KOWHAI-1-a"`)
}

// configure stores providers as they are on record before a test begins.
func (d desk) configure(t *testing.T, all ...catalogue.Configuration) {
	t.Helper()
	err := d.store.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
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
