package service_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// disturbed is a store each of whose calls passes through a function, which may call it or not, and returns its own error.
type disturbed struct {
	ports.Store
	through func(ctx context.Context, method, about string, call func(context.Context) error) error
}

// disturbing returns a change that has the service use its store through a function.
func disturbing(through func(ctx context.Context, method, about string, call func(context.Context) error) error) func(*service.Config) {
	return func(c *service.Config) { c.Store = disturbed{c.Store, through} }
}

// result makes a call that returns a value: the zero value with an error.
func result[T any](ctx context.Context, s disturbed, method, about string, call func(context.Context) (T, error)) (T, error) {
	var got T
	err := s.through(ctx, method, about, func(ctx context.Context) (err error) { got, err = call(ctx); return err })
	if err != nil {
		return *new(T), err
	}
	return got, nil
}

func (s disturbed) Ready(ctx context.Context) error {
	return s.through(ctx, "Ready", "", s.Store.Ready)
}

func (s disturbed) InsertCheckout(ctx context.Context, change checkout.Change, q checkout.JobEntry) error {
	return s.through(ctx, "InsertCheckout", change.Next.OrderID, func(ctx context.Context) error {
		return s.Store.InsertCheckout(ctx, change, q)
	})
}

func (s disturbed) UpdateCheckout(ctx context.Context, id string, q checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	return s.through(ctx, "UpdateCheckout", id, func(ctx context.Context) error {
		return s.Store.UpdateCheckout(ctx, id, q, decide)
	})
}

func (s disturbed) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return result(ctx, s, "Checkout", id, func(ctx context.Context) (checkout.Checkout, error) { return s.Store.Checkout(ctx, id) })
}

func (s disturbed) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	about := by.OrderID + by.Key + by.BillingRequestID + by.MandateID
	return result(ctx, s, "FindCheckout", about, func(ctx context.Context) (checkout.Checkout, error) { return s.Store.FindCheckout(ctx, by) })
}

func (s disturbed) Agreement(ctx context.Context, number string) (agreement.Agreement, error) {
	return result(ctx, s, "Agreement", number, func(ctx context.Context) (agreement.Agreement, error) { return s.Store.Agreement(ctx, number) })
}

func (s disturbed) Document(ctx context.Context, number string) (agreement.Document, error) {
	return result(ctx, s, "Document", number, func(ctx context.Context) (agreement.Document, error) { return s.Store.Document(ctx, number) })
}

func (s disturbed) Enqueue(ctx context.Context, jobs []checkout.Job) ([]checkout.Job, error) {
	return result(ctx, s, "Enqueue", "", func(ctx context.Context) ([]checkout.Job, error) { return s.Store.Enqueue(ctx, jobs) })
}

func (s disturbed) Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error) {
	return result(ctx, s, "Lease", q.ID, func(ctx context.Context) ([]checkout.Lease, error) { return s.Store.Lease(ctx, q) })
}

func (s disturbed) Extend(ctx context.Context, l checkout.Lease, now time.Time, d time.Duration) error {
	return s.through(ctx, "Extend", l.Job.ID, func(ctx context.Context) error { return s.Store.Extend(ctx, l, now, d) })
}

func (s disturbed) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, q checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	return s.through(ctx, "Settle", l.Job.ID, func(ctx context.Context) error { return s.Store.Settle(ctx, l, o, q, decide) })
}

func (s disturbed) Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error) {
	return result(ctx, s, "Jobs", f.CheckoutID+f.ID, func(ctx context.Context) ([]checkout.JobRecord, error) { return s.Store.Jobs(ctx, f, limit) })
}

func (s disturbed) UseKeys(ctx context.Context, ids []string, day string) error {
	return s.through(ctx, "UseKeys", "", func(ctx context.Context) error { return s.Store.UseKeys(ctx, ids, day) })
}

func (s disturbed) Note(ctx context.Context, noted []checkout.Noted) error {
	return s.through(ctx, "Note", "", func(ctx context.Context) error { return s.Store.Note(ctx, noted) })
}

func (s disturbed) Provider(ctx context.Context, code string) (catalogue.Provider, error) {
	return result(ctx, s, "Provider", code, func(ctx context.Context) (catalogue.Provider, error) { return s.Store.Provider(ctx, code) })
}

func (s disturbed) Providers(ctx context.Context) ([]catalogue.Provider, error) {
	return result(ctx, s, "Providers", "", s.Store.Providers)
}

func (s disturbed) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return result(ctx, s, "Course", code, func(ctx context.Context) (catalogue.Course, error) { return s.Store.Course(ctx, provider, code) })
}

func (s disturbed) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	return result(ctx, s, "Key", "", func(ctx context.Context) (catalogue.Key, error) { return s.Store.Key(ctx, hash) })
}

func (s disturbed) EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error {
	return s.through(ctx, "EraseCheckouts", strings.Join(ids, " "), func(ctx context.Context) error { return s.Store.EraseCheckouts(ctx, ids, decide) })
}

// A key that is used all day is written once.
func TestTheUseOfAKeyIsStoredOnceADay(t *testing.T) {
	var written atomic.Int64
	inWorld(t, func(t *testing.T, w *world) {
		w.config.Store = counting{w.store, &written}
		w = w.again(t)
		defer w.background(t)()
		text, key := catalogue.NewKey("KOWHAI", catalogue.Sandbox, time.Now(), [32]byte{1})
		must(t, w.store.AddKey(t.Context(), key, nil))
		for hour := range 49 {
			for range 10 {
				if _, err := w.Authenticate(t.Context(), text); err != nil {
					t.Fatal(err)
				}
			}
			time.Sleep(time.Hour)
			keys, err := w.store.Keys(t.Context())
			must(t, err)
			if want := w.clock.now().UTC().Add(-time.Hour).Format(time.DateOnly); keys[0].LastUsed != want {
				t.Errorf("after %d hours the last use was on %q, want %q", hour, keys[0].LastUsed, want)
			}
		}
	})
	if n := written.Load(); n != 3 {
		t.Errorf("written %d times on three days", n)
	}
}

// counting counts how often the use of keys is stored.
type counting struct {
	ports.Store
	written *atomic.Int64
}

func (c counting) UseKeys(ctx context.Context, ids []string, day string) error {
	c.written.Add(1)
	return c.Store.UseKeys(ctx, ids, day)
}
