package service_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// crm is a CRM in memory whose calls the test disturbs.
type crm struct {
	*memory.CRM
	mu     sync.Mutex
	calls  []string                        // Open, Complete and Agreed, in their order
	before func(ctx context.Context) error // what happens to a call before its effect; nil for nothing
	after  func(ctx context.Context) error // and after it
}

// withCRM returns a CRM, and a change that has the service use it.
func withCRM() (*crm, func(*service.Config)) {
	c := &crm{CRM: memory.NewCRM(catalogue.Sandbox)}
	return c, c.use
}

// use has a service use the CRM.
func (c *crm) use(config *service.Config) { config.CRM = c }

// inWorldWithCRM is inWorld with a CRM outside of the store.
func inWorldWithCRM(t *testing.T, test func(*testing.T, *world, *crm)) {
	t.Helper()
	c, change := withCRM()
	inWorld(t, func(t *testing.T, w *world) { test(t, w, c) }, change)
}

// disturb sets what happens to calls before and after their effect, from now on.
func (c *crm) disturb(before, after func(context.Context) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.before, c.after = before, after
}

func (c *crm) call(ctx context.Context, name string, effect func() error) error {
	c.mu.Lock()
	c.calls = append(c.calls, name)
	before, after := c.before, c.after
	c.mu.Unlock()
	if before != nil {
		if err := before(ctx); err != nil {
			return err
		}
	}
	if err := effect(); err != nil || after == nil {
		return err
	}
	return after(ctx)
}

func (c *crm) made() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

func (c *crm) Open(ctx context.Context, e checkout.Enrolment) (records checkout.Records, err error) {
	err = c.call(ctx, "Open", func() (err error) { records, err = c.CRM.Open(ctx, e); return err })
	return records, err
}

func (c *crm) Complete(ctx context.Context, done checkout.Completion) (completed checkout.Completed, err error) {
	err = c.call(ctx, "Complete", func() (err error) { completed, err = c.CRM.Complete(ctx, done); return err })
	return completed, err
}

func (c *crm) UpdateAuthority(ctx context.Context, u checkout.AuthorityUpdate) error {
	return c.call(ctx, "UpdateAuthority", func() error { return c.CRM.UpdateAuthority(ctx, u) })
}

func (c *crm) End(ctx context.Context, e checkout.Ending) error {
	return c.call(ctx, "End", func() error { return c.CRM.End(ctx, e) })
}

func (c *crm) Agreed(ctx context.Context, k checkout.EnrolmentKey) (agreed checkout.Agreed, err error) {
	err = c.call(ctx, "Agreed", func() (err error) { agreed, err = c.CRM.Agreed(ctx, k); return err })
	return agreed, err
}

func (c *crm) Ready(ctx context.Context) error {
	return c.call(ctx, "Ready", func() error { return nil })
}

// hangs has a call hang until its time is over.
func hangs(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

var errLostAnswer = errors.New("the connection was reset")

func fails(context.Context) error { return errLostAnswer }

// once has the next call end as f says, and all others undisturbed.
func once(f func(context.Context) error) func(context.Context) error {
	var mu sync.Mutex
	done := false
	return func(ctx context.Context) error {
		mu.Lock()
		was := done
		done = true
		mu.Unlock()
		if was {
			return nil
		}
		return f(ctx)
	}
}

// lone returns the only checkout on record and the only enrolment in the CRM, and reports if there are others.
func (c *crm) lone(t *testing.T, w *world) (checkout.CheckoutRecord, memory.CRMEnrolment) {
	t.Helper()
	records, enrolments := w.records(t), c.Enrolments()
	if len(records) != 1 || len(enrolments) != 1 {
		t.Fatalf("%d checkouts on record and %d enrolments in the CRM, want one of each", len(records), len(enrolments))
	}
	for _, r := range records {
		return r, enrolments[0]
	}
	panic("unreachable")
}

// took returns how long f takes.
func took(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}
