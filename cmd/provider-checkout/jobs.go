package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

// deliveries is the kind of the jobs that are events.
var deliveries = []checkout.JobKind{checkout.JobDeliver}

// maxJobs is the largest number of jobs that are listed.
const maxJobs = 10_000

// listJobs prints a line for each pending job, the oldest first.
func listJobs(c *call) action {
	c.listFlags()
	provider := c.flags.String("provider", "", "only those of the provider `CODE`")
	return c.onRecords(func(ctx context.Context, db records) error {
		list, more, err := findJobs(ctx, db, checkout.JobFilter{State: checkout.JobPending, ProviderCode: *provider, OldestFirst: true}, maxJobs)
		if err != nil {
			return err
		}
		var rows []record
		for _, r := range list {
			rows = append(rows, jobRecord(r))
		}
		if err := c.table(rows, "job", "kind", "provider", "order", "since", "attempts", "due", "latest failure"); err != nil {
			return err
		}
		if more {
			fmt.Fprintf(c.Stderr, "there are more: these are the oldest %d\n", maxJobs)
		}
		return nil
	})
}

// findJobs returns the first jobs that the filter admits, and whether there are more. The provider of the filter must be known.
func findJobs(ctx context.Context, db records, filter checkout.JobFilter, limit int) (list []checkout.JobRecord, more bool, err error) {
	list, err = db.Jobs(ctx, filter, limit+1)
	if err == nil && len(list) == 0 && filter.ProviderCode != "" {
		if _, err = db.Provider(ctx, filter.ProviderCode); errors.Is(err, ports.ErrNotFound) {
			err = noProvider(filter.ProviderCode)
		}
	}
	return list[:min(len(list), limit)], len(list) > limit, err
}

// jobRecord returns everything on record about a job but its body.
func jobRecord(r checkout.JobRecord) record {
	return record{
		{"job_id", "job", r.Job.ID},
		{"kind", "kind", string(r.Job.Kind)},
		{"state", "state", string(r.State)},
		{"provider_code", "provider", r.Job.ProviderCode},
		{"provider_order_id", "order", r.Job.OrderID},
		{"checkout_id", "checkout", r.Job.CheckoutID},
		{"request_id", "request", r.Job.RequestID},
		{"", "about", r.Job.Name},
		{"created_at", "since", r.Job.CreatedAt},
		{"due_at", "due", r.Due},
		{"attempts", "attempts", r.Attempts},
		{"failed_at", "failed", r.Failure.At},
		{"failure", "latest failure", r.Failure.Reason},
		{"settled_at", "settled", r.SettledAt},
		{"reference", "", r.Receipt.Reference}, // of a notice: its Message-ID
		{"answer", "", r.Receipt.Answer},
		{"", "receipt", strings.TrimSpace(r.Receipt.Reference + " " + r.Receipt.Answer)},
	}
}

// showJob prints a job.
func showJob(c *call) action {
	c.listFlags()
	return c.onRecords(func(ctx context.Context, db records) error {
		found, err := db.Jobs(ctx, checkout.JobFilter{ID: c.Args[0]}, 1)
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			return errors.New(`there is no such job; "jobs list" names those that wait`)
		}
		return c.print(jobRecord(found[0]))
	})
}

// retryJob makes a job due now.
func retryJob(c *call) action {
	c.changeFlags()
	c.jsonFlag()
	return c.operating(func(ctx context.Context, _ records, operator operate.Operator) error {
		id := c.Args[0]
		err := operator.Retry(ctx, id)
		switch {
		case errors.Is(err, ports.ErrNotFound):
			return errors.New(`no such job waits; "jobs list" names those that do, and "events redeliver" sends an event that failed again`)
		case err != nil:
			return err
		}
		if c.json {
			return c.print(record{{name: "job_id", value: id}})
		}
		_, err = fmt.Fprintln(c.Stdout, "due now:", id)
		return err
	})
}
