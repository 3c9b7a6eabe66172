package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/ports"
)

// deliveries is the kind of the jobs that are events.
var deliveries = []checkout.JobKind{checkout.JobDeliver}

// maxJobs is the largest number of jobs that are listed.
const maxJobs = 10_000

// listJobs prints a line for each pending job, the oldest first.
func listJobs(ctx context.Context, c *call, db records) error {
	list, err := db.Jobs(ctx, checkout.JobFilter{State: checkout.JobPending, ProviderCode: c.provider, OldestFirst: true}, maxJobs)
	if err != nil {
		return err
	}
	table := c.table("JOB\tKIND\tPROVIDER\tORDER\tSINCE\tATTEMPTS\tDUE\tLATEST FAILURE")
	for _, r := range list {
		err := table.row(toWireJob(r), r.Job.ID, string(r.Job.Kind), orDash(r.Job.ProviderCode), orDash(r.Job.OrderID), formatTime(r.Job.CreatedAt),
			strconv.Itoa(r.Attempts), formatTime(r.Due), orDash(cli.OneLine(r.Failure.Reason)))
		if err != nil {
			return err
		}
	}
	if err := table.end(); err != nil {
		return err
	}
	if len(list) == maxJobs {
		fmt.Fprintf(c.Stderr, "there may be more: these are the oldest %d\n", maxJobs)
	}
	return nil
}

// showJob prints everything on record about a job but its body.
func showJob(ctx context.Context, c *call, db records) error {
	found, err := db.Jobs(ctx, checkout.JobFilter{ID: c.Args[0]}, 1)
	switch {
	case err != nil:
		return err
	case len(found) == 0:
		return errNoJob
	case c.json:
		return jsonLines(c.Stdout).Encode(toWireJob(found[0]))
	}
	r := found[0]
	columns := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	for _, line := range [][2]string{
		{"id", r.Job.ID}, {"kind", string(r.Job.Kind)}, {"state", string(r.State)}, {"provider", orDash(r.Job.ProviderCode)},
		{"order", orDash(r.Job.OrderID)}, {"checkout", orDash(r.Job.CheckoutID)}, {"request", orDash(r.Job.RequestID)},
		{"about", orDash(r.Job.Name)}, {"created", formatTime(r.Job.CreatedAt)}, {"due", formatTime(r.Due)},
		{"attempts", strconv.Itoa(r.Attempts)}, {"failed", formatTime(r.Failure.At)}, {"reason", orDash(cli.OneLine(r.Failure.Reason))},
		{"settled", formatTime(r.SettledAt)}, {"receipt", orDash(strings.TrimSpace(cli.OneLine(r.Receipt.Reference + " " + r.Receipt.Answer)))},
	} {
		fmt.Fprintf(columns, "%s\t%s\n", line[0], line[1])
	}
	return columns.Flush()
}

var errNoJob = errors.New(`there is no such job; "jobs list" names those that wait`)

// retryJob makes a job due now.
func retryJob(ctx context.Context, c *call, _ records, operator operate.Operator) error {
	id := c.Args[0]
	err := operator.Retry(ctx, id)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return errors.New(`no such job waits; "jobs list" names those that do, and "events redeliver" sends an event that failed again`)
	case err != nil:
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, "due now:", id)
	return err
}
