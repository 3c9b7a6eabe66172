package crmtest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// update returns the update that a mandate has reached a status.
func update(c checkout.Completion, m checkout.MandateStatus, reason string, since time.Time) checkout.AuthorityUpdate {
	u := checkout.AuthorityUpdate{EnrolmentKey: c.EnrolmentKey, Records: c.Records, Setup: c.Setup}
	u.Setup.Mandate, u.Setup.MandateReason, u.Setup.MandateSince, u.Setup.Authorisation = m, reason, since, checkout.Authorised
	return u
}

func authorityUpdated(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	_, theirs := b.opened(t, "b")
	b.complete(t, c)
	b.complete(t, theirs)
	before := b.Stored(t, c.Records.OpportunityID)
	at := c.Agreement.AcceptedAt.Add(48 * time.Hour)
	b.unchanged(t, theirs.Records.OpportunityID, func() {
		for _, u := range []checkout.AuthorityUpdate{
			update(c, checkout.MandateCancelled, "DISHONOUR-AC04", at),
			update(c, checkout.MandateCancelled, "DISHONOUR-AC04", at),
			update(c, checkout.MandateActive, "", at.Add(time.Hour)),
			update(c, checkout.MandateFailed, "", at.Add(time.Hour+time.Second)),
			update(c, checkout.MandateExpired, "", time.Time{}), // since when is not known
		} {
			if err := b.CRM.UpdateAuthority(t.Context(), u); err != nil {
				t.Fatalf("UpdateAuthority to %s: %v", u.Setup.Mandate, err)
			}
			got, want := b.Stored(t, c.Records.OpportunityID), before
			want.Mandate, want.MandateReason, want.MandateSince = u.Setup.Mandate, u.Setup.MandateReason, u.Setup.MandateSince
			want.Authorisation, want.ChangedAfter = u.Setup.Authorisation, got.ChangedAfter
			if !reflect.DeepEqual(got, want) {
				t.Errorf("after %s stored %+v, want %+v", u.Setup.Mandate, got, want)
			}
		}
	})
	b.unchanged(t, c.Records.OpportunityID, func() { b.complete(t, c) })
}

func updateLate(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	b.complete(t, c)
	at := c.Agreement.AcceptedAt
	latest := update(c, checkout.MandateActive, "", at.Add(time.Second))
	if err := b.CRM.UpdateAuthority(t.Context(), latest); err != nil {
		t.Fatal(err)
	}
	b.unchanged(t, c.Records.OpportunityID, func() {
		if err := b.CRM.UpdateAuthority(t.Context(), update(c, checkout.MandateFailed, "DISHONOUR-AC04", at)); err != nil {
			t.Errorf("an update that comes late: %v, want it taken and without effect", err)
		}
	})
}

func updateRefused(t *testing.T, b Bench) {
	_, c := b.opened(t, "a")
	refused := func(what string, u checkout.AuthorityUpdate) {
		t.Helper()
		b.unchanged(t, c.Records.OpportunityID, func() {
			err := b.CRM.UpdateAuthority(t.Context(), u)
			if _, ok := errors.AsType[*checkout.CRMRefusal](err); !ok {
				t.Errorf("%s: %v, want a refusal", what, err)
			}
		})
	}
	died := update(c, checkout.MandateFailed, "DISHONOUR-AC05", c.Agreement.AcceptedAt)
	refused("an enrolment that is not complete", died)
	b.complete(t, c)
	other, unknown := died, died
	other.Records.DDAID = "a00000000000000AAA"
	unknown.EnrolmentKey = b.enrolment("b").EnrolmentKey
	refused("other records", other)
	refused("an enrolment that was not opened", unknown)
}
