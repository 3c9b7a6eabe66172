package operate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// setups is a processor whose records are erased with the checkout.
type setups struct{ keys []string }

func (s *setups) EraseSetups(_ context.Context, keys []string) error {
	s.keys = append(s.keys, keys...)
	return nil
}

// enrolled stores a checkout of the student canary@example.nz, whose setup link is over, and returns it.
func (d desk) enrolled(t *testing.T) checkout.Checkout {
	t.Helper()
	c := d.opened(t).Next
	err := d.store.UpdateCheckout(t.Context(), c.ID, checkout.JobEntry{Now: now}, func(c checkout.Checkout) (checkout.Change, error) {
		c.Status, c.Tokens = checkout.SetupRequired, []checkout.Token{{Epoch: 1, Expires: now.Add(-time.Hour)}}
		return checkout.Change{Next: c}, nil
	})
	must(t, err)
	return c
}

func TestAnErasureIsRecordedAndLeavesAMomentWithoutAName(t *testing.T) {
	d, bank := newDesk(t), &setups{}
	c := d.enrolled(t)
	erasing := operate.Erasing{Setups: bank, Zone: time.UTC}
	student, err := d.Find(t.Context(), "canary@example.nz")
	if err != nil || len(student.Records) != 1 {
		t.Fatalf("found %+v, %v", student, err)
	}
	must(t, d.CheckErasure(student, erasing))
	if err := d.Erase(t.Context(), student, erasing); err != nil {
		t.Fatal(err)
	}
	d.says(t, "privacy erase", c.ID, "checkout "+c.ID+": personal data erased")
	moments, err := d.store.Moments(t.Context(), c.ID)
	if last := moments[len(moments)-1]; err != nil || last.Kind != checkout.MomentErased || last.Actor != "operator:Aroha" {
		t.Errorf("the journal ends with %+v, %v", last, err)
	}
	if got, err := d.store.Checkout(t.Context(), c.ID); err != nil || !got.Erased() || got.Student != (checkout.Student{}) {
		t.Errorf("on record is %+v, %v", got, err)
	}
}

func TestAReasonThatNamesTheStudentErasesNothing(t *testing.T) {
	d := newDesk(t)
	d.enrolled(t)
	student, err := d.Find(t.Context(), "canary@example.nz")
	must(t, err)
	for reason, named := range map[string]bool{"ticket 7": false, "asked for by CANARY": true, "asked by canary@example.nz": true,
		"Rāpata wants it": true, "canaries sing": false} {
		d.Reason = reason
		if err := d.CheckErasure(student, operate.Erasing{Zone: time.UTC}); (err != nil) != named {
			t.Errorf("%q: %v, want it refused: %v", reason, err, named)
		}
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
	c := d.enrolled(t)
	student, err := d.Find(t.Context(), "canary@example.nz")
	must(t, err)
	err = d.store.UpdateCheckout(t.Context(), c.ID, checkout.JobEntry{Now: now}, func(c checkout.Checkout) (checkout.Change, error) {
		c.Confirmation.AgreementNumber = "PPA-2026-1"
		return checkout.Change{Next: c}, nil
	})
	must(t, err)
	if err := d.Erase(t.Context(), student, operate.Erasing{Setups: &setups{}, Zone: time.UTC, Force: true}); !errors.Is(err, operate.ErrChanged) {
		t.Errorf("%v, want %v", err, operate.ErrChanged)
	}
	if got, err := d.store.Checkout(t.Context(), c.ID); err != nil || got.Erased() || len(d.recorded(t)) != 0 {
		t.Errorf("on record is %+v with %d records, %v", got, len(d.recorded(t)), err)
	}
}
