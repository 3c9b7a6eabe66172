package crmtest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// ending returns the end of an enrolment.
func ending(c checkout.Completion, withdrawn bool) checkout.Ending {
	e := checkout.Ending{EnrolmentKey: c.EnrolmentKey, Records: c.Records, Withdrawn: withdrawn,
		End: checkout.End{At: c.Agreement.AcceptedAt.Add(72 * time.Hour), By: checkout.PartyProvider, Reason: "Māia’s own words"}}
	if withdrawn {
		e.End.By, e.End.Ground = checkout.PartyOperator, checkout.GroundCoolingOff
	}
	return e
}

func endRecorded(t *testing.T, b Bench) {
	for _, withdrawn := range []bool{false, true} {
		opened, c := b.opened(t, map[bool]string{false: "cancelled", true: "withdrawn"}[withdrawn])
		_, theirs := b.opened(t, "beside "+opened.OrderID)
		if withdrawn {
			b.complete(t, c)
		}
		before, e := b.Stored(t, c.Records.OpportunityID), ending(c, withdrawn)
		b.unchanged(t, theirs.Records.OpportunityID, func() {
			together(t, func(int) (struct{}, error) { return struct{}{}, b.CRM.End(t.Context(), e) })
		})
		got, want := b.Stored(t, c.Records.OpportunityID), before
		want.EndedAt, want.Withdrawn = e.End.At, withdrawn
		want.Complete, want.ChangedAfter, want.Counts = got.Complete, got.ChangedAfter, got.Counts
		if !reflect.DeepEqual(got, want) {
			t.Errorf("withdrawn %v: stored %+v, want %+v", withdrawn, got, want)
		}
		b.unchanged(t, c.Records.OpportunityID, func() {
			later := e
			later.End.At = e.End.At.Add(time.Hour)
			if err := b.CRM.End(t.Context(), later); err != nil {
				t.Errorf("withdrawn %v, repeated: %v", withdrawn, err)
			}
			if records := b.open(t, opened); records != c.Records {
				t.Errorf("withdrawn %v: a later open returns %+v, want %+v", withdrawn, records, c.Records)
			}
			if withdrawn {
				b.complete(t, c)
			}
		})
		if !withdrawn {
			continue
		}
		if err := b.CRM.UpdateAuthority(t.Context(), update(c, checkout.MandateCancelled, "", e.End.At)); err != nil {
			t.Errorf("UpdateAuthority of a withdrawn enrolment: %v", err)
		}
		if got := b.Stored(t, c.Records.OpportunityID); got.Mandate != checkout.MandateCancelled || !got.EndedAt.Equal(e.End.At) {
			t.Errorf("after its mandate was cancelled stored %+v", got)
		}
	}
}

func endRefused(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	refused := func(what string, e checkout.Ending) {
		t.Helper()
		b.unchanged(t, c.Records.OpportunityID, func() {
			err := b.CRM.End(t.Context(), e)
			if _, ok := errors.AsType[*checkout.CRMRefusal](err); !ok {
				t.Errorf("%s: %v, want a refusal", what, err)
			}
		})
	}
	refused("the withdrawal of an enrolment that is not complete", ending(c, true))
	other, unknown := ending(c, false), ending(c, false)
	other.Records.DDAID = "a00000000000000AAA"
	unknown.EnrolmentKey = b.enrolment("b").EnrolmentKey
	refused("other records", other)
	refused("an enrolment that was not opened", unknown)
	b.complete(t, c)
	refused("the cancel of a complete enrolment", ending(c, false))
}
