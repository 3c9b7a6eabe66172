package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// listEvents prints one line for each event that the filter admits.
func listEvents(c *call) action {
	c.listFlags()
	filter, limit := checkout.JobFilter{Kinds: deliveries}, 0
	cli.Var(c.flags, &filter.State, "status", "", parseEventStatus, "`STATUS`: pending, delivered, failed or not_configured")
	c.flags.StringVar(&filter.ProviderCode, "provider", "", "provider `CODE`")
	c.flags.StringVar(&filter.OrderID, "order", "", "the provider's `ID` of the order")
	c.flags.StringVar(&filter.CheckoutID, "checkout", "", "`ID` of the checkout")
	c.sinceFlag(&filter.Since, "made, or failed, at this `TIME` or later")
	cli.Var(c.flags, &limit, "limit", "50", parseLimit, "`NUMBER` of events at most")
	return c.onRecords(func(ctx context.Context, db records) error {
		list, more, err := findJobs(ctx, db, filter, limit)
		if err != nil {
			return err
		}
		var rows []record
		for _, j := range list {
			rows = append(rows, eventRecord(checkout.EventOf(j)))
		}
		if err := c.table(rows, "id", "event", "provider", "order", "status", "attempts", "created", "failed", "reason"); err != nil {
			return err
		}
		if more {
			fmt.Fprintf(c.Stderr, "there are more: these are the newest %d; --limit says how many\n", limit)
		}
		return nil
	})
}

// eventRecord returns what is on record about an event, without its redeliveries and its body.
func eventRecord(e checkout.EventRecord) record {
	return record{
		{"event_id", "id", e.Event.ID},
		{"event", "event", string(e.Event.Name)},
		{"provider_code", "provider", e.Event.ProviderCode},
		{"provider_order_id", "order", e.Event.OrderID},
		{"checkout_id", "checkout", e.Event.CheckoutID},
		{"request_id", "request", e.Event.RequestID},
		{"created_at", "created", e.Event.CreatedAt},
		{"status", "status", string(e.Status)},
		{"attempts", "attempts", e.Attempts},
		{"failed_at", "failed", e.Failure.At},
		{"reason", "reason", e.Failure.Reason},
	}
}

// redeliveryRecord returns the outcome of a redelivery.
func redeliveryRecord(r checkout.Redelivery) record {
	return record{{name: "at", value: r.At}, {name: "delivered", value: r.Delivered}, {name: "attempts", value: r.Attempts},
		{name: "reason", value: r.Failure}}
}

// showEvent prints everything on record about one event.
func showEvent(c *call) action {
	c.listFlags()
	return c.onRecords(func(ctx context.Context, db records) error {
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
		log, err := db.Attempts(ctx, e.Event)
		if err != nil {
			return err
		}
		whole := eventRecord(e)
		var tries, objects []jsonlines.Object
		for _, a := range log {
			whole = append(whole, field{label: "attempt", value: formatTime(a.At) + " " + attempted(a)})
			tries = append(tries, attemptRecord(a).object())
		}
		for _, r := range again {
			whole = append(whole, field{label: "redelivery", value: formatTime(r.At) + " " + outcome(r)})
			objects = append(objects, redeliveryRecord(r).object())
		}
		whole = append(whole, field{name: "attempt_log", value: tries}, field{name: "redeliveries", value: objects},
			field{name: "body", value: string(e.Event.Body)}) // as it is signed and sent
		if err := c.print(whole); err != nil || c.json {
			return err
		}
		_, err = fmt.Fprintf(c.Stdout, "body\n%s\n", e.Event.Body)
		return err
	})
}

// attemptRecord returns an attempt of the log.
func attemptRecord(a checkout.Attempt) record {
	return record{{name: "at", value: a.At}, {name: "attempt", value: a.Number}, {name: "took_ms", value: int(a.Took.Milliseconds())},
		{name: "status", value: a.Status}, {name: "answer", value: a.Answer}, {name: "reason", value: a.Failure}}
}

// attempted describes an attempt of the log: "1, 500 "the answer" after 12 ms".
func attempted(a checkout.Attempt) string {
	said := a.Failure
	if a.Status != 0 {
		said = fmt.Sprint(a.Status)
	}
	if a.Answer != "" {
		said += fmt.Sprintf(" %q", a.Answer)
	}
	return fmt.Sprintf("%d, %s after %d ms", a.Number, said, a.Took.Milliseconds())
}

func unknownEvent(err error) error {
	if errors.Is(err, ports.ErrNotFound) {
		return errors.New(`there is no such event; "events list" names them`)
	}
	return err
}

// outcome describes the outcome of a redelivery.
func outcome(r checkout.Redelivery) string {
	if r.Delivered {
		return "delivered after " + counted(r.Attempts, "attempt")
	}
	return fmt.Sprintf("failed after %s: %s", counted(r.Attempts, "attempt"), r.Failure)
}

// redeliverEvents sends one event again, or every event that failed since a time, and prints each outcome.
func redeliverEvents(c *call) action {
	c.changeFlags()
	failed := c.flags.Bool("failed", false, "send every event that failed since a time, which --since says")
	var since time.Time
	c.sinceFlag(&since, "with --failed: `TIME` since when they failed")
	provider := c.flags.String("provider", "", "with --failed: only those of the provider `CODE`")
	var allowPrivate bool
	c.allowPrivateFlag(&allowPrivate)
	c.flags.AllowVariable("allow-private-destinations")
	c.jsonFlag()
	c.check = func(args []string) error {
		switch {
		case *failed == (len(args) == 1):
			return cli.UsageError("name one event, or give --failed with --since TIME")
		case *failed == since.IsZero():
			return cli.UsageError("--failed and --since TIME belong together")
		}
		return nil
	}
	return c.operating(func(ctx context.Context, _ records, operator operate.Operator) error {
		asked, delivered := 0, 0
		var printed error
		each := func(result operate.Redelivered) {
			asked++
			if result.Outcome.Delivered {
				delivered++
			}
			printed = errors.Join(printed, c.printResult(result))
		}
		if *failed {
			more, err := operator.RedeliverFailed(ctx, since, *provider, redeliverySender(allowPrivate), each)
			if err != nil {
				return err
			}
			if asked == 0 {
				fmt.Fprintln(c.Stderr, "no event failed since then")
			}
			if more {
				fmt.Fprintf(c.Stderr, "these were the oldest %d: run it again for those after them, with --provider where another's fail again\n", operate.MaxRedelivered)
			}
		} else if err := operator.Redeliver(ctx, c.Args[0], redeliverySender(allowPrivate), each); err != nil {
			return unknownEvent(err)
		}
		if delivered < asked {
			return fmt.Errorf("%d of %s not delivered", asked-delivered, counted(asked, "event"))
		}
		return printed
	})
}

// redeliverySender returns the senders of redeliveries: private addresses are for sandboxes, whatever the flag says.
func redeliverySender(allowPrivate bool) func(catalogue.Environment) ports.Sender {
	strict, asAsked := webhook.New(webhook.Options{}), webhook.New(webhook.Options{AllowPrivate: allowPrivate})
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
		err = jsonlines.Write(c.Stdout, append(record{
			{name: "event_id", value: r.Event.ID},
			{name: "event", value: string(r.Event.Name)},
			{name: "provider_code", value: r.Event.ProviderCode},
			{name: "provider_order_id", value: r.Event.OrderID},
			{name: "not_sent", value: r.Left}, // the reason
		}, redeliveryRecord(r.Outcome)...).object())
	} else {
		_, err = fmt.Fprintf(c.Stdout, "%s %s %s %s: %s\n", r.Event.ID, r.Event.Name, r.Event.ProviderCode, r.Event.OrderID, said)
	}
	if r.Was == events.Delivered && r.Outcome.Attempts > 0 {
		fmt.Fprintf(c.Stderr, "%s had been taken before: its receiver got it once more\n", r.Event.ID)
	}
	return err
}
