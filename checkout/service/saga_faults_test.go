package service_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file makes the calls of a saga's processes fail. What becomes of a call depends on nothing but the seed, the process,
// the method, what it is about and how often it was made, so that a seed replays however goroutines are scheduled. Every
// call takes a time of its own, so that the virtual clock has them take effect in one order.

// kinds are the faults that a call may meet, and how many of a hundred calls meet each.
type kinds []struct {
	name  string
	share int
}

var (
	readFaults  = kinds{{"busy", 7}, {"broken", 6}, {"slow", 7}, {"hang", 3}}
	writeFaults = kinds{{"busy", 5}, {"broken", 4}, {"slow", 4}, {"hang", 2}, {"lost", 9}, {"stop", 1}, {"stop after", 2}, {"kill", 1}, {"kill after", 2}}
	crmFaults   = kinds{{"busy", 5}, {"broken", 6}, {"slow", 7}, {"hang", 6}, {"lost", 7}, {"lost in a hang", 6}, {"late", 7},
		{"in part", 6}, {"stop", 2}, {"stop after", 3}, {"kill", 2}, {"kill after", 3}}
)

const (
	// storeHangs is the longest time that a call of the store hangs, as its adapters see to.
	storeHangs = 10 * time.Second
	// mostKills and mostStops limit the processes of a saga that are killed, and stopped, or it would do little else.
	mostKills, mostStops = 3, 3
)

var errKilled = errors.New("the process was killed")

// chance returns a generator for the next draw for a purpose.
func (s *saga) chance(what string) *rand.Rand {
	s.mu.Lock()
	n := s.draws[what]
	s.draws[what]++
	s.mu.Unlock()
	return rand.New(rand.NewPCG(s.seed*0x9e3779b97f4a7c15, hashOf(what, strconv.Itoa(n))))
}

// isOut reports whether the CRM is out now.
func (s *saga) isOut() bool { return !time.Now().Before(s.out) && time.Now().Before(s.back) }

func hashOf(texts ...string) uint64 {
	h := fnv.New64a()
	for _, text := range texts {
		_, _ = io.WriteString(h, text)
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}

// fault draws what becomes of a call: "" if it is as it should be.
func (s *saga) fault(r *rand.Rand, of kinds) string {
	n := r.IntN(100)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen["calls"]++
	for _, k := range of {
		if n -= k.share; n >= 0 {
			continue
		}
		switch k.name {
		case "kill", "kill after":
			if s.kills++; s.kills > mostKills {
				return ""
			}
		case "stop", "stop after":
			if s.stops++; s.stops > mostStops {
				return ""
			}
		}
		s.seen["faults"]++
		s.seen[k.name]++
		return k.name
	}
	return ""
}

func (s *saga) isCalm() bool {
	now := time.Now()
	return now.Before(s.storm) || !now.Before(s.calm)
}

// sleep waits for a time that ends with the faults: a moment later, which differs for every call.
func (s *saga) sleep(ctx context.Context, r *rand.Rand, d time.Duration) error {
	t := time.NewTimer(min(d, time.Until(s.calm)+between(r, 0, time.Millisecond)))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fork returns a generator for another goroutine.
func fork(r *rand.Rand) *rand.Rand { return rand.New(rand.NewPCG(r.Uint64(), r.Uint64())) }

func between(r *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(r.Int64N(int64(high-low)))
}

// call is a call of the store or of the CRM.
type call struct {
	name   string
	kinds  kinds
	takes  time.Duration // at most, if it is as it should be
	slow   time.Duration // at most, if it is slow
	hangs  time.Duration // at most
	effect func(context.Context) error
	half   func(context.Context) error // of the effect; nil if it has no halves

	outside bool // it is of the CRM, which may be out for a while
}

// do makes a call of a process, with whatever becomes of it.
func (p *process) do(ctx context.Context, c call) (err error) {
	switch {
	case p.killed():
		return errKilled
	case p.saga.isCalm():
		return c.effect(ctx)
	}
	s, r := p.saga, p.saga.chance(p.name+" "+c.name)
	fault := s.fault(r, c.kinds)
	if fault == "" && c.outside && s.isOut() {
		fault = "outage"
		s.saw(fault)
		s.saw("faults")
	}
	defer func() {
		if killed := p.running(r); killed != nil {
			err = killed
			return
		}
		s.trace(p.name, c.name, fault, fmt.Sprint(err == nil))
	}()
	time.Sleep(between(r, time.Microsecond, c.takes))
	unknown := [2]error{fmt.Errorf("%s: %w", c.name, errBroken), fmt.Errorf("%s: %w", c.name, context.DeadlineExceeded)}[r.IntN(2)]
	switch fault {
	case "stop":
		p.stop(between(r, 5*time.Second, 40*time.Second))
	case "kill":
		p.kill(r)
	case "busy":
		return fmt.Errorf("%s: %w", c.name, ports.ErrBusy)
	case "broken", "outage":
		return fmt.Errorf("%s: %w", c.name, errBroken)
	case "slow":
		_ = s.sleep(ctx, r, between(r, 0, c.slow))
	case "hang":
		_ = s.sleep(ctx, r, c.hangs)
		return fmt.Errorf("%s: %w", c.name, context.DeadlineExceeded)
	case "late":
		late := fork(r)
		_ = s.sleep(ctx, r, c.hangs)
		s.work.Go(func() {
			_ = s.sleep(context.WithoutCancel(ctx), late, between(late, 0, 30*time.Second))
			_ = c.effect(context.WithoutCancel(ctx))
		})
		return unknown
	case "in part":
		if c.half != nil {
			return errors.Join(c.half(ctx), unknown)
		}
	}
	if err := p.running(r); err != nil {
		return err
	}
	err = c.effect(ctx)
	switch fault {
	case "stop after":
		p.stop(between(r, 5*time.Second, 40*time.Second))
	case "kill after":
		p.kill(r)
	case "lost in a hang":
		_ = s.sleep(ctx, r, c.hangs)
		return unknown
	case "lost":
		if err == nil {
			return unknown
		}
	}
	return err
}

// sagaWrites are the methods of the store that write.
var sagaWrites = []string{"InsertCheckout", "UpdateCheckout", "Enqueue", "Lease", "Extend", "Settle", "Note"}

// sagaStore is the store as one process reaches it.
type sagaStore struct {
	disturbed
	process *process
}

func (s *saga) storeOf(p *process) sagaStore {
	return sagaStore{process: p, disturbed: disturbed{judgedStore{s.store, p},
		func(ctx context.Context, method, about string, effect func(context.Context) error) error {
			c := call{name: method + " " + about, kinds: readFaults, takes: 3 * time.Millisecond, slow: 3 * time.Second, hangs: storeHangs, effect: effect}
			if slices.Contains(sagaWrites, method) {
				c.kinds = writeFaults
			}
			return p.do(ctx, c)
		}}}
}

func (s sagaStore) InsertCheckout(ctx context.Context, change checkout.Change, q checkout.JobEntry) error {
	err := s.disturbed.InsertCheckout(ctx, change, q)
	if err == nil {
		s.process.saga.model.knows(change.Next.RequestID)
	}
	return err
}

func (s sagaStore) UpdateCheckout(ctx context.Context, id string, q checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	var change checkout.Change
	err := s.disturbed.UpdateCheckout(ctx, id, q, noted(&change, decide))
	if err == nil && change.Agreement != nil {
		s.process.saga.model.knows(change.Next.Confirmation.RequestID)
	}
	return err
}

// noted has the change that decide makes last noted.
func noted(change *checkout.Change, decide func(checkout.Checkout) (checkout.Change, error)) func(checkout.Checkout) (checkout.Change, error) {
	if decide == nil {
		return nil
	}
	return func(c checkout.Checkout) (_ checkout.Change, err error) {
		*change, err = decide(c)
		return *change, err
	}
}

// judgedStore is the store with the model, which judges the effect of every call that has to do with leases.
type judgedStore struct {
	ports.Store
	process *process
}

func (s judgedStore) InsertCheckout(ctx context.Context, change checkout.Change, q checkout.JobEntry) error {
	return s.process.saga.model.stores(s.process, nil, checkout.Outcome{}, &change, q, func() error { return s.Store.InsertCheckout(ctx, change, q) })
}

func (s judgedStore) UpdateCheckout(ctx context.Context, id string, q checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	var change checkout.Change
	return s.process.saga.model.stores(s.process, nil, checkout.Outcome{}, &change, q, func() error {
		return s.Store.UpdateCheckout(ctx, id, q, noted(&change, decide))
	})
}

func (s judgedStore) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, q checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	var change checkout.Change
	return s.process.saga.model.stores(s.process, &l, o, &change, q, func() error {
		return s.Store.Settle(ctx, l, o, q, noted(&change, decide))
	})
}

func (s judgedStore) Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error) {
	return s.process.saga.model.leases(s.process, func() ([]checkout.Lease, error) { return s.Store.Lease(ctx, q) })
}

func (s judgedStore) Extend(ctx context.Context, l checkout.Lease, now time.Time, d time.Duration) error {
	return s.process.saga.model.extends(s.process, l, now, d, func() error { return s.Store.Extend(ctx, l, now, d) })
}

// sagaCRM is the CRM as one process reaches it. It takes no student who is called Refused, or who is refused by a rule of
// the organisation's own.
type sagaCRM struct {
	*memory.CRM
	process *process
}

func crmCall[T any](ctx context.Context, c sagaCRM, name string, k checkout.EnrolmentKey, effect func(context.Context) (T, error),
	half func(context.Context) error) (T, error) {
	var got T
	err := c.process.do(ctx, call{name: name + " " + k.OrderID, kinds: crmFaults, takes: 200 * time.Millisecond,
		slow: 10 * time.Second, hangs: time.Minute, half: half, outside: true,
		effect: func(ctx context.Context) (err error) { got, err = effect(ctx); return err }})
	if err != nil {
		return *new(T), err
	}
	return got, nil
}

func (c sagaCRM) Open(ctx context.Context, e checkout.Enrolment) (checkout.Records, error) {
	return crmCall(ctx, c, "Open", e.EnrolmentKey, func(ctx context.Context) (checkout.Records, error) {
		if refusal := refusalBy(e.Student); refusal != nil {
			return checkout.Records{}, refusal
		}
		return c.CRM.Open(ctx, e)
	}, nil)
}

// refusalBy returns how the CRM refuses a student, or nil.
func refusalBy(s checkout.Student) error {
	switch s.LastName {
	case "Refused":
		return &checkout.CRMRefusal{Code: "STRING_TOO_LONG", Faults: []checkout.Fault{{Field: "student.last_name", Message: "is too long"}}}
	case "Ruled":
		return &checkout.CRMRefusal{Code: "FIELD_CUSTOM_VALIDATION_EXCEPTION", Faults: []checkout.Fault{{Field: "Rule__c"}}}
	}
	return nil
}

func (c sagaCRM) Complete(ctx context.Context, done checkout.Completion) (checkout.Completed, error) {
	document := c.process.saga.chance("half of "+done.OrderID).IntN(2) == 0
	return crmCall(ctx, c, "Complete", done.EnrolmentKey,
		func(ctx context.Context) (checkout.Completed, error) { return c.CRM.Complete(ctx, done) },
		func(ctx context.Context) error { return c.CRM.CompleteInPart(ctx, done, document) })
}

func (c sagaCRM) Agreed(ctx context.Context, k checkout.EnrolmentKey) (checkout.Agreed, error) {
	return crmCall(ctx, c, "Agreed", k, func(ctx context.Context) (checkout.Agreed, error) { return c.CRM.Agreed(ctx, k) }, nil)
}
