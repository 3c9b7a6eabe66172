package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/rows"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// job is a job with its lease.
type job struct {
	rows.Job
	entered int64 // in the order in which the jobs entered
}

// job returns the job on record with the identity of another, or ErrNotFound.
func (s *Store) job(of checkout.Job) (*job, error) {
	return first(s.of[of.CheckoutID], "job "+of.ID, func(j *job) bool { return j.ID == of.ID })
}

// enter enters the jobs of a change, and leases the jobs that its caller attempts.
func (s *Store) enter(jobs []checkout.Job, hold time.Duration) (leases []checkout.Lease) {
	now := s.now()
	for _, given := range jobs {
		behind := given.Kind == checkout.JobDeliver && s.behind(given, jobs)
		j, err := s.job(given)
		switch {
		case err != nil:
			j = s.add(given, now)
		case given.Kind.Queued():
			continue
		default:
			j.Arm(rows.OfJob(copyOf(given), now))
		}
		for _, o := range s.of[given.CheckoutID] {
			if given.Kind == checkout.JobNotify && o.Kind == checkout.JobNotify && o.State == checkout.JobPending {
				o.DueMS = min(o.DueMS, rows.Millis(now))
			}
		}
		if hold > 0 && given.Kind.Direct() && given.Due.IsZero() && j.State == checkout.JobPending && !j.IsLeased(now) && !behind {
			leases = append(leases, j.LeaseAt(now, hold))
		}
	}
	return leases
}

// behind reports whether an event that entered earlier, and not with these jobs, is pending.
func (s *Store) behind(event checkout.Job, with []checkout.Job) bool {
	return slices.ContainsFunc(s.of[event.CheckoutID], func(o *job) bool {
		return o.Kind == checkout.JobDeliver && o.State == checkout.JobPending &&
			!slices.ContainsFunc(with, func(j checkout.Job) bool { return j.ID == o.ID })
	})
}

// add adds a job.
func (s *Store) add(given checkout.Job, now time.Time) *job {
	s.entered = max(s.entered+1, now.UnixMicro())
	j := &job{rows.OfJob(copyOf(given), now), s.entered}
	s.jobs, s.of[j.CheckoutID] = append(s.jobs, j), append(s.of[j.CheckoutID], j)
	return j
}

func (s *Store) Enqueue(ctx context.Context, jobs []checkout.Job, act *checkout.Act) (armed int, err error) {
	return read(ctx, s, func() (int, error) {
		armed, now := 0, s.now()
		for i, given := range jobs {
			given.Position = checkout.FirstPosition(given.CreatedAt) + int64(i)
			j, err := s.job(given)
			_, known := s.rows[given.CheckoutID]
			switch {
			case err == nil && (!j.Kind.Queued() || j.Retries()):
				j.Arm(rows.OfJob(copyOf(given), now))
			case given.Kind.Queued(), given.CheckoutID != "" && !known:
				continue
			default:
				s.add(given, now)
			}
			armed++
		}
		if act != nil {
			s.acts = append(s.acts, copyOf(*act))
		}
		return armed, nil
	})
}

func (s *Store) Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error) {
	return read(ctx, s, func() (leases []checkout.Lease, err error) {
		now := s.now()
		var due []*job
		for _, j := range s.jobs {
			if q.Limits[j.Kind] > 0 && !slices.Contains(q.Except, checkout.Queue{Kind: j.Kind, ProviderCode: j.ProviderCode}) && s.due(j, now) {
				due = append(due, j)
			}
		}
		slices.SortStableFunc(due, func(a, b *job) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.DueMS, b.DueMS)) })
		of := map[checkout.JobKind]int{}
		for _, j := range due {
			if of[j.Kind]++; of[j.Kind] <= q.Limits[j.Kind] {
				leases = append(leases, j.LeaseAt(now, q.For))
			}
		}
		return leases, nil
	})
}

// due reports whether the job may be leased.
func (s *Store) due(j *job, now time.Time) bool {
	late := j.DueMS > rows.Millis(now) && j.DueMS <= rows.Millis(now.Add(j.Kind.LongestPause()+checkout.MaxLease))
	if j.State != checkout.JobPending || late || j.IsLeased(now) {
		return false
	}
	return !j.Kind.Queued() || !slices.ContainsFunc(s.of[j.CheckoutID], func(o *job) bool {
		return o.Kind == j.Kind && o.State == checkout.JobPending && o.Position < j.Position
	})
}

// held calls f with the job of a lease. ErrNotFound if the lease was lost, or the job is settled.
func (s *Store) held(ctx context.Context, l checkout.Lease, f func(*job)) error {
	return s.locked(ctx, func() error {
		j, err := s.job(l.Job)
		if err != nil || j.Token != l.Token || j.State != checkout.JobPending {
			return fmt.Errorf("job %s with token %d: %w", l.Job.ID, l.Token, ports.ErrNotFound)
		}
		f(j)
		return nil
	})
}

func (s *Store) Extend(ctx context.Context, l checkout.Lease, d time.Duration) error {
	return s.held(ctx, l, func(j *job) {
		if j.LeasedUntilMS = rows.Millis(s.now().Add(d)); d == 0 {
			j.LeasedUntilMS, j.DueMS = 0, 0
		}
	})
}

func (s *Store) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	return s.held(ctx, l, func(j *job) {
		j.Attempts += o.Attempts
		j.Progress, j.LeasedUntilMS = o.Cursor, 0
		if o.Failure != (checkout.Failure{}) {
			j.Failure = copyOf(o.Failure)
		}
		switch {
		case j.Again:
			j.DueMS = 0
		case o.State == checkout.JobPending:
			j.DueMS = rows.Millis(s.now().Add(o.Pause))
		default:
			j.State, j.SettledAt = o.State, stored(s.now())
		}
		if o.State == checkout.JobDone {
			j.Receipt = o.Receipt
		}
		if r, ok := s.rows[j.CheckoutID]; ok && len(o.Moments) > 0 {
			r.note(checkout.NumberMoments(o.Moments, checkout.FirstPosition(o.Moments[0].At)))
		}
	})
}

func (s *Store) Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error) {
	after, err := rows.After(f)
	if err != nil {
		return nil, err
	}
	return read(ctx, s, func() (list []checkout.JobRecord, err error) {
		found := slices.DeleteFunc(slices.Clone(s.jobs), func(j *job) bool { return !j.admitted(f) || j.entered <= after })
		if f.After == nil {
			slices.SortStableFunc(found, func(a, b *job) int { // the newest first
				return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.Position, a.Position), cmp.Compare(b.entered, a.entered))
			})
		}
		for _, j := range found[:min(len(found), limit)] {
			r, _ := j.Record() // which parses nothing
			if f.After != nil {
				r.Cursor = checkout.Cursor(strconv.FormatInt(j.entered, 10))
			}
			list = append(list, r)
		}
		return list, nil
	})
}

// admitted reports whether the filter admits the job.
func (j *job) admitted(f checkout.JobFilter) bool {
	return (f.ID == "" || f.ID == j.ID) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, j.Kind)) &&
		(f.State == "" || f.State == j.State) &&
		(f.ProviderCode == "" || f.ProviderCode == j.ProviderCode) &&
		(f.CheckoutID == "" || f.CheckoutID == j.CheckoutID) &&
		!j.CreatedAt.Before(stored(f.Since))
}

func (s *Store) Backlog(ctx context.Context) (map[checkout.JobKind]checkout.Backlog, error) {
	all := map[checkout.JobKind]checkout.Backlog{}
	return all, s.locked(ctx, func() error {
		for _, j := range s.jobs {
			if j.State != checkout.JobPending {
				continue
			}
			b := all[j.Kind]
			if b.Waiting++; b.Waiting == 1 || j.CreatedAt.Before(b.Oldest) {
				b.Oldest = j.CreatedAt
			}
			if j.Failure != (checkout.Failure{}) {
				b.Failing++
			}
			all[j.Kind] = b
		}
		return nil
	})
}
