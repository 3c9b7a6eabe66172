package operate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// settled stores the checkout of the student canary@example.nz, whose jobs are done, and returns it.
func (d desk) settled(t *testing.T) checkout.Checkout {
	t.Helper()
	c := d.opened(t, "A")
	d.settle(t, checkout.JobSync, checkout.JobDone)
	return c
}

// found finds the student canary@example.nz.
func (d desk) found(t *testing.T) operate.Student {
	t.Helper()
	s, err := d.Find(t.Context(), " Canary@example.nz ")
	if err != nil || len(s.Records) == 0 {
		t.Fatalf("found %+v, %v", s, err)
	}
	return s
}

// What the CRM, the processor or the payments still need is erased only if the operator insists.
func TestWhatIsStillNeededIsErasedByForceOnly(t *testing.T) {
	d := newDesk(t)
	c := d.opened(t, "A")
	gently, byForce := operate.Erasing{Zone: time.UTC}, operate.Erasing{Zone: time.UTC, Force: true}
	must(t, d.CheckErasure(d.found(t), gently))
	if n, err := d.Erase(t.Context(), d.found(t), gently); n != 0 || !errors.Is(err, checkout.ErrJobsWait) {
		t.Errorf("while the CRM is to be told: %d, %v", n, err)
	}
	d.confirmed(t, "B", number)
	err := d.CheckErasure(d.found(t), gently)
	if err == nil || !strings.Contains(err.Error(), "checkout KOWHAI-1-b: payments under agreement "+number+" are collected until") {
		t.Errorf("while payments are collected: %v", err)
	}
	must(t, d.Withdraw(t.Context(), number, checkout.GroundError))
	if err := d.CheckErasure(d.found(t), gently); !errors.Is(err, checkout.ErrToEnd) {
		t.Errorf("while the processor has yet to end it: %v", err)
	}
	if got, err := d.store.Checkout(t.Context(), c.ID); err != nil || got.Erased() || len(d.recorded(t)) != 1 {
		t.Errorf("refused, and on record is %+v with %d acts, %v", got, len(d.recorded(t)), err)
	}
	must(t, d.CheckErasure(d.found(t), byForce))
	if n, err := d.Erase(t.Context(), d.found(t), byForce); n != 2 || err != nil {
		t.Errorf("by force: %d, %v", n, err)
	}
}

// A name is refused however it is spelt: without its macron or apostrophe, or as one of two that are joined.
func TestAReasonNamesTheStudentInAnySpelling(t *testing.T) {
	c := checkout.Checkout{Student: checkout.Student{FirstName: "Hēmi", LastName: "O'Brien-Smith", Email: "hemi@example.nz"}}
	for reason, named := range map[string]bool{"Hemi rang": true, "HĒMI’s mother": true, "for O'Brien-Smith": true, "for o’brien smith": true,
		"for OBrien-Smith": true, "O'Brien-Smith's request": true, "hemi7": true, "Hēmi@Example.NZ wrote": true, "chemistry, Brian and smithy": false} {
		o := operate.Operator{Reason: reason}
		if err := o.CheckReason(c); errors.Is(err, operate.ErrNamed) != named {
			t.Errorf("%q: %v, want it refused: %v", reason, err, named)
		}
	}
}

// What has changed since the operator looked is not erased.
func TestAStudentWhoHasChangedIsNotErased(t *testing.T) {
	d := newDesk(t)
	c := d.settled(t)
	student := d.found(t)
	d.changes(t, c, func(c checkout.Checkout) (checkout.Change, error) {
		return c.Begun(1, "BR-1", agreement.Consent{At: now}), nil
	})
	if n, err := d.Erase(t.Context(), student, operate.Erasing{Zone: time.UTC, Force: true}); n != 0 || err == nil || !strings.Contains(err.Error(), "it has just changed") {
		t.Errorf("%d, %v, want it refused", n, err)
	}
	if got, err := d.store.Checkout(t.Context(), c.ID); err != nil || got.Erased() || len(d.recorded(t)) != 0 {
		t.Errorf("on record is %+v with %d acts, %v", got, len(d.recorded(t)), err)
	}
}

func TestTheRecordsElsewhereAreNamed(t *testing.T) {
	d := newDesk(t)
	d.opened(t, "A")
	c := d.confirmed(t, "B", number)
	lines := d.found(t).Elsewhere(catalogue.Sandbox)
	records := c.Records(catalogue.Sandbox)
	want := "checkout " + c.ID + ", agreement " + number + ", billing request BR-B, mandate MD-B, contact " + records.ContactID +
		", opportunity " + records.OpportunityID + ", direct debit authority " + records.DDAID
	if len(lines) != 2 || lines[1] != want || strings.Contains(lines[0], "mandate") {
		t.Errorf("%q, want %q at the end", lines, want)
	}
}
