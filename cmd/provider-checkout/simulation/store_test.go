package simulation_test

import (
	"context"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// store is the store as one process reaches it. The model judges every change, whoever gets the answer.
type store struct {
	*memory.Store
	p *process
}

// storeHangs is the longest time that a call of the store hangs, as its adapters see to.
const storeHangs = 10 * time.Second

func (s store) write(ctx context.Context, name string, effect func(context.Context) error) error {
	return s.p.do(ctx, call{to: "store", name: name, takes: 3 * time.Millisecond, limit: storeHangs, effect: effect})
}

// read makes a call that returns a value: the zero value with an error.
func read[T any](ctx context.Context, s store, name string, effect func(context.Context) (T, error)) (T, error) {
	var got T
	err := s.p.do(ctx, call{to: "store", name: name, takes: 3 * time.Millisecond, limit: storeHangs, reads: true,
		effect: func(ctx context.Context) (err error) { got, err = effect(ctx); return err }})
	if err != nil {
		return *new(T), err
	}
	return got, nil
}

// wrote is read of a call that writes.
func wrote[T any](ctx context.Context, s store, name string, effect func(context.Context) (T, error)) (T, error) {
	var got T
	err := s.write(ctx, name, func(ctx context.Context) (err error) { got, err = effect(ctx); return err })
	if err != nil {
		return *new(T), err
	}
	return got, nil
}

type decider = func(checkout.Checkout) (checkout.Change, error)

// written is a change that a store made.
type written struct {
	was    checkout.Checkout
	change checkout.Change
	entry  checkout.JobEntry
	lease  *checkout.Lease // that it settles; nil without one
}

// noted has the change that decide makes last noted.
func (c *written) noted(decide decider) decider {
	if decide == nil {
		return nil
	}
	return func(was checkout.Checkout) (_ checkout.Change, err error) {
		c.was = was
		c.change, err = decide(was)
		return c.change, err
	}
}

func (s store) InsertCheckout(ctx context.Context, change checkout.Change, q checkout.JobEntry) error {
	w := &written{change: change, entry: q}
	err := s.write(ctx, "InsertCheckout "+change.Next.ProviderCode+" "+change.Next.OrderID, func(ctx context.Context) error {
		return s.p.world.model.stores(s.p, w, s.Store.InsertCheckout(ctx, change, q))
	})
	return s.p.world.model.answers(w, err)
}

func (s store) UpdateCheckout(ctx context.Context, id string, q checkout.JobEntry, decide func(checkout.Checkout) (checkout.Change, error)) error {
	w := &written{entry: q}
	err := s.write(ctx, "UpdateCheckout "+id, func(ctx context.Context) error {
		return s.p.world.model.stores(s.p, w, s.Store.UpdateCheckout(ctx, id, q, w.noted(decide)))
	})
	return s.p.world.model.answers(w, err)
}

func (s store) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, q checkout.JobEntry,
	decide func(checkout.Checkout) (checkout.Change, error)) error {
	w := &written{entry: q, lease: &l}
	return s.write(ctx, "Settle "+l.Job.ID, func(ctx context.Context) error {
		return s.p.world.model.stores(s.p, w, s.Store.Settle(ctx, l, o, q, w.noted(decide)))
	})
}

func (s store) Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error) {
	return wrote(ctx, s, "Lease "+q.ID+q.ProviderCode, func(ctx context.Context) ([]checkout.Lease, error) {
		got, err := s.Store.Lease(ctx, q)
		s.p.world.model.leases(s.p, q, got)
		return got, err
	})
}

func (s store) Extend(ctx context.Context, l checkout.Lease, now time.Time, d time.Duration) error {
	return s.write(ctx, "Extend "+l.Job.ID, func(ctx context.Context) error {
		return s.p.world.model.extends(s.p, l, now, d, s.Store.Extend(ctx, l, now, d))
	})
}

func (s store) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return read(ctx, s, "Checkout "+id, func(ctx context.Context) (checkout.Checkout, error) { return s.Store.Checkout(ctx, id) })
}

func (s store) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	about := by.ProviderCode + " " + by.OrderID + by.Key + by.BillingRequestID + by.MandateID
	return read(ctx, s, "FindCheckout "+about, func(ctx context.Context) (checkout.Checkout, error) { return s.Store.FindCheckout(ctx, by) })
}

func (s store) Agreement(ctx context.Context, number string) (agreement.Agreement, error) {
	return read(ctx, s, "Agreement "+number, func(ctx context.Context) (agreement.Agreement, error) { return s.Store.Agreement(ctx, number) })
}

func (s store) Document(ctx context.Context, number string) (agreement.Document, error) {
	return read(ctx, s, "Document "+number, func(ctx context.Context) (agreement.Document, error) { return s.Store.Document(ctx, number) })
}

func (s store) Enqueue(ctx context.Context, jobs []checkout.Job) ([]checkout.Job, error) {
	return wrote(ctx, s, "Enqueue "+jobs[0].ID, func(ctx context.Context) ([]checkout.Job, error) { return s.Store.Enqueue(ctx, jobs) })
}

func (s store) Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error) {
	return read(ctx, s, "Jobs "+f.CheckoutID+f.ID, func(ctx context.Context) ([]checkout.JobRecord, error) { return s.Store.Jobs(ctx, f, limit) })
}

func (s store) Note(ctx context.Context, noted []checkout.Noted) error {
	return s.write(ctx, "Note", func(ctx context.Context) error { return s.Store.Note(ctx, noted) })
}

func (s store) Provider(ctx context.Context, code string) (catalogue.Provider, error) {
	return read(ctx, s, "Provider "+code, func(ctx context.Context) (catalogue.Provider, error) { return s.Store.Provider(ctx, code) })
}

func (s store) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return read(ctx, s, "Course "+provider+" "+code, func(ctx context.Context) (catalogue.Course, error) { return s.Store.Course(ctx, provider, code) })
}

func (s store) RecordAct(ctx context.Context, did checkout.Act) error {
	return s.write(ctx, "RecordAct", func(ctx context.Context) error { return s.Store.RecordAct(ctx, did) })
}

func (s store) Events(ctx context.Context, q checkout.ListQuery) ([]checkout.ListedEvent, error) {
	return read(ctx, s, "Events "+q.ProviderCode, func(ctx context.Context) ([]checkout.ListedEvent, error) { return s.Store.Events(ctx, q) })
}

// oldCheckouts are the results of OldCheckouts.
type oldCheckouts struct {
	ids  []string
	next string
}

func (s store) OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) ([]string, string, error) {
	old, err := read(ctx, s, "OldCheckouts", func(ctx context.Context) (old oldCheckouts, err error) {
		old.ids, old.next, err = s.Store.OldCheckouts(ctx, cursor, limit, confirmed, open)
		return old, err
	})
	return old.ids, old.next, err
}

func (s store) HastenJob(ctx context.Context, id string, m checkout.Moment, did checkout.Act) error {
	return s.write(ctx, "HastenJob "+id, func(ctx context.Context) error {
		return s.p.world.model.hastens(id, s.Store.HastenJob(ctx, id, m, did))
	})
}

func (s store) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error)) error {
	return s.write(ctx, "ReplaceProviders", func(ctx context.Context) error { return s.Store.ReplaceProviders(ctx, decide) })
}

func (s store) EraseCheckouts(ctx context.Context, ids []string, decide func([]checkout.Checkout) (checkout.Erasure, error)) error {
	return s.write(ctx, "EraseCheckouts "+strings.Join(ids, " "), func(ctx context.Context) error { return s.Store.EraseCheckouts(ctx, ids, decide) })
}
