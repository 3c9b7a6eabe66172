package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// through passes a call of a store on, or not, and returns its own error.
type through func(ctx context.Context, method string, call func(context.Context) error) error

// disturbed is a store each of whose calls passes through a function.
type disturbed struct {
	ports.Store
	through through
}

// disturbing returns a change that has the service use its store through a function.
func disturbing(f through) func(*service.Config) {
	return func(c *service.Config) { c.Store = disturbed{c.Store, f} }
}

// result makes a call that returns a value: the zero value with an error.
func result[T any](ctx context.Context, s disturbed, method string, call func(context.Context) (T, error)) (got T, err error) {
	if err := s.through(ctx, method, func(ctx context.Context) (err error) { got, err = call(ctx); return err }); err != nil {
		return *new(T), err
	}
	return got, nil
}

func (s disturbed) Ready(ctx context.Context) error { return s.through(ctx, "Ready", s.Store.Ready) }

func (s disturbed) InsertCheckout(ctx context.Context, c checkout.Change, hold time.Duration) ([]checkout.Lease, error) {
	return result(ctx, s, "InsertCheckout", func(ctx context.Context) ([]checkout.Lease, error) { return s.Store.InsertCheckout(ctx, c, hold) })
}

func (s disturbed) UpdateCheckout(ctx context.Context, known checkout.Checkout, hold time.Duration,
	decide ports.Decide) (change checkout.Change, leases []checkout.Lease, err error) {
	err = s.through(ctx, "UpdateCheckout", func(ctx context.Context) (err error) {
		change, leases, err = s.Store.UpdateCheckout(ctx, known, hold, decide)
		return err
	})
	return change, leases, err
}

func (s disturbed) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return result(ctx, s, "Checkout", func(ctx context.Context) (checkout.Checkout, error) { return s.Store.Checkout(ctx, id) })
}

func (s disturbed) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	return result(ctx, s, "FindCheckout", func(ctx context.Context) (checkout.Checkout, error) { return s.Store.FindCheckout(ctx, by) })
}

func (s disturbed) Agreement(ctx context.Context, id string) (agreement.Agreement, error) {
	return result(ctx, s, "Agreement", func(ctx context.Context) (agreement.Agreement, error) { return s.Store.Agreement(ctx, id) })
}

func (s disturbed) Document(ctx context.Context, id string) (agreement.Document, error) {
	return result(ctx, s, "Document", func(ctx context.Context) (agreement.Document, error) { return s.Store.Document(ctx, id) })
}

func (s disturbed) Enqueue(ctx context.Context, jobs []checkout.Job, act *checkout.Act) (int, error) {
	return result(ctx, s, "Enqueue", func(ctx context.Context) (int, error) { return s.Store.Enqueue(ctx, jobs, act) })
}

func (s disturbed) Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error) {
	return result(ctx, s, "Lease", func(ctx context.Context) ([]checkout.Lease, error) { return s.Store.Lease(ctx, q) })
}

func (s disturbed) Extend(ctx context.Context, l checkout.Lease, d time.Duration) error {
	return s.through(ctx, "Extend", func(ctx context.Context) error { return s.Store.Extend(ctx, l, d) })
}

func (s disturbed) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	return s.through(ctx, "Settle", func(ctx context.Context) error { return s.Store.Settle(ctx, l, o) })
}

func (s disturbed) Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error) {
	return result(ctx, s, "Jobs", func(ctx context.Context) ([]checkout.JobRecord, error) { return s.Store.Jobs(ctx, f, limit) })
}

func (s disturbed) Note(ctx context.Context, moments []checkout.Noted, uses []checkout.KeyUse) error {
	return s.through(ctx, "Note", func(ctx context.Context) error { return s.Store.Note(ctx, moments, uses) })
}

func (s disturbed) Providers(ctx context.Context, codes ...string) ([]catalogue.Provider, error) {
	return result(ctx, s, "Providers", func(ctx context.Context) ([]catalogue.Provider, error) { return s.Store.Providers(ctx, codes...) })
}

func (s disturbed) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return result(ctx, s, "Course", func(ctx context.Context) (catalogue.Course, error) { return s.Store.Course(ctx, provider, code) })
}

func (s disturbed) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	return result(ctx, s, "Key", func(ctx context.Context) (catalogue.Key, error) { return s.Store.Key(ctx, hash) })
}

// faulty disturbs a store: calls fail, and all are listed.
type faulty struct {
	mu    sync.Mutex
	calls []string // the methods that were called since arm
	fail  func(method string, n int) error
}

// newFaulty returns a disturbance that fails nothing yet, and a change that has the service's store disturbed by it.
func newFaulty() (*faulty, func(*service.Config)) {
	f := &faulty{}
	return f, disturbing(func(ctx context.Context, method string, call func(context.Context) error) error {
		f.mu.Lock()
		f.calls = append(f.calls, method)
		n, fail := len(f.calls), f.fail
		f.mu.Unlock()
		if fail != nil {
			if err := fail(method, n); err != nil {
				return err
			}
		}
		return call(ctx)
	})
}

// arm has calls fail as fail says, which may be nil, and counts and lists them from now on.
func (f *faulty) arm(fail func(method string, n int) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls, f.fail = nil, fail
}

// called returns the calls since arm, of some methods or of all.
func (f *faulty) called(methods ...string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.calls), func(m string) bool { return len(methods) > 0 && !slices.Contains(methods, m) })
}

var errBroken = errors.New("the disk is broken")

// The ways in which a call of a store can fail.
var faults = map[string]func() error{
	"busy":   func() error { return fmt.Errorf("wait for the lock: %w", ports.ErrBusy) },
	"broken": func() error { return fmt.Errorf("write: %w", errBroken) },
	"panics": func() error { panic(errBroken.Error()) },
}

// hangs is a call that has no answer.
func hangs(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}
