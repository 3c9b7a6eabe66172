package service_test

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file makes the calls of a saga's processes fail. What becomes of a call depends on nothing but the seed, the process,
// the method, what it is about and how often it was made, so that a seed replays however goroutines are scheduled. Every
// call takes a time of its own, so that the virtual clock has them take effect in one order.

// kinds are what may become of a call, and how often, of a hundred calls.
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
	// storeHangs is how long a call of the store hangs at most, as its adapters see to.
	storeHangs = 10 * time.Second
	// mostKills and mostStops are how many processes of a saga are killed, and stopped, or it would do little else.
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
type call[T any] struct {
	name   string
	kinds  kinds
	takes  time.Duration // at most, if it is as it should be
	slow   time.Duration // at most, if it is slow
	hangs  time.Duration // at most
	effect func(context.Context) (T, error)
	half   func(context.Context) error // of the effect; nil if it has no halves

	outside bool // it is of the CRM, which may be out for a while
}

// do makes a call of a process, with whatever becomes of it.
func do[T any](ctx context.Context, p *process, c call[T]) (v T, err error) {
	switch {
	case p.killed():
		return v, errKilled
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
		return v, fmt.Errorf("%s: %w", c.name, ports.ErrBusy)
	case "broken", "outage":
		return v, fmt.Errorf("%s: %w", c.name, errBroken)
	case "slow":
		_ = s.sleep(ctx, r, between(r, 0, c.slow))
	case "hang":
		_ = s.sleep(ctx, r, c.hangs)
		return v, fmt.Errorf("%s: %w", c.name, context.DeadlineExceeded)
	case "late":
		late := fork(r)
		_ = s.sleep(ctx, r, c.hangs)
		s.work.Go(func() {
			_ = s.sleep(context.WithoutCancel(ctx), late, between(late, 0, 30*time.Second))
			_, _ = c.effect(context.WithoutCancel(ctx))
		})
		return v, unknown
	case "in part":
		if c.half != nil {
			return v, errors.Join(c.half(ctx), unknown)
		}
	}
	if err := p.running(r); err != nil {
		return v, err
	}
	v, err = c.effect(ctx)
	switch fault {
	case "stop after":
		p.stop(between(r, 5*time.Second, 40*time.Second))
	case "kill after":
		p.kill(r)
	case "lost in a hang":
		_ = s.sleep(ctx, r, c.hangs)
		return *new(T), unknown
	case "lost":
		if err == nil {
			return *new(T), unknown
		}
	}
	return v, err
}

// sagaStore is the store as one process reaches it.
type sagaStore struct {
	ports.Store
	process *process
}

func storeCall[T any](ctx context.Context, s sagaStore, of kinds, name string, effect func(context.Context) (T, error)) (T, error) {
	return do(ctx, s.process, call[T]{name: name, kinds: of, takes: 3 * time.Millisecond, slow: 3 * time.Second, hangs: storeHangs, effect: effect})
}

func (s sagaStore) write(ctx context.Context, name string, effect func(context.Context) error) error {
	_, err := storeCall(ctx, s, writeFaults, name, func(ctx context.Context) (struct{}, error) { return struct{}{}, effect(ctx) })
	return err
}

func read[T any](ctx context.Context, s sagaStore, name string, effect func(context.Context) (T, error)) (T, error) {
	return storeCall(ctx, s, readFaults, name, effect)
}

func (s sagaStore) InsertCheckout(ctx context.Context, change checkout.Change, q ports.Enqueue) error {
	committed := false
	err := s.write(ctx, "InsertCheckout "+change.Next.OrderID, func(ctx context.Context) error {
		err := s.Store.InsertCheckout(ctx, change, q)
		committed = err == nil
		return err
	})
	if committed && err == nil {
		s.process.saga.model.knows(change.Next.RequestID)
	}
	return err
}

func (s sagaStore) UpdateCheckout(ctx context.Context, id string, q ports.Enqueue,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	var was checkout.Checkout
	var change checkout.Change
	committed := false
	err := s.write(ctx, "UpdateCheckout "+id, func(ctx context.Context) error {
		err := s.Store.UpdateCheckout(ctx, id, q, func(c checkout.Checkout) (_ checkout.Change, err error) {
			was = c
			change, err = decide(c)
			return change, err
		})
		committed = err == nil
		s.process.saga.model.updated(s.process, was, change, err)
		return err
	})
	if committed && err == nil && change.Agreement != nil {
		s.process.saga.model.knows(change.Next.Confirmation.RequestID)
	}
	return err
}

func (s sagaStore) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return read(ctx, s, "Checkout "+id, func(ctx context.Context) (checkout.Checkout, error) { return s.Store.Checkout(ctx, id) })
}

func (s sagaStore) CheckoutByOrder(ctx context.Context, provider, order string) (checkout.Checkout, error) {
	return read(ctx, s, "CheckoutByOrder "+order, func(ctx context.Context) (checkout.Checkout, error) {
		return s.Store.FindCheckout(ctx, ports.Reference{ProviderCode: provider, OrderID: order})
	})
}

func (s sagaStore) CheckoutByKey(ctx context.Context, provider, key string) (checkout.Checkout, error) {
	return read(ctx, s, "CheckoutByKey "+key, func(ctx context.Context) (checkout.Checkout, error) {
		return s.Store.CheckoutByKey(ctx, provider, key)
	})
}

func (s sagaStore) DueSetups(ctx context.Context, now time.Time, limit int) ([]string, error) {
	return read(ctx, s, "DueSetups", func(ctx context.Context) ([]string, error) { return s.Store.DueSetups(ctx, now, limit) })
}

func (s sagaStore) DueSteps(ctx context.Context, now time.Time, limit int) ([]string, error) {
	return read(ctx, s, "DueSteps", func(ctx context.Context) ([]string, error) { return s.Store.DueSteps(ctx, now, limit) })
}

func (s sagaStore) Agreement(ctx context.Context, number string) (agreement.Agreement, error) {
	return read(ctx, s, "Agreement "+number, func(ctx context.Context) (agreement.Agreement, error) { return s.Store.Agreement(ctx, number) })
}

func (s sagaStore) Document(ctx context.Context, number string) (agreement.Document, error) {
	return read(ctx, s, "Document "+number, func(ctx context.Context) (agreement.Document, error) { return s.Store.Document(ctx, number) })
}

func (s sagaStore) PendingEvents(ctx context.Context, id string) ([]ports.PendingEvent, error) {
	return read(ctx, s, "PendingEvents "+id, func(ctx context.Context) ([]ports.PendingEvent, error) { return s.Store.PendingEvents(ctx, id) })
}

func (s sagaStore) LeaseEvent(ctx context.Context, id string, epoch int64, until time.Time) (int64, error) {
	return storeCall(ctx, s, writeFaults, "LeaseEvent "+id, func(ctx context.Context) (int64, error) {
		return s.Store.LeaseEvent(ctx, id, epoch, until)
	})
}

func (s sagaStore) SettleEvent(ctx context.Context, id string, epoch int64, outcome ports.Settlement) error {
	return s.write(ctx, "SettleEvent "+id, func(ctx context.Context) error {
		return s.Store.SettleEvent(ctx, id, epoch, outcome)
	})
}

func (s sagaStore) ExpiredLeases(ctx context.Context, now time.Time, perProvider int) ([]ports.ExpiredLease, error) {
	return read(ctx, s, "ExpiredLeases", func(ctx context.Context) ([]ports.ExpiredLease, error) {
		return s.Store.ExpiredLeases(ctx, now, perProvider)
	})
}

func (s sagaStore) Provider(ctx context.Context, code string) (catalogue.Provider, error) {
	return read(ctx, s, "Provider", func(ctx context.Context) (catalogue.Provider, error) { return s.Store.Provider(ctx, code) })
}

// sagaCRM is the CRM as one process reaches it. It takes no student who is called Refused, or who is refused by a rule of
// the organisation's own.
type sagaCRM struct {
	*memory.CRM
	process *process
}

func crmCall[T any](ctx context.Context, c sagaCRM, name string, k ports.EnrolmentKey, effect func(context.Context) (T, error),
	half func(context.Context) error) (T, error) {
	return do(ctx, c.process, call[T]{name: name + " " + k.OrderID, kinds: crmFaults, takes: 200 * time.Millisecond,
		slow: 10 * time.Second, hangs: time.Minute, effect: effect, half: half, outside: true})
}

func (c sagaCRM) Open(ctx context.Context, e ports.Enrolment) (checkout.Records, error) {
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
		return &ports.CRMRefusal{Code: "STRING_TOO_LONG", Faults: []checkout.Fault{{Field: "student.last_name", Message: "is too long"}}}
	case "Ruled":
		return &ports.CRMRefusal{Code: "FIELD_CUSTOM_VALIDATION_EXCEPTION", Faults: []checkout.Fault{{Field: "Rule__c"}}}
	}
	return nil
}

func (c sagaCRM) Complete(ctx context.Context, done ports.Completion) (ports.Completed, error) {
	document := c.process.saga.chance("half of "+done.OrderID).IntN(2) == 0
	return crmCall(ctx, c, "Complete", done.EnrolmentKey,
		func(ctx context.Context) (ports.Completed, error) { return c.CRM.Complete(ctx, done) },
		func(ctx context.Context) error { return c.CRM.CompleteInPart(ctx, done, document) })
}

func (c sagaCRM) Agreed(ctx context.Context, k ports.EnrolmentKey) (ports.Agreed, error) {
	return crmCall(ctx, c, "Agreed", k, func(ctx context.Context) (ports.Agreed, error) { return c.CRM.Agreed(ctx, k) }, nil)
}
