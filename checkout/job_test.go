package checkout_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

func TestReasonsAndReceiptsAreStoredAsEveryStoreTakesThem(t *testing.T) {
	for text, want := range map[string]string{"": "", "answered 500": "answered 500", "a\x00b": "ab", "\xff": "",
		strings.Repeat("a", 301): strings.Repeat("a", 300), strings.Repeat("a", 299) + "ā": strings.Repeat("a", 299)} {
		if got := checkout.FailureOf(errors.New(text), noon); got != (checkout.Failure{At: noon, Reason: want}) {
			t.Errorf("FailureOf(%q) = %q, want %q", text, got.Reason, want)
		}
		if got := checkout.Storable(text); got != want {
			t.Errorf("Storable(%q) = %q, want %q", text, got, want)
		}
	}
}

// No pause that the package decides is longer than its kind's longest, or the job would be done at once.
func TestNoPauseIsLongerThanTheLongestOfItsKind(t *testing.T) {
	within := func(kind checkout.JobKind, attempts int, pause time.Duration) {
		t.Helper()
		if longest := kind.LongestPause(); pause > longest {
			t.Errorf("after %d attempts a job of kind %s waits for %v, and its longest pause is %v", attempts, kind, pause, longest)
		}
	}
	for attempts := 1; attempts <= 20; attempts++ {
		within(checkout.JobSync, attempts, checkout.SyncPause(attempts, false))
		within(checkout.JobSync, attempts, checkout.SyncPause(attempts, true))
		within(checkout.JobEnd, attempts, checkout.SyncPause(attempts, false))
		pause, _ := checkout.NoticePause(attempts)
		within(checkout.JobNotify, attempts, pause)
	}
	within(checkout.JobSync, 1, openedNow(t).Next.Job(checkout.JobSync, "", noon, 10*time.Second).Due.Sub(noon))
}

func TestTheCRMIsAskedMoreSeldomWithEveryAttempt(t *testing.T) {
	for n, want := range []time.Duration{250, 500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000} {
		if pause := checkout.SyncPause(n+1, false); pause != want*time.Millisecond {
			t.Errorf("after attempt %d a pause of %s, want %s", n+1, pause, want*time.Millisecond)
		}
	}
	if pause := checkout.SyncPause(1<<60, false); pause != 15*time.Second {
		t.Errorf("after very many attempts a pause of %s", pause)
	}
	if pause := checkout.SyncPause(1, true); pause != 10*time.Minute {
		t.Errorf("after a refusal a pause of %s", pause)
	}
}

// Whatever the clock says, a later change has a higher revision, and what enters with it higher positions.
func TestChangesAreNumberedInTheirOrder(t *testing.T) {
	first := openedNow(t).Numbered(checkout.Checkout{})
	if first.Next.Revision != noon.UnixMilli() {
		t.Errorf("the first revision is %d, want the time of the change, %d", first.Next.Revision, noon.UnixMilli())
	}
	other := byProvider(t, first.Next)
	other.Next.ID, other.Next.OrderID = "TUI-2", "ORDER-2"
	for _, later := range []time.Duration{0, -time.Hour, time.Minute} {
		other.At = noon.Add(later)
		next := other.Numbered(first.Next)
		if want := max(first.Next.Revision+1, other.At.UnixMilli()); next.Next.Revision != want {
			t.Errorf("%s later: revision %d, want %d", later, next.Next.Revision, want)
		}
		if next.Next.ID != first.Next.ID || next.Next.OrderID != first.Next.OrderID {
			t.Errorf("a change makes checkout %s, order %s, of another", next.Next.ID, next.Next.OrderID)
		}
		if next.Jobs[0].Position <= first.Jobs[1].Position || first.Jobs[1].Position <= first.Jobs[0].Position {
			t.Errorf("%s later: position %d follows %d and %d", later, next.Jobs[0].Position, first.Jobs[0].Position, first.Jobs[1].Position)
		}
		if m := next.Moments[0]; m.ID != strconv.FormatInt(m.Position, 10) || m.Position != next.Next.Revision*1000 {
			t.Errorf("%s later: moment %+v of revision %d", later, m, next.Next.Revision)
		}
	}
	if other.Moments[0].Position != 0 || other.Jobs[0].Position != 0 {
		t.Error("Numbered changes its argument")
	}
}

// An operator names a job as the lists do.
func TestAJobIsFoundByItsName(t *testing.T) {
	change := openedNow(t)
	event, sync := change.Jobs[0], change.Jobs[1]
	for ref, want := range map[string]checkout.JobFilter{event.ID: {ID: event.ID}, "sync:" + checkoutID: {ID: "sync", CheckoutID: checkoutID},
		"retain": {ID: "retain"}} {
		if got := checkout.JobByRef(ref); got.ID != want.ID || got.CheckoutID != want.CheckoutID {
			t.Errorf("JobByRef(%q) = %+v, want %+v", ref, got, want)
		}
	}
	refs := []string{event.Ref(), sync.Ref(), checkout.StoreJob(checkout.JobRetain, noon).Ref()}
	if !slices.Equal(refs, []string{event.ID, "sync:" + checkoutID, "retain"}) {
		t.Errorf("refs %q", refs)
	}
	for id, want := range map[string]string{checkoutID: "TUI", "A-B-1-a": "A-B", "A-1": "", "A": "", "": ""} {
		if got := checkout.ProviderOf(id); got != want {
			t.Errorf("ProviderOf(%q) = %q, want %q", id, got, want)
		}
	}
}

// The events of a record have the words of the contract for the state of their jobs.
func TestTheEventsOfARecord(t *testing.T) {
	jobs := openedNow(t).Jobs
	record := checkout.CheckoutRecord{}
	var got []events.Status
	for _, state := range []checkout.JobState{checkout.JobPending, checkout.JobDone, checkout.JobFailed, checkout.JobDropped} {
		record.Jobs = append(record.Jobs, checkout.JobRecord{Job: jobs[0], State: state}, checkout.JobRecord{Job: jobs[1], State: state})
	}
	for _, e := range record.Events() {
		got = append(got, e.EventStatus())
	}
	if want := []events.Status{events.Pending, events.Delivered, events.Failed, events.NotConfigured}; !slices.Equal(got, want) {
		t.Errorf("events %q, want %q", got, want)
	}
	for _, state := range []checkout.JobState{checkout.JobPending, checkout.JobDone, checkout.JobFailed, checkout.JobDropped} {
		want := state == checkout.JobPending || state == checkout.JobFailed
		if (checkout.JobRecord{State: state}).Retries() != want {
			t.Errorf("a job that is %s may be retried: %t, want %t", state, !want, want)
		}
	}
}

// A value that the CRM cannot take is the caller's to mend only where the caller gave it.
func TestRefusedByCRM(t *testing.T) {
	cmd := parseCreate(t, legacyBody)
	for _, tt := range []struct {
		name         string
		cmd          checkout.Create
		faults, want []string
	}{
		{"no field", cmd, nil, nil},
		{"a field of the create", cmd, []string{"student.last_name"}, []string{"student.last_name"}},
		{"two of its fields", cmd, []string{"student.last_name", "pricing.course_price"}, []string{"student.last_name", "pricing.course_price"}},
		{"a field of the CRM's own", cmd, []string{"Stage__c"}, nil},
		{"one of either", cmd, []string{"student.last_name", "Stage__c"}, []string{"student.last_name"}},
		{"a field that the create left to the catalogue", weekly, []string{"pricing.course_price"}, nil},
	} {
		var faults []checkout.Fault
		for _, f := range tt.faults {
			faults = append(faults, checkout.Fault{Field: f, Message: "is too long"})
		}
		err := tt.cmd.RefusedByCRM(faults)
		if code, named := refusalOf(err); !slices.Equal(named, tt.want) || (err != nil) != (code == checkout.CodeValidation) {
			t.Errorf("%s: %v, want the fields %q refused", tt.name, err, tt.want)
		}
	}
}
