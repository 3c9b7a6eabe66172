package operate_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

// as returns the operator as somebody else.
func (d desk) as(name string, role operate.Role) operate.Operator {
	o := d.Operator
	o.By, o.Person, o.Role, o.Reason = name, "issuer "+name, role, "ticket 7"
	return o
}

// enable has an operator make the provider active.
func enable(ctx context.Context, o operate.Operator, a checkout.Approval) error {
	c := named(a.Target, "Kōwhai")
	c.Provider.Active = true
	_, _, err := o.Configure(ctx, a.Act, operate.Change{Named: []catalogue.Configuration{c}})
	return err
}

func TestAnActOfTwoPeopleLeavesOneRecordOfBoth(t *testing.T) {
	d := newDesk(t)
	d.configure(t, named("KOWHAI", "Kōwhai"))
	a, err := d.as("Aroha", operate.Engineer).Ask(t.Context(), operate.ActEnable, "KOWHAI", "")
	must(t, err)
	if leaves := d.recorded(t); len(leaves) != 0 {
		t.Errorf("the log has %q of what was only asked for", leaves)
	}
	ben := d.as("Ben", operate.Compliance)
	if waiting, err := ben.Approvals(t.Context()); err != nil || len(waiting) != 1 || waiting[0] != a {
		t.Errorf("%+v wait, %v; want %+v", waiting, err, a)
	}
	must(t, ben.Approve(t.Context(), a.ID, enable))
	leaves := d.recorded(t)
	want := `"operator":"Aroha (engineer)","approved_by":"Ben (compliance)","operation":"providers enable","subject":"KOWHAI","reason":"ticket 7"`
	if len(leaves) != 1 || !strings.Contains(leaves[0], want) {
		t.Errorf("the records are %q, want one with %s", leaves, want)
	}
	for name, again := range map[string]error{"approve": ben.Approve(t.Context(), a.ID, enable), "decline": ben.Decline(t.Context(), a.ID)} {
		if !errors.Is(again, operate.ErrDecided) {
			t.Errorf("%s again: %v", name, again)
		}
	}
	if waiting, err := ben.Approvals(t.Context()); err != nil || len(waiting) != 0 || len(d.recorded(t)) != 1 {
		t.Errorf("%+v wait, %v, and %d records", waiting, err, len(d.recorded(t)))
	}
}

// However much was decided today, what waits is in the list.
func TestDecidedActsHideNothingThatWaits(t *testing.T) {
	d := newDesk(t)
	d.configure(t, named("KOWHAI", "Kōwhai"))
	aroha := d.as("Aroha", operate.Engineer)
	ask := func() checkout.Approval {
		a, err := aroha.Ask(t.Context(), operate.ActEnable, "KOWHAI", "")
		must(t, err)
		return a
	}
	for range 150 {
		must(t, aroha.Decline(t.Context(), ask().ID))
	}
	a := ask()
	if waiting, err := d.as("Ben", operate.Compliance).Approvals(t.Context()); err != nil || len(waiting) != 1 || waiting[0] != a {
		t.Errorf("%d wait, %v; want %+v", len(waiting), err, a)
	}
	for range 150 {
		ask()
	}
	if waiting, err := aroha.Approvals(t.Context()); err != nil || len(waiting) != 100 || waiting[0] != a {
		t.Errorf("%d wait, %v; want the oldest 100", len(waiting), err)
	}
}

func TestWhoMayDecide(t *testing.T) {
	d := newDesk(t)
	d.configure(t, named("KOWHAI", "Kōwhai"))
	asked := d.as("Aroha", operate.Compliance)
	a, err := asked.Ask(t.Context(), operate.ActEnable, "KOWHAI", "")
	must(t, err)
	renamed := d.as("Aroha Ngata", operate.Compliance)
	renamed.Person = asked.Person
	for name, tt := range map[string]struct {
		operate.Operator
		want error
	}{
		"who asked":                       {asked, operate.ErrSamePerson},
		"who asked, under another name":   {renamed, operate.ErrSamePerson},
		"a namesake of who asked":         {func() operate.Operator { o := asked; o.Person = "another"; return o }(), operate.ErrSamePerson},
		"who asked, under another role":   {d.as("Aroha", operate.Engineer), operate.ErrNotAllowed},
		"somebody else of a role without": {d.as("Ben", operate.Support), operate.ErrNotAllowed},
		"somebody without a role":         {d.as("Ben", ""), operate.ErrNotAllowed},
	} {
		if err := tt.Approve(t.Context(), a.ID, enable); !errors.Is(err, tt.want) {
			t.Errorf("%s approves: %v, want %v", name, err, tt.want)
		}
	}
	if err := d.as("Ben", operate.Auditor).Decline(t.Context(), a.ID); !errors.Is(err, operate.ErrNotAllowed) {
		t.Errorf("an auditor declines: %v", err)
	}
	if err := asked.Approve(t.Context(), "apr_unknown", enable); !errors.Is(err, ports.ErrNotFound) {
		t.Errorf("an unknown approval: %v", err)
	}
	if leaves := d.recorded(t); len(leaves) != 0 {
		t.Errorf("the records are %q", leaves)
	}
	must(t, asked.Decline(t.Context(), a.ID)) // who asked takes it back
	want := `"operation":"providers enable declined","subject":"KOWHAI","reason":"ticket 7","changes":["declined by Aroha (compliance)"]`
	if leaves := d.recorded(t); len(leaves) != 1 || !strings.Contains(leaves[0], want) {
		t.Errorf("the records are %q, want one with %s", leaves, want)
	}
}

func TestWhoMayAskAndAct(t *testing.T) {
	d := newDesk(t)
	if _, err := d.as("Aroha", operate.Support).Ask(t.Context(), operate.ActEnable, "KOWHAI", ""); !errors.Is(err, operate.ErrNotAllowed) {
		t.Errorf("support asks to enable a provider: %v", err)
	}
	silent := d.as("Aroha", operate.Compliance)
	silent.Reason = ""
	if _, err := silent.Ask(t.Context(), operate.ActEnable, "KOWHAI", ""); !errors.Is(err, operate.ErrNoReason) {
		t.Errorf("without a reason: %v", err)
	}
	if err := silent.May(operate.ActDisable); !errors.Is(err, operate.ErrNoReason) {
		t.Errorf("without a reason: %v", err)
	}
	if err := d.as("Aroha", operate.Compliance).May(operate.ActEnable); !errors.Is(err, operate.ErrNotAllowed) {
		t.Errorf("an act of two people by one: %v", err)
	}
	if err := d.as("Aroha", operate.Compliance).May("become root"); !errors.Is(err, operate.ErrNotAllowed) {
		t.Errorf("an unknown act: %v", err)
	}
	for _, act := range []operate.Act{operate.ActWithdraw, operate.ActErase, operate.ActEnable} {
		if r := operate.RightsTo(act); len(r.Alone) > 0 || len(r.Ask) == 0 || len(r.Approve) == 0 || !r.Reasoned || !r.Fresh {
			t.Errorf("%s: %+v; want two people, a reason and a fresh sign-in", act, r)
		}
	}
}

func TestAnApprovalRunsOut(t *testing.T) {
	d := newDesk(t)
	d.configure(t, named("KOWHAI", "Kōwhai"))
	a, err := d.as("Aroha", operate.Engineer).Ask(t.Context(), operate.ActEnable, "KOWHAI", "")
	must(t, err)
	late := d.as("Ben", operate.Compliance)
	late.Now = a.Expires
	if err := late.Approve(t.Context(), a.ID, enable); !errors.Is(err, operate.ErrDecided) || len(d.recorded(t)) != 0 {
		t.Errorf("a day later: %v, and %d records", err, len(d.recorded(t)))
	}
	late.Now = func() time.Time { return a.Expires().Add(-time.Millisecond) }
	must(t, late.Approve(t.Context(), a.ID, enable))
}

// What was so already is on record all the same: somebody asked, and somebody approved.
func TestAnApprovedActThatChangesNothingIsRecordedOnce(t *testing.T) {
	d := newDesk(t)
	a, err := d.as("Aroha", operate.Engineer).Ask(t.Context(), operate.ActEnable, "KOWHAI", "")
	must(t, err)
	must(t, d.as("Ben", operate.Compliance).Approve(t.Context(), a.ID,
		func(context.Context, operate.Operator, checkout.Approval) error { return nil }))
	if leaves := d.recorded(t); len(leaves) != 1 || !strings.Contains(leaves[0], `"approved_by":"Ben (compliance)"`) {
		t.Errorf("the records are %q", leaves)
	}
}

func TestOfManyDecisionsOneTakesEffect(t *testing.T) {
	d := newDesk(t)
	d.Now = func() time.Time { return now }
	d.configure(t, named("KOWHAI", "Kōwhai"))
	a, err := d.as("Aroha", operate.Engineer).Ask(t.Context(), operate.ActEnable, "KOWHAI", "")
	must(t, err)
	var took atomic.Int64
	var deciding sync.WaitGroup
	for n := range 20 {
		deciding.Go(func() {
			ben := d.as("Ben", operate.Compliance)
			decide := func() error { return ben.Decline(t.Context(), a.ID) }
			if n%2 == 0 {
				decide = func() error { return ben.Approve(t.Context(), a.ID, enable) }
			}
			switch err := decide(); {
			case err == nil:
				took.Add(1)
			case !errors.Is(err, operate.ErrDecided):
				t.Error(err)
			}
		})
	}
	deciding.Wait()
	if leaves := d.recorded(t); took.Load() != 1 || len(leaves) != 1 {
		t.Errorf("%d decisions took effect, with the records %q", took.Load(), leaves)
	}
}
