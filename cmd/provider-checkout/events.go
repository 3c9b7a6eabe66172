package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// listEvents prints one line for each event that the filter admits.
func listEvents(ctx context.Context, c *call, db records) error {
	list, err := db.Jobs(ctx, c.eventFilter, c.limit+1)
	if err != nil {
		return err
	}
	more := len(list) > c.limit
	list = list[:min(len(list), c.limit)]
	table := c.table("ID\tEVENT\tPROVIDER\tORDER\tSTATUS\tATTEMPTS\tCREATED\tFAILED\tREASON")
	for _, j := range list {
		e := checkout.EventOf(j)
		err := table.row(toWireEvent(e), e.Event.ID, string(e.Event.Name), e.Event.ProviderCode, e.Event.OrderID, string(e.Status),
			strconv.Itoa(e.Attempts), formatTime(e.Event.CreatedAt), formatTime(e.Failure.At), orDash(e.Failure.Reason))
		if err != nil {
			return err
		}
	}
	if err := table.end(); err != nil {
		return err
	}
	if more {
		fmt.Fprintf(c.Stderr, "there are more: these are the newest %d; --limit says how many\n", c.limit)
	}
	return nil
}

// showEvent prints everything on record about one event.
func showEvent(ctx context.Context, c *call, db records) error {
	found, err := db.Jobs(ctx, checkout.JobFilter{ID: c.Args[0], Kinds: deliveries}, 1)
	if err != nil {
		return err
	} else if len(found) == 0 {
		return unknownEvent(ports.ErrNotFound)
	}
	e := checkout.EventOf(found[0])
	again, err := db.Redeliveries(ctx, e.Event.ID)
	if err != nil {
		return err
	}
	if c.json {
		return jsonLines(c.Stdout).Encode(toWireWholeEvent(e, again))
	}
	table := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"id", e.Event.ID}, {"event", string(e.Event.Name)}, {"provider", e.Event.ProviderCode}, {"order", e.Event.OrderID},
		{"checkout", e.Event.CheckoutID}, {"request", orDash(e.Event.RequestID)}, {"created", formatTime(e.Event.CreatedAt)},
		{"status", string(e.Status)}, {"attempts", fmt.Sprint(e.Attempts)},
		{"failed", formatTime(e.Failure.At)}, {"reason", orDash(e.Failure.Reason)},
	} {
		fmt.Fprintf(table, "%s\t%s\n", line[0], line[1])
	}
	for _, r := range again {
		fmt.Fprintf(table, "redelivery\t%s %s\n", formatTime(r.At), outcome(r))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Stdout, "body\n%s\n", e.Event.Body)
	return err
}

func unknownEvent(err error) error {
	if errors.Is(err, ports.ErrNotFound) {
		return errors.New(`there is no such event; "events list" names them`)
	}
	return err
}

// outcome describes the outcome of a redelivery.
func outcome(r checkout.Redelivery) string {
	attempts := fmt.Sprintf("%d attempts", r.Attempts)
	if r.Attempts == 1 {
		attempts = "1 attempt"
	}
	if r.Delivered {
		return "delivered after " + attempts
	}
	return fmt.Sprintf("failed after %s: %s", attempts, r.Failure)
}

// checkRedeliver checks that the command names one event, or a time since which events failed.
func (s *settings) checkRedeliver(args []string) error {
	if s.failed == (len(args) == 1) {
		return cli.UsageError("name one event, or give --failed with --since TIME")
	}
	if s.failed == s.eventFilter.Since.IsZero() {
		return cli.UsageError("--failed and --since TIME belong together")
	}
	return nil
}

// redeliverEvents sends one event again, or every event that failed since a time, and prints each outcome.
func redeliverEvents(ctx context.Context, c *call, _ records, operator operate.Operator) error {
	asked, delivered := 0, 0
	var printed error
	each := func(result operate.Redelivered) {
		asked++
		if result.Outcome.Delivered {
			delivered++
		}
		printed = errors.Join(printed, c.printResult(result))
	}
	if c.failed {
		more, err := operator.RedeliverFailed(ctx, c.eventFilter.Since, c.provider, c.redeliverySender(), each)
		if err != nil {
			return err
		}
		if asked == 0 {
			fmt.Fprintln(c.Stderr, "no event failed since then")
		}
		if more {
			fmt.Fprintf(c.Stderr, "these were the oldest %d: run it again for those after them, with --provider where another's fail again\n", operate.MaxRedelivered)
		}
	} else if err := operator.Redeliver(ctx, c.Args[0], c.redeliverySender(), each); err != nil {
		return unknownEvent(err)
	}
	if delivered < asked {
		return fmt.Errorf("%d of %d events were not delivered", asked-delivered, asked)
	}
	return printed
}

// redeliverySender returns the senders of redeliveries: private addresses are for sandboxes, whatever the flag says.
func (c *call) redeliverySender() func(catalogue.Environment) ports.Sender {
	strict, asAsked := webhook.New(webhook.Options{}), webhook.New(webhook.Options{AllowPrivate: c.allowPrivate})
	return func(env catalogue.Environment) ports.Sender {
		if env == catalogue.Sandbox {
			return asAsked
		}
		return strict
	}
}

func (c *call) printResult(r operate.Redelivered) (err error) {
	said := outcome(r.Outcome)
	if r.Left != "" {
		said = "not sent: " + r.Left
	}
	if c.json {
		err = jsonLines(c.Stdout).Encode(toWireResult(r))
	} else {
		_, err = fmt.Fprintf(c.Stdout, "%s %s %s %s: %s\n", r.Event.ID, r.Event.Name, r.Event.ProviderCode, r.Event.OrderID, said)
	}
	if r.Was == events.Delivered && r.Outcome.Attempts > 0 {
		fmt.Fprintf(c.Stderr, "%s had been taken before: its receiver got it once more\n", r.Event.ID)
	}
	return err
}
