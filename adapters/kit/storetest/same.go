package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Same makes the same random calls on both stores, and reports the first difference between their answers or between
// what they have on record. Times of the stores' clocks are not compared.
func Same(t *testing.T, open, other Open) {
	rapid.Check(t, func(r *rapid.T) {
		p := pair{t.Context(), open(t), other(t), map[string]checkout.Lease{}}
		r.Repeat(map[string]func(*rapid.T){
			"insert":   p.insert,
			"update":   p.update,
			"enqueue":  p.enqueue,
			"lease":    p.lease,
			"extend":   p.extend,
			"settle":   p.settle,
			"hasten":   p.hasten,
			"record":   p.record,
			"note":     p.note,
			"erase":    p.erase,
			"replace":  p.replace,
			"add key":  p.addKey,
			"revoke":   p.revoke,
			"look up":  p.lookUp,
			"list":     p.list,
			"read all": p.export,
		})
		p.export(r)
	})
}

// pair is two stores that should not differ. There are so few ids, orders and keys that calls meet the records of
// others.
type pair struct {
	ctx  context.Context
	a    ports.Admin
	b    ports.Admin
	held map[string]checkout.Lease // the latest lease of each job
}

var errNo = errors.New("no")

// both compares what a call returns on the two stores.
func (p pair) both(r *rapid.T, call string, f func(ports.Admin) (any, error)) {
	r.Helper()
	got, err := f(p.a)
	want, wantErr := f(p.b)
	if kind(err) != kind(wantErr) || !reflect.DeepEqual(got, want) {
		r.Fatalf("%s:\none   %+v, %v\nother %+v, %v", call, got, err, want, wantErr)
	}
}

func (p pair) does(r *rapid.T, call string, f func(ports.Admin) error) {
	r.Helper()
	p.both(r, call, func(s ports.Admin) (any, error) { return nil, f(s) })
}

// kind is the meaning of an error to the service.
func kind(err error) string {
	for _, is := range []error{ports.ErrNotFound, ports.ErrDuplicate, ports.ErrBusy, errNo} {
		if errors.Is(err, is) {
			return is.Error()
		}
	}
	if err != nil {
		return "another error"
	}
	return ""
}

func few(r *rapid.T, what string) int { return rapid.IntRange(1, 5).Draw(r, what) }

func one[T any](r *rapid.T, what string, of ...T) T { return rapid.SampledFrom(of).Draw(r, what) }

func maybe(r *rapid.T, what string) bool { return rapid.Bool().Draw(r, what) }

// anyAct returns one of few acts, or nil.
func anyAct(r *rapid.T) *checkout.Act {
	if n := rapid.IntRange(0, 5).Draw(r, "operation"); n > 0 {
		return operation(n)
	}
	return nil
}

func anyEnqueue(r *rapid.T) checkout.JobEntry {
	return checkout.JobEntry{Now: now(), Hold: one(r, "hold", 0, leaseFor), Unsent: maybe(r, "unsent")}
}

func anyCheckout(r *rapid.T) checkout.Checkout {
	return ofProvider(anyProvider(r), opened(few(r, "checkout"))).Next
}

func anyMoment(r *rapid.T) checkout.Moment {
	m := moment(one(r, "kind of moment", checkout.MomentOpened, checkout.MomentRefused, checkout.MomentSetupDone), few(r, "minute"))
	m.Once, m.Times = one(r, "once", "", "refused X", "refused Y"), rapid.IntRange(0, 2).Draw(r, "times")
	return m
}

func anyMoments(r *rapid.T) []checkout.Moment {
	return rapid.SliceOfN(rapid.Custom(anyMoment), 0, 3).Draw(r, "moments")
}

// anyJob returns a job of the checkout that is due at once, or in an hour.
func anyJob(r *rapid.T, c checkout.Checkout) checkout.Job {
	j := job(c, one(r, "kind of job", checkout.JobNotify, checkout.JobLook, checkout.JobOpen, checkout.JobComplete), few(r, "job"))
	if maybe(r, "later") {
		j.CreatedAt = now()
		j.Due = j.CreatedAt.Add(time.Hour)
	}
	return j
}

// anyJobID returns the id of a job that may be on record.
func anyJobID(r *rapid.T) string {
	c := anyCheckout(r)
	return one(r, "job id", event(c, events.CheckoutCreated).ID, event(c, events.CheckoutConfirmed).ID,
		anyJob(r, c).ID, work(few(r, "work")).ID)
}

func anyProvider(r *rapid.T) string { return one(r, "provider", "KOWHAI", "RIMU") }

// anyKey is a header, or the default of any order.
func anyKey(r *rapid.T) string {
	return one(r, "key", "key-1", "key-2", checkout.DefaultKey(anyProvider(r), fmt.Sprint("order-", few(r, "order"))))
}

func (p pair) insert(r *rapid.T) {
	c, enqueue := opened(few(r, "checkout")), anyEnqueue(r)
	if maybe(r, "reserved") {
		c = reserved(few(r, "checkout"))
	}
	c.Next.OrderID = fmt.Sprint("order-", few(r, "order"))
	c = ofProvider(anyProvider(r), c)
	c.Next.IdempotencyKey = checkout.DefaultKey(c.Next.ProviderCode, c.Next.OrderID)
	if maybe(r, "header") {
		c.Next.IdempotencyKey = anyKey(r)
	}
	p.does(r, "InsertCheckout", func(s ports.Admin) error { return s.InsertCheckout(p.ctx, c, enqueue) })
}

// anyDecision returns a decision, and a word for it.
func anyDecision(r *rapid.T) (what string, decide func(checkout.Checkout) (checkout.Change, error)) {
	sequence, moments := int64(few(r, "sequence")), anyMoments(r)
	what = one(r, "what", "complete", "open", "confirm", "agree", "render", "enqueue", "remove", "refuse")
	added := anyJob(r, checkout.Checkout{})
	return what, func(c checkout.Checkout) (checkout.Change, error) {
		what := what
		done := confirmed(completed(c), sequence)
		done.Moments = moments
		if c.Status == checkout.Reserved && slices.Contains([]string{"confirm", "agree", "render"}, what) {
			what = "refuse"
		}
		switch what {
		case "complete":
			return checkout.Change{Next: completed(c), Moments: moments}, nil
		case "open":
			c.Status = checkout.SetupRequired
			return checkout.Change{Next: c, Events: []events.Event{event(c, events.CheckoutCreated)}}, nil
		case "agree":
			return checkout.Change{Next: c, Agreement: done.Agreement}, nil
		case "render":
			return checkout.Change{Next: c, Document: done.Document}, nil
		case "enqueue":
			j := job(c, added.Kind, added.Try)
			j.CreatedAt, j.Due = added.CreatedAt, added.Due
			return checkout.Change{Next: c, Jobs: []checkout.Job{j}}, nil
		case "remove":
			if c.Status != checkout.Reserved {
				return checkout.Change{}, errNo
			}
			return checkout.Change{Next: c, Remove: true}, nil
		case "refuse":
			return done, errNo
		}
		return done, nil
	}
}

func (p pair) update(r *rapid.T) {
	id, enqueue := anyCheckout(r).ID, anyEnqueue(r)
	what, decide := anyDecision(r)
	p.does(r, "UpdateCheckout to "+what, func(s ports.Admin) error { return s.UpdateCheckout(p.ctx, id, enqueue, decide) })
}

func (p pair) enqueue(r *rapid.T) {
	given := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) checkout.Job { return work(few(r, "work")) }), 0, 5).Draw(r, "jobs")
	p.both(r, "Enqueue", func(s ports.Admin) (any, error) {
		fresh, err := s.Enqueue(p.ctx, given)
		return jobIDs(fresh), err
	})
}

// lease leases every job that a query admits, or one job.
func (p pair) lease(r *rapid.T) {
	q := checkout.JobQuery{Now: now(), For: leaseFor, Limit: many, ProviderCode: one(r, "of a provider", "", anyProvider(r)),
		Kinds:  one(r, "kinds", checkout.JobKinds(), []checkout.JobKind{checkout.JobDeliver}, []checkout.JobKind{checkout.JobNotify, checkout.JobNotified}),
		Except: one(r, "but for a partition", nil, []checkout.Partition{{Kind: checkout.JobDeliver, ProviderCode: anyProvider(r)}})}
	if maybe(r, "by id") {
		q.ID, q.Kinds = anyJobID(r), checkout.JobKinds()
	}
	p.both(r, "Lease", func(s ports.Admin) (any, error) {
		list, err := s.Lease(p.ctx, q)
		slices.SortFunc(list, func(a, b checkout.Lease) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
		for i := range list {
			list[i].Until = time.Time{}
			p.held[list[i].Job.ID] = list[i]
		}
		return slices.Concat(list), err
	})
}

// anyLease returns a lease that was had, maybe with another token.
func (p pair) anyLease(r *rapid.T) checkout.Lease {
	l := checkout.Lease{Job: work(1), Token: 1}
	if ids := slices.Sorted(maps.Keys(p.held)); len(ids) > 0 {
		l = p.held[one(r, "lease", ids...)]
	}
	l.Token += one(r, "off", 0, 0, 0, 1, -1, int64(0))
	return l
}

func (p pair) extend(r *rapid.T) {
	l, d := p.anyLease(r), one(r, "extension", 0, leaseFor, time.Hour)
	p.does(r, "Extend", func(s ports.Admin) error { return s.Extend(p.ctx, l, now(), d) })
}

func (p pair) settle(r *rapid.T) {
	l, enqueue := p.anyLease(r), anyEnqueue(r)
	o := checkout.Outcome{State: one(r, "state", checkout.JobDone, checkout.JobDead, checkout.JobDropped, checkout.JobPending, checkout.JobPending),
		Attempts: rapid.IntRange(0, 2).Draw(r, "attempts"), Moments: anyMoments(r)}
	switch o.State {
	case checkout.JobDone:
		o.Receipt = one(r, "receipt", checkout.Receipt{}, checkout.Receipt{Reference: "<1@x.example>", Answer: "250 queued"})
	case checkout.JobPending:
		o.Cursor, o.Pause = one(r, "cursor", "", "so far"), one(r, "again", 0, time.Minute, time.Hour)
	}
	if maybe(r, "failed") {
		o.Failure = checkout.Failure{At: at(few(r, "when")), Reason: fmt.Sprint("answered ", 500+few(r, "reason"))}
	}
	what, decide := anyDecision(r)
	if l.Job.CheckoutID == "" || maybe(r, "alone") {
		what, decide = "nothing", nil
	}
	p.does(r, "Settle with a change to "+what, func(s ports.Admin) error { return s.Settle(p.ctx, l, o, enqueue, decide) })
}

func (p pair) hasten(r *rapid.T) {
	id, m, did := anyJobID(r), anyMoment(r), operation(few(r, "operation"))
	p.does(r, "HastenJob", func(s ports.Admin) error { return s.HastenJob(p.ctx, id, m, *did) })
}

func (p pair) record(r *rapid.T) {
	did := operation(few(r, "operation"))
	p.does(r, "RecordAct", func(s ports.Admin) error { return s.RecordAct(p.ctx, *did) })
	f := checkout.ActFilter{Subject: one(r, "subject", "", operation(few(r, "operation")).Subject),
		Since: one(r, "done since", time.Time{}, at(few(r, "minute")))}
	limit := few(r, "limit")
	p.both(r, "Acts", func(s ports.Admin) (any, error) { return nilIfEmpty(s.Acts(p.ctx, f, limit)) })
}

func (p pair) note(r *rapid.T) {
	var noted []checkout.Noted
	for _, m := range anyMoments(r) {
		noted = append(noted, notedOf(anyCheckout(r).ID, m))
	}
	p.does(r, "Note", func(s ports.Admin) error { return s.Note(p.ctx, noted) })
}

func (p pair) erase(r *rapid.T) {
	ids := ids(opened(few(r, "checkout")), opened(few(r, "checkout")))
	p.does(r, "EraseCheckouts", func(s ports.Admin) error {
		return s.EraseCheckouts(p.ctx, ids, func(found []checkout.Checkout) (checkout.Erasure, error) {
			if len(found) == 0 || slices.ContainsFunc(found, func(c checkout.Checkout) bool { return c.Erased() || !c.Enrolled() }) {
				return checkout.Erasure{}, errNo
			}
			return erasing(found)
		})
	})
	limit := few(r, "limit")
	p.both(r, "OldCheckouts", func(s ports.Admin) (any, error) {
		first, cursor, err := s.OldCheckouts(p.ctx, "", limit, at(59), at(59))
		if err != nil || cursor == "" {
			return slices.Concat(first), err
		}
		second, cursor, err := s.OldCheckouts(p.ctx, cursor, limit, at(59), at(59))
		return fmt.Sprint(first, second, cursor == ""), err
	})
}

func (p pair) replace(r *rapid.T) {
	add, did := one(r, "provider", "KOWHAI", "RIMU", "A"), anyAct(r)
	what := one(r, "what", "add", "legacy", "clear", "refuse")
	p.does(r, "ReplaceProviders", func(s ports.Admin) error {
		return s.ReplaceProviders(p.ctx, func(all []catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
			switch what {
			case "add":
				return append(all, configuration(add)), did, nil
			case "legacy":
				return append(all, legacy(add)), did, nil
			case "clear":
				return nil, did, nil
			}
			return nil, nil, errNo
		})
	})
}

func (p pair) addKey(r *rapid.T) {
	k, did := key(few(r, "id")), anyAct(r)
	k.Hash = key(few(r, "hash")).Hash
	p.does(r, "AddKey", func(s ports.Admin) error { return s.AddKey(p.ctx, k, did) })
}

func (p pair) revoke(r *rapid.T) {
	id, when, did := key(few(r, "id")).ID, at(few(r, "at")), anyAct(r)
	p.does(r, "RevokeKey", func(s ports.Admin) error { return s.RevokeKey(p.ctx, id, when, did) })
}

func (p pair) lookUp(r *rapid.T) {
	n, provider := few(r, "number"), anyProvider(r)
	c, k := ofProvider(provider, opened(n)).Next, key(n)
	a, setup := agreed(c, int64(n)), completed(c).Setup
	p.both(r, "Checkout", func(s ports.Admin) (any, error) { return s.Checkout(p.ctx, c.ID) })
	by := one(r, "reference", byOrder(provider, c.OrderID), byKey(provider, anyKey(r)), checkout.Reference{},
		checkout.Reference{BillingRequestID: setup.BillingRequestID}, checkout.Reference{MandateID: setup.MandateID})
	p.both(r, "FindCheckout", func(s ports.Admin) (any, error) { return s.FindCheckout(p.ctx, by) })
	p.both(r, "Agreement", func(s ports.Admin) (any, error) { return s.Agreement(p.ctx, a.Number) })
	p.both(r, "Document", func(s ports.Admin) (any, error) { return s.Document(p.ctx, a.Number) })
	p.both(r, "Moments", func(s ports.Admin) (any, error) { return nilIfEmpty(s.Moments(p.ctx, c.ID)) })
	p.both(r, "Key", func(s ports.Admin) (any, error) { return s.Key(p.ctx, k.Hash) })
	p.both(r, "Provider", func(s ports.Admin) (any, error) { return s.Provider(p.ctx, "KOWHAI") })
	p.both(r, "Course", func(s ports.Admin) (any, error) { return s.Course(p.ctx, provider, "NZDIP") })
}

// list reads what is to be done, and what was.
func (p pair) list(r *rapid.T) {
	f := checkout.JobFilter{State: one(r, "state", "", checkout.JobPending, checkout.JobDead, checkout.JobDone), OldestFirst: maybe(r, "the oldest first"),
		Kinds: one(r, "kinds", nil, []checkout.JobKind{checkout.JobDeliver, checkout.JobNotified}),
		Since: one(r, "since", time.Time{}, at(few(r, "minute"))), OrderID: one(r, "order", "", fmt.Sprint("order-", few(r, "number")))}
	p.both(r, "Jobs", func(s ports.Admin) (any, error) {
		list, err := s.Jobs(p.ctx, f, 1<<20)
		slices.SortFunc(list, func(a, b checkout.JobRecord) int { return cmp.Compare(a.Job.ID, b.Job.ID) })
		return timeless(checkout.CheckoutRecord{Jobs: slices.Concat(list)}), err
	})
	q := checkout.ListQuery{ProviderCode: anyProvider(r), Limit: few(r, "limit"),
		Since: one(r, "listed since", time.Time{}, at(few(r, "minute"))), OrderID: one(r, "listed order", "", fmt.Sprint("order-", few(r, "number")))}
	p.both(r, "Events", func(s ports.Admin) (any, error) {
		list, err := s.Events(p.ctx, q)
		for i := range list {
			list[i].Cursor = checkout.Cursor{} // stores have cursors of their own
		}
		return list, err
	})
	p.both(r, "Backlog", func(s ports.Admin) (any, error) {
		all, err := s.Backlog(p.ctx)
		return maps.Collect(maps.All(all)), err
	})
}

func (p pair) export(r *rapid.T) {
	p.both(r, "Export", func(s ports.Admin) (any, error) {
		var all record
		err := s.Export(p.ctx, all.collect())
		for i, c := range all.Checkouts {
			all.Checkouts[i] = timeless(c)
		}
		return all, err
	})
}
