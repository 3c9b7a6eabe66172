package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// maxJobs is the largest number of jobs that are listed or retried.
const maxJobs = 10_000

// JobFlags select jobs.
type JobFlags struct {
	Kind     checkout.JobKind `enum:"${kinds}," default:"" placeholder:"KIND" help:"only jobs of this kind: ${kinds}"`
	Provider string           `placeholder:"CODE" help:"only jobs of the provider"`
	Since    time.Time        `type:"since" placeholder:"TIME" help:"only jobs that were made, or failed latest, at this time or later: 2026-12-01 (UTC), 2026-12-01T03:00:00+13:00, or 2h for two hours ago"`
}

// listJobs prints a line for each job that the flags select, the newest first.
type listJobs struct {
	ListFlags
	JobFlags
	State checkout.JobState `enum:"pending,done,failed" default:"pending" help:"only jobs in this state: ${enum}"`
}

func (f *listJobs) Run(ctx context.Context, c *call, db reader) error {
	list, err := f.find(ctx, db, f.State)
	if err != nil {
		return err
	}
	return table(c, first(c, maxJobs, list), jobRecord, "job", "kind", "provider", "checkout", "since", "attempts", "due", "reason")
}

// find returns the newest jobs in a state that the flags select, more than maxJobs if there are more. The provider must be known.
func (f *JobFlags) find(ctx context.Context, db records, state checkout.JobState) (list []checkout.JobRecord, err error) {
	filter := checkout.JobFilter{ProviderCode: f.Provider, Since: f.Since}
	if f.Kind != "" {
		filter.Kinds = []checkout.JobKind{f.Kind}
	}
	states := []checkout.JobState{state}
	if state == checkout.JobDone {
		states = append(states, checkout.JobDropped) // a job that was not needed is done
	}
	for _, filter.State = range states {
		found, err := db.Jobs(ctx, filter, maxJobs+1)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	if len(list) == 0 && f.Provider != "" {
		if known, err := db.Providers(ctx, f.Provider); err != nil || len(known) == 0 {
			return nil, cmp.Or(err, noProvider(f.Provider))
		}
	}
	slices.SortStableFunc(list, func(a, b checkout.JobRecord) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return list, nil
}

// jobRecord has the value of --state that selects the job, and the reason why its latest attempt failed, or why it was not needed.
func jobRecord(r checkout.JobRecord) record {
	switch {
	case r.State == checkout.JobPending && r.Due.IsZero(): // at once
		r.Due = r.CreatedAt
	case r.State == checkout.JobDropped:
		if r.State, r.Failure.Reason = checkout.JobDone, "not needed any more"; r.Kind == checkout.JobDeliver {
			r.Failure.Reason = "no destination was configured"
		}
	}
	return record{
		{"id", "job", r.Ref()},
		{"kind", "kind", string(r.Kind)},
		{"state", "state", string(r.State)},
		{"provider_code", "provider", r.ProviderCode},
		{"checkout_id", "checkout", r.CheckoutID},
		{"created_at", "since", r.CreatedAt},
		{"due_at", "due", r.Due},
		{"settled_at", "settled", r.SettledAt},
		{"attempts", "attempts", r.Attempts},
		{"reason", "reason", r.Failure.Reason},
	}
}

// showJob prints everything on record about a job but its body.
type showJob struct {
	ListFlags
	ID string `arg:""`
}

func (f *showJob) Run(ctx context.Context, c *call, db reader) error {
	r, err := jobNamed(ctx, db, f.ID)
	if err != nil {
		return err
	}
	return c.print(append(jobRecord(r), record{
		{"request_id", "request", r.RequestID},
		{"name", "about", r.Name},
		{"failed_at", "failed", r.Failure.At},
		{"receipt", "receipt", r.Receipt},
	}...))
}

// jobNamed returns the job that an operator names.
func jobNamed(ctx context.Context, db records, ref string) (checkout.JobRecord, error) {
	found, err := db.Jobs(ctx, checkout.JobByRef(ref), 1)
	if err == nil && (len(found) == 0 || found[0].Ref() != ref) {
		err = errors.New(`there is no such job; "jobs list" names jobs`)
	}
	if err != nil {
		return checkout.JobRecord{}, err
	}
	return found[0], nil
}

// retryJobs makes one job due now, or all that the flags select.
type retryJobs struct {
	ChangeFlags
	JobFlags
	State checkout.JobState `enum:"failed,pending" default:"failed" help:"only jobs in this state: ${enum}"`
	ID    string            `arg:"" optional:""`
}

// AfterApply checks that the jobs are named in one way.
func (f *retryJobs) AfterApply(c *call) error {
	selected := slices.ContainsFunc([]string{"kind", "state", "provider", "since"}, func(flag string) bool { return c.given[flag] != "" })
	if selected == (f.ID != "") {
		return errors.New("name one job, or select jobs by --kind, --state, --provider or --since")
	}
	return nil
}

func (f *retryJobs) Run(ctx context.Context, c *call, db records, operator operate.Operator) error {
	list, err := []checkout.JobRecord{{}}, error(nil)
	if f.ID != "" {
		list[0], err = jobNamed(ctx, db, f.ID)
	} else {
		list, err = f.find(ctx, db, f.State)
	}
	if err != nil {
		return err
	}
	list = first(c, maxJobs, list)
	retried, err := operator.Retry(ctx, list)
	if err != nil {
		return err
	}
	if f.ID != "" && retried == 0 {
		return errors.New("the job is done: it is neither pending nor failed")
	}
	for _, r := range list {
		if r.Retries() {
			fmt.Fprintln(c.Stdout, "due now:", r.Ref())
		}
	}
	return nil
}
