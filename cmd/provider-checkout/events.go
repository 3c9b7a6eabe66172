package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
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

// eventRecord returns what is on record about an event, without its body.
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
		log, err := db.Attempts(ctx, e.Event)
		if err != nil {
			return err
		}
		whole := eventRecord(e)
		var tries []jsonlines.Object
		for _, a := range log {
			whole = append(whole, field{label: "attempt", value: formatTime(a.At) + " " + attempted(a)})
			tries = append(tries, attemptRecord(a).object())
		}
		whole = append(whole, field{name: "attempt_log", value: tries},
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
		{name: "status", value: a.Status}, {name: "answer", value: a.Answer}, {name: "reason", value: a.Failure},
		{name: "asked_by", value: string(a.AskedBy)}}
}

// attempted describes an attempt of the log: "1, 500 "the answer" after 12 ms, asked by operator:Aroha".
func attempted(a checkout.Attempt) string {
	said := a.Failure
	if a.Status != 0 {
		said = fmt.Sprint(a.Status)
	}
	if a.Answer != "" {
		said += fmt.Sprintf(" %q", a.Answer)
	}
	said = fmt.Sprintf("%d, %s after %d ms", a.Number, said, a.Took.Milliseconds())
	if a.AskedBy != "" {
		said += ", asked by " + string(a.AskedBy)
	}
	return said
}

func unknownEvent(err error) error {
	if errors.Is(err, ports.ErrNotFound) {
		return errors.New(`there is no such event; "events list" names them`)
	}
	return err
}

const (
	// sentLimit is the time that a running server has to send events again before a command says that they are queued.
	sentLimit = 20 * time.Second
	// sentStep is the pause between two looks whether an event was sent again.
	sentStep = 100 * time.Millisecond
)

// redeliverEvents has one event sent again, or every event that failed since a time, and prints each outcome.
func redeliverEvents(c *call) action {
	c.changeFlags()
	failed := c.flags.Bool("failed", false, "send every event that failed since a time, which --since says")
	var since time.Time
	c.sinceFlag(&since, "with --failed: `TIME` since when they failed")
	provider := c.flags.String("provider", "", "with --failed: only those of the provider `CODE`")
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
	return c.operating(func(ctx context.Context, db records, operator operate.Operator) error {
		if !*failed {
			return c.redeliverEvent(ctx, db, operator, c.Args[0])
		}
		jobs, more, err := operator.RedeliverFailed(ctx, since, *provider)
		if len(jobs) == 0 && err == nil {
			fmt.Fprintln(c.Stderr, "no event failed since then, but for events that wait to be sent again")
		}
		if more {
			fmt.Fprintf(c.Stderr, "these were the oldest %d: once they are sent, run it again for the others, with --provider where another's fail again\n",
				operate.MaxRedelivered)
		}
		return errors.Join(err, c.awaitSent(ctx, db, jobs))
	})
}

// redeliverEvent has one event sent again, and prints the outcome.
func (c *call) redeliverEvent(ctx context.Context, db records, operator operate.Operator, id string) error {
	taken, err := db.Jobs(ctx, checkout.JobFilter{ID: id, Kinds: deliveries, State: checkout.JobDone}, 1)
	if err != nil {
		return err
	}
	switch job, err := operator.Redeliver(ctx, id); {
	case errors.Is(err, checkout.ErrPending):
		return c.printSent(checkout.JobRecord{Job: job}, "it is being sent, or waits to be; nothing was changed")
	case err != nil:
		return unknownEvent(err)
	default:
		if len(taken) > 0 {
			fmt.Fprintf(c.Stderr, "%s had been taken before: its receiver gets it once more\n", id)
		}
		return c.awaitSent(ctx, db, []checkout.Job{job})
	}
}

// awaitSent prints the outcome of each redelivery, and returns an error unless every event is delivered. What no server has sent when
// the time is over, or when the operator does not wait, is queued.
func (c *call) awaitSent(ctx context.Context, db records, jobs []checkout.Job) error {
	end, delivered := time.Now().Add(sentLimit), 0
	for _, j := range jobs {
		r := checkout.JobRecord{Job: j, State: checkout.JobPending}
		for again := true; again; again = r.State == checkout.JobPending && time.Now().Before(end) && cli.Sleep(ctx, sentStep) {
			found, err := db.Jobs(ctx, checkout.JobFilter{ID: j.ID, CheckoutID: j.CheckoutID}, 1)
			if err != nil && ctx.Err() == nil {
				return err
			}
			if len(found) == 1 {
				r = found[0]
			}
		}
		left := map[checkout.JobState]string{checkout.JobPending: "queued: a running server will send it",
			checkout.JobDropped: "not sent: the provider has no destination"}[r.State]
		if err := c.printSent(r, left); err != nil {
			return err
		}
		if r.State == checkout.JobDone {
			delivered++
		}
	}
	if delivered < len(jobs) {
		return fmt.Errorf("%d of %s not delivered", len(jobs)-delivered, counted(len(jobs), "event"))
	}
	return nil
}

// printSent prints the outcome of a redelivery, or why nothing was sent.
func (c *call) printSent(r checkout.JobRecord, left string) (err error) {
	said := cmp.Or(left, "delivered after "+counted(r.Attempts, "attempt"))
	if r.State == checkout.JobDead {
		said = fmt.Sprintf("failed after %s: %s", counted(r.Attempts, "attempt"), r.Failure.Reason)
	}
	if !c.json {
		_, err = fmt.Fprintf(c.Stdout, "%s %s %s %s: %s\n", r.Job.EventID(), r.Job.Name, r.Job.ProviderCode, r.Job.OrderID, said)
		return err
	}
	return jsonlines.Write(c.Stdout, record{
		{name: "event_id", value: r.Job.EventID()},
		{name: "event", value: r.Job.Name},
		{name: "provider_code", value: r.Job.ProviderCode},
		{name: "provider_order_id", value: r.Job.OrderID},
		{name: "not_sent", value: left}, // the reason
		{name: "at", value: r.SettledAt},
		{name: "delivered", value: r.State == checkout.JobDone},
		{name: "attempts", value: r.Attempts},
		{name: "reason", value: r.Failure.Reason},
	}.object())
}
