package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// show prints the state and the timeline of the checkouts that an id names: of one, unless several providers have the order.
func show(c *call) action {
	c.listFlags()
	return c.onRecords(func(ctx context.Context, db records) error {
		list, err := named(ctx, db, c.Args[0])
		switch {
		case err != nil:
			return err
		case len(list) == 0:
			return errors.New("no checkout has this id, order or agreement number")
		}
		for i, found := range list {
			if i > 0 && !c.json {
				fmt.Fprintln(c.Stdout)
			}
			if err := c.showOne(ctx, db, found); err != nil {
				return err
			}
		}
		return nil
	})
}

// named returns the checkouts with this id, agreement number or order.
func named(ctx context.Context, db records, id string) (list []checkout.Checkout, err error) {
	ids := []string{id}
	a, err := db.Agreement(ctx, id)
	if err == nil {
		ids = append(ids, a.CheckoutID)
	} else if !errors.Is(err, ports.ErrNotFound) {
		return nil, err
	}
	jobs, err := db.Jobs(ctx, checkout.JobFilter{OrderID: id, OldestFirst: true}, maxJobs)
	if err != nil {
		return nil, err
	}
	for _, j := range jobs { // every checkout has one
		ids = append(ids, j.Job.CheckoutID)
	}
	for i, id := range ids {
		if slices.Contains(ids[:i], id) {
			continue
		}
		switch c, err := db.Checkout(ctx, id); {
		case err == nil:
			list = append(list, c)
		case !errors.Is(err, ports.ErrNotFound):
			return nil, err
		}
	}
	return list, nil
}

func (c *call) showOne(ctx context.Context, db records, found checkout.Checkout) error {
	moments, err := db.Moments(ctx, found.ID)
	if err != nil {
		return err
	}
	// The moments of the payer's pages are appended later than they happened.
	slices.SortStableFunc(moments, func(a, b checkout.Moment) int { return a.At.Compare(b.At) })
	if err := c.print(checkoutRecord(found)); err != nil {
		return err
	}
	if !c.json {
		fmt.Fprintln(c.Stdout)
	}
	var timeline []record
	for _, m := range moments {
		timeline = append(timeline, momentRecord(found.ID, m))
	}
	return c.table(timeline, "at", "kind", "actor", "detail", "request", "times")
}

func checkoutRecord(c checkout.Checkout) record {
	return record{
		{"checkout_id", "checkout", c.ID},
		{"provider_code", "provider", c.ProviderCode},
		{"provider_order_id", "order", c.OrderID},
		{"state", "state", state(c, time.Now())},
		{"ended_at", "", c.End.At},
		{"end_reason", "reason", c.End.Reason},
		{"course_name", "course", c.Intent.CourseName},
		{"agreement_number", "agreement", c.Confirmation.AgreementNumber},
		{"billing_request_id", "billing request", c.Setup.BillingRequestID},
		{"mandate_id", "", c.Setup.MandateID},
		{"mandate_status", "", string(c.Setup.Mandate)},
		{"mandate_reason", "", c.Setup.MandateReason},
		{"", "mandate", strings.TrimSpace(c.Setup.MandateID + " " + string(c.Setup.Mandate) + " " + c.Setup.MandateReason)},
	}
}

func momentRecord(checkoutID string, m checkout.Moment) record {
	r := record{
		{"checkout_id", "", checkoutID},
		{"at", "at", m.At},
		{"kind", "kind", string(m.Kind)},
		{"actor", "actor", string(m.Actor)},
		{"request_id", "request", m.RequestID},
		{"detail", "detail", m.Detail},
	}
	if m.Times > 1 {
		return append(r, field{"times", "", m.Times}, field{"", "times", fmt.Sprint("×", m.Times)})
	}
	return append(r, field{"", "times", ""})
}

// state returns the state of a checkout in words for an operator.
func state(c checkout.Checkout, now time.Time) string {
	switch {
	case c.Status == checkout.Cancelled:
		return "cancelled by the " + string(c.End.By) + toEnd(c)
	case c.Withdrawn():
		return "withdrawn, ground " + string(c.End.Ground) + toEnd(c)
	case c.Status == checkout.Confirmed && c.Setup.Mandate.Dead():
		return "confirmed; the mandate has ended: " + string(c.Setup.Mandate)
	case c.Status == checkout.Confirmed:
		return "confirmed"
	case c.Erased():
		return "erased before it was confirmed"
	case c.Status == checkout.Reserved:
		return "waits for the CRM to open it"
	case !c.Enrolled():
		return "agreed; waits for the CRM to complete it"
	case c.SetupComplete():
		return "set up; waits for the provider's confirm"
	case c.Setup.Settling():
		return "the payer is done; the processor is not"
	}
	waits := "waits for the payer"
	if c.Setup.BillingRequestID != "" {
		waits = "the payer has begun the bank setup"
	}
	if expiry := c.Newest().Expires; !now.Before(expiry) {
		waits += "; the setup link expired on " + formatTime(expiry) + ", and the provider's next create of the order renews it"
	}
	return waits
}

// toEnd says that the processor has yet to end the direct debit of a checkout that has ended.
func toEnd(c checkout.Checkout) string {
	if c.ToEnd() {
		return "; the processor has yet to cancel the direct debit"
	}
	return ""
}
