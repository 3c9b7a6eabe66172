package operate_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

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
