package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/ports"
)

// maxJobs is the largest number of jobs that are listed or retried.
const maxJobs = 10_000

// The states of a job in a command. The state of a job that was not needed is done.
const (
	statePending = "pending"
	stateDone    = "done"
	stateFailed  = "failed"
)

// jobFlags are the flags that select jobs.
type jobFlags struct {
	kind     checkout.JobKind
	state    string
	provider string
	since    time.Time
}

// jobFlags defines the flags that select jobs. states are the values of --state, the default first.
func (c *call) jobFlags(states ...string) *jobFlags {
	var f jobFlags
	cli.Var(c.flags, &f.kind, "kind", "", parseJobKind, "only jobs of this `KIND`, such as deliver")
	cli.Var(c.flags, &f.state, "state", states[0], oneOf(states...), "only jobs in this `"+strings.Join(states, "|")+"`")
	c.flags.StringVar(&f.provider, "provider", "", "only jobs of the provider `CODE`")
	c.sinceFlag(&f.since, "only jobs that were made, or failed latest, at this `TIME` or later")
	return &f
}

func parseJobKind(text string) (checkout.JobKind, error) {
	if kind := checkout.JobKind(text); slices.Contains(checkout.JobKinds(), kind) {
		return kind, nil
	}
	return "", fmt.Errorf("must be one of %q", checkout.JobKinds())
}

// listJobs prints a line for each job that the flags select: of pending jobs the oldest first, of others the newest first.
func listJobs(c *call) action {
	c.listFlags()
	f := c.jobFlags(statePending, stateDone, stateFailed)
	return c.onRecords(func(ctx context.Context, db records) error {
		list, more, err := f.find(ctx, db, f.state == statePending)
		if err != nil {
			return err
		}
		var rows []record
		for _, r := range list {
			rows = append(rows, jobRecord(r))
		}
		if err := c.table(rows, "job", "kind", "provider", "order", "since", "attempts", "due", "reason"); err != nil {
			return err
		}
		if more {
			fmt.Fprintf(c.Stderr, "there are more: these are %d\n", maxJobs)
		}
		return nil
	})
}

// find returns the first jobs that the flags select, and whether there are more. The provider must be known.
func (f *jobFlags) find(ctx context.Context, db records, oldestFirst bool) (list []checkout.JobRecord, more bool, err error) {
	filter := checkout.JobFilter{ProviderCode: f.provider, Since: f.since, OldestFirst: oldestFirst}
	if f.kind != "" {
		filter.Kinds = []checkout.JobKind{f.kind}
	}
	for _, filter.State = range statesOf(f.state) {
		found, err := db.Jobs(ctx, filter, maxJobs+1)
		if err != nil {
			return nil, false, err
		}
		list = append(list, found...)
	}
	if len(list) == 0 && f.provider != "" {
		if _, err := db.Provider(ctx, f.provider); errors.Is(err, ports.ErrNotFound) {
			return nil, false, noProvider(f.provider)
		}
	}
	slices.SortStableFunc(list, func(a, b checkout.JobRecord) int {
		if oldestFirst {
			return a.Job.CreatedAt.Compare(b.Job.CreatedAt)
		}
		return b.Job.CreatedAt.Compare(a.Job.CreatedAt)
	})
	return list[:min(len(list), maxJobs)], len(list) > maxJobs, nil
}

// statesOf returns the states that a value of --state selects.
func statesOf(word string) []checkout.JobState {
	switch word {
	case stateDone:
		return []checkout.JobState{checkout.JobDone, checkout.JobDropped}
	case stateFailed:
		return []checkout.JobState{checkout.JobDead}
	}
	return []checkout.JobState{checkout.JobPending}
}

// stateOf returns the value of --state that selects a job.
func stateOf(r checkout.JobRecord) string {
	for _, word := range []string{stateDone, stateFailed} {
		if slices.Contains(statesOf(word), r.State) {
			return word
		}
	}
	return statePending
}

// reasonOf returns the reason why the latest attempt at a job failed, or why the job was not needed.
func reasonOf(r checkout.JobRecord) string {
	switch {
	case r.State == checkout.JobDropped && r.Job.Kind == checkout.JobDeliver:
		return "no destination was configured"
	case r.State == checkout.JobDropped:
		return "not needed any more"
	}
	return r.Failure.Reason
}

func jobRecord(r checkout.JobRecord) record {
	return record{
		{"id", "job", r.Job.ID},
		{"kind", "kind", string(r.Job.Kind)},
		{"state", "state", stateOf(r)},
		{"provider_code", "provider", r.Job.ProviderCode},
		{"", "order", r.Job.OrderID},
		{"checkout_id", "checkout", r.Job.CheckoutID},
		{"created_at", "since", r.Job.CreatedAt},
		{"due_at", "due", r.Due},
		{"settled_at", "settled", r.SettledAt},
		{"attempts", "attempts", r.Attempts},
		{"reason", "reason", reasonOf(r)},
	}
}

// showJob prints everything on record about a job but its body.
func showJob(c *call) action {
	c.listFlags()
	return c.onRecords(func(ctx context.Context, db records) error {
		found, err := db.Jobs(ctx, checkout.JobFilter{ID: c.Args[0]}, 1)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return errors.New(`there is no such job; "jobs list" names jobs`)
		}
		r := found[0]
		return c.print(append(jobRecord(r), record{
			{"provider_order_id", "", r.Job.OrderID},
			{"request_id", "request", r.Job.RequestID},
			{"name", "about", r.Job.Name},
			{"failed_at", "failed", r.Failure.At},
			{"reference", "", r.Receipt.Reference}, // of a notice: its Message-ID
			{"answer", "", r.Receipt.Answer},
			{"", "receipt", strings.TrimSpace(r.Receipt.Reference + " " + r.Receipt.Answer)},
		}...))
	})
}

// retryJobs makes one job due now, or all that the flags select.
func retryJobs(c *call) action {
	c.changeFlags()
	c.jsonFlag()
	f := c.jobFlags(stateFailed, statePending)
	c.check = func(args []string) error {
		selected := slices.ContainsFunc([]string{"kind", "state", "provider", "since"}, c.flags.Changed)
		if selected == (len(args) == 1) {
			return cli.UsageError("name one job, or select jobs by --kind, --state, --provider or --since")
		}
		return nil
	}
	return c.operating(func(ctx context.Context, db records, operator operate.Operator) error {
		if len(c.Args) == 1 {
			err := c.retryJob(ctx, operator, c.Args[0])
			if errors.Is(err, ports.ErrNotFound) {
				err = errors.New(`no such job is pending or failed; "jobs list" names jobs`)
			}
			return err
		}
		list, more, err := f.find(ctx, db, true)
		if err != nil {
			return err
		}
		for _, r := range list {
			err := c.retryJob(ctx, operator, r.Job.ID)
			if err != nil && !errors.Is(err, ports.ErrNotFound) { // a job that was settled meanwhile is left
				return err
			}
		}
		if more {
			fmt.Fprintf(c.Stderr, "there are more: these are the oldest %d\n", maxJobs)
		}
		return nil
	})
}

// retryJob makes a job due now, and prints its id.
func (c *call) retryJob(ctx context.Context, operator operate.Operator, id string) error {
	if err := operator.Retry(ctx, id); err != nil {
		return err
	}
	if c.json {
		return c.print(record{{name: "id", value: id}})
	}
	_, err := fmt.Fprintln(c.Stdout, "due now:", id)
	return err
}
