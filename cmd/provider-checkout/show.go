package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/ports"
)

// show prints the state and the timeline of the checkouts that an id names: of one, unless several providers have the order.
func show(ctx context.Context, c *call, db records) error {
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
}

// named returns the checkouts with this id, agreement number or order.
func named(ctx context.Context, db records, id string) (list []checkout.Checkout, err error) {
	add := func(c checkout.Checkout, err error) error {
		if err == nil {
			list = append(list, c)
		}
		if errors.Is(err, ports.ErrNotFound) {
			return nil
		}
		return err
	}
	if err := add(db.Checkout(ctx, id)); err != nil || len(list) > 0 {
		return list, err
	}
	if strings.HasPrefix(id, "PPA-") {
		a, err := db.Agreement(ctx, id)
		if err == nil {
			return list, add(db.Checkout(ctx, a.CheckoutID))
		} else if !errors.Is(err, ports.ErrNotFound) {
			return nil, err
		}
	}
	jobs, err := db.Jobs(ctx, checkout.JobFilter{OrderID: id, OldestFirst: true}, maxJobs)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool)
	for _, j := range jobs { // every checkout has one
		if of := j.Job.CheckoutID; !seen[of] {
			seen[of] = true
			if err := add(db.Checkout(ctx, of)); err != nil {
				return nil, err
			}
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
	if c.json {
		lines := jsonLines(c.Stdout)
		if err := lines.Encode(toWireCheckout(found)); err != nil {
			return err
		}
		for _, m := range moments {
			if err := lines.Encode(toWireMoment(found.ID, m)); err != nil {
				return err
			}
		}
		return nil
	}
	columns := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"checkout", found.ID}, {"provider", found.ProviderCode}, {"order", cli.OneLine(found.OrderID)}, {"state", state(found)},
		{"course", cli.OneLine(found.Intent.CourseName)}, {"agreement", orDash(found.Confirmation.AgreementNumber)},
		{"billing request", orDash(found.Setup.BillingRequestID)},
		{"mandate", orDash(strings.TrimSpace(found.Setup.MandateID + " " + string(found.Setup.Mandate) + " " + found.Setup.MandateReason))},
	} {
		fmt.Fprintf(columns, "%s\t%s\n", line[0], line[1])
	}
	fmt.Fprintln(columns)
	for _, m := range moments {
		times := ""
		if m.Times > 1 {
			times = "×" + strconv.Itoa(m.Times)
		}
		fmt.Fprintf(columns, "%s\t%s\t%s\t%s\t%s\t%s\n", formatTime(m.At), m.Kind, m.Actor, orDash(cli.OneLine(m.Detail)), orDash(m.RequestID), times)
	}
	return columns.Flush()
}

// state returns the state of a checkout in words for an operator.
func state(c checkout.Checkout) string {
	switch {
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
	case c.Setup.BillingRequestID == "":
		return "waits for the payer"
	}
	return "the payer has begun the bank setup"
}
