package storetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Same makes the same random calls of two stores, and reports the first difference between their answers, or between what they have on
// record of checkouts. Times of a store's own clock are not compared.
func Same(t *testing.T, one, other Opener) {
	rapid.Check(t, func(r *rapid.T) {
		p := &pair{T: r, one: one.open(t), other: other.open(t)}
		defer p.close() // there are many of them
		r.Repeat(map[string]func(*rapid.T){
			"": p.export, "insert": p.insert, "update": p.update, "enqueue": p.enqueue, "lease": p.lease, "settle": p.settle, "wait": p.wait,
		})
	})
}

// pair is two stores that do not differ. There are so few ids, orders and keys that calls meet the records of others.
type pair struct {
	*rapid.T
	one, other *store
	had        []checkout.Lease
}

func (p *pair) close() {
	for _, s := range []*store{p.one, p.other} {
		if c, closes := s.Admin.(io.Closer); closes {
			_ = c.Close() // which the end of the test does once more
		}
	}
}

// both makes a call of both stores, and reports a difference.
func (p *pair) both(call string, f func(s *store) (any, error)) {
	got, err := f(p.one)
	want, wantErr := f(p.other)
	if a, b := answer(got, err), answer(want, wantErr); a != b {
		p.Fatalf("%s:\none   %s\nother %s", call, a, b)
	}
}

// answer returns an answer in JSON. An empty list and no list are the same, and so are errors with one meaning.
func answer(v any, err error) string {
	for _, meaning := range []error{ports.ErrNotFound, ports.ErrDuplicate, errNo} {
		if errors.Is(err, meaning) {
			return meaning.Error()
		}
	}
	text, failed := json.Marshal(v)
	return fmt.Sprint(strings.ReplaceAll(string(text), "[]", "null"), err, failed)
}

func (p *pair) few(what string) int { return rapid.IntRange(1, 4).Draw(p.T, what) }

func pick[T any](p *pair, what string, of ...T) T { return rapid.SampledFrom(of).Draw(p.T, what) }

// some returns the change of a create, and a job of its checkout or of the store.
func (p *pair) some() (checkout.Change, checkout.Job) {
	change, n := openedBy(pick(p, "provider", "KOWHAI", "RIMU"), p.few("checkout")), p.few("job")
	c := change.Next
	j := pick(p, "kind", event(c, fmt.Sprint("event ", n), n), notice(c, n), syncOf(c, n), later(syncOf(c, n), time.Minute),
		c.Job(checkout.JobEnd, "", at(n), 0))
	j.Unsent = j.Kind == checkout.JobDeliver && rapid.Bool().Draw(p.T, "unsent")
	return change, j
}

func (p *pair) insert(*rapid.T) {
	change, _ := p.some()
	change.Next.OrderID, change.Next.IdempotencyKey = fmt.Sprint("order-", p.few("order")), fmt.Sprint("key-", p.few("key"))
	hold := pick(p, "hold", 0, leaseFor)
	p.both("InsertCheckout", func(s *store) (any, error) { return s.InsertCheckout(s.Context(), change, hold) })
}

func (p *pair) update(*rapid.T) {
	of, job := p.some()
	what, number, hold, m := p.few("what"), p.few("number"), pick(p, "hold", 0, leaseFor), moment(checkout.MomentPressed, p.few("minute"))
	p.both(fmt.Sprint("UpdateCheckout ", what), func(s *store) (any, error) {
		change, leases, err := s.UpdateCheckout(s.Context(), of.Next, hold, func(c checkout.Checkout) (checkout.Change, error) {
			switch {
			case what == 1 && c.Status == checkout.SetupRequired:
				return confirmed(c, number), nil
			case what == 2 && c.Status == checkout.Confirmed:
				return erased(c), nil
			case what == 3: // refused, or left as it is
				return checkout.Change{Next: c}, map[bool]error{true: errNo}[number == 1]
			}
			return checkout.Change{At: m.At, Next: begun(c, 9), Jobs: []checkout.Job{job}, Moments: []checkout.Moment{m}}, nil
		})
		return []any{change.Next, leases}, err
	})
}

func (p *pair) enqueue(*rapid.T) {
	_, job := p.some()
	p.both("Enqueue", func(s *store) (any, error) { return s.Enqueue(s.Context(), []checkout.Job{job, pull()}, nil) })
}

func (p *pair) lease(*rapid.T) {
	q := query(pick(p, "kinds", checkout.JobKinds(), []checkout.JobKind{checkout.JobSync, checkout.JobNotify})...)
	q.Except = []checkout.Queue{{Kind: checkout.JobDeliver, ProviderCode: pick(p, "except", "", "KOWHAI", "RIMU")}}
	p.both("Lease", func(s *store) (any, error) {
		list, err := s.Lease(s.Context(), q)
		slices.SortFunc(list, func(a, b checkout.Lease) int {
			return cmp.Or(cmp.Compare(a.Job.CheckoutID, b.Job.CheckoutID), cmp.Compare(a.Job.ID, b.Job.ID))
		})
		p.had = append(p.had, list...)
		return list, err
	})
}

// settle settles, extends or gives back a lease that may be over.
func (p *pair) settle(*rapid.T) {
	l := pick(p, "lease", append(p.had, checkout.Lease{Job: pull(), Token: 1})...)
	o := checkout.Outcome{State: pick(p, "state", checkout.JobDone, checkout.JobFailed, checkout.JobPending), Receipt: "ok",
		Attempts: p.few("attempts"), Pause: pick(p, "pause", 0, time.Minute, time.Hour), Cursor: pick(p, "cursor", "", "so far"),
		Failure: pick(p, "failure", checkout.Failure{}, checkout.Failure{At: at(1), Reason: "503"}),
		Moments: []checkout.Moment{moment(checkout.MomentEventFailed, p.few("minute"))}}
	d := pick(p, "extend", -1, -1, 0, leaseFor)
	p.both("Settle or Extend", func(s *store) (any, error) {
		if d >= 0 {
			return nil, s.Extend(s.Context(), l, d)
		}
		return nil, s.Settle(s.Context(), l, o)
	})
}

// wait lets time pass, and walks over what is old.
func (p *pair) wait(*rapid.T) {
	d := pick(p, "pass", leaseFor, time.Minute, checkout.JobsKept+time.Second)
	p.both("OldCheckouts", func(s *store) (any, error) {
		s.pass(d)
		return s.walk(2, at(3), at(4), func(int) {}), nil
	})
}

// export compares what is on record. Checkouts of one time come in any order.
func (p *pair) export(*rapid.T) {
	p.both("Export", func(s *store) (any, error) {
		e := s.export("")
		slices.SortFunc(e.Checkouts, func(a, b checkout.CheckoutRecord) int { return cmp.Compare(a.Checkout.ID, b.Checkout.ID) })
		for _, c := range e.Checkouts {
			for i := range c.Jobs {
				if !p.one.setClock() || !p.other.setClock() {
					c.Jobs[i].Due, c.Jobs[i].SettledAt = time.Time{}, time.Time{}
				}
			}
		}
		return e, nil
	})
}
