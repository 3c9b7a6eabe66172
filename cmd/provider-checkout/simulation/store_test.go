package simulation_test

import (
	"context"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
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

func (s store) InsertCheckout(ctx context.Context, change checkout.Change, hold time.Duration) (leases []checkout.Lease, err error) {
	leases, err = wrote(ctx, s, "InsertCheckout "+change.Next.ProviderCode+" "+change.Next.OrderID, func(ctx context.Context) ([]checkout.Lease, error) {
		got, err := s.Store.InsertCheckout(ctx, change, hold)
		s.p.world.model.stores(s.p, checkout.Checkout{}, change, got, err)
		return got, err
	})
	s.p.world.model.answers(change.Next.RequestID, err)
	return leases, err
}

// updated are the results of UpdateCheckout.
type updated struct {
	change checkout.Change
	leases []checkout.Lease
}

func (s store) UpdateCheckout(ctx context.Context, known checkout.Checkout, hold time.Duration,
	decide ports.Decide) (checkout.Change, []checkout.Lease, error) {
	got, err := wrote(ctx, s, "UpdateCheckout "+known.ID, func(ctx context.Context) (u updated, err error) {
		var was checkout.Checkout
		u.change, u.leases, err = s.Store.UpdateCheckout(ctx, known, hold, func(c checkout.Checkout) (checkout.Change, error) {
			was = c
			return decide(c)
		})
		s.p.world.model.stores(s.p, was, u.change, u.leases, err)
		return u, err
	})
	if got.change.Agreement != nil {
		s.p.world.model.answers(got.change.Next.Confirmation.RequestID, err)
	}
	return got.change, got.leases, err
}

func (s store) Settle(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	return s.write(ctx, "Settle "+l.Job.Ref(), func(ctx context.Context) error {
		err := s.Store.Settle(ctx, l, o)
		if err == nil {
			s.p.world.sawOutcome(l, o)
		}
		return s.p.world.model.extends(s.p, l, 0, err)
	})
}

// outcomes names the outcomes of jobs that must occur.
var outcomes = map[checkout.JobKind]map[checkout.JobState]string{
	checkout.JobDeliver: {checkout.JobDone: "event delivered", checkout.JobFailed: "event failed"},
	checkout.JobSync:    {checkout.JobDone: "CRM updated", checkout.JobPending: "CRM put off"},
	checkout.JobNotify:  {checkout.JobDone: "notice sent", checkout.JobDropped: "notice dropped", checkout.JobFailed: "notice failed"},
}

// sawOutcome notes the outcome of a job. An event that its call left behind has had an earlier lease.
func (w *world) sawOutcome(l checkout.Lease, o checkout.Outcome) {
	if what := outcomes[l.Job.Kind][o.State]; what != "" {
		w.saw(what)
	}
	if l.Job.Kind == checkout.JobDeliver && l.Token > 1 {
		w.saw("recovery")
	}
}

func (s store) Lease(ctx context.Context, q checkout.JobQuery) ([]checkout.Lease, error) {
	return wrote(ctx, s, "Lease", func(ctx context.Context) ([]checkout.Lease, error) {
		got, err := s.Store.Lease(ctx, q)
		s.p.world.model.lock.Lock()
		defer s.p.world.model.lock.Unlock()
		s.p.world.model.leases(s.p, got)
		return got, err
	})
}

func (s store) Extend(ctx context.Context, l checkout.Lease, d time.Duration) error {
	return s.write(ctx, "Extend "+l.Job.Ref(), func(ctx context.Context) error {
		return s.p.world.model.extends(s.p, l, d, s.Store.Extend(ctx, l, d))
	})
}

func (s store) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return read(ctx, s, "Checkout "+id, func(ctx context.Context) (checkout.Checkout, error) { return s.Store.Checkout(ctx, id) })
}

func (s store) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	about := by.ProviderCode + " " + by.OrderID + by.Key + by.BillingRequestID + by.MandateID + by.AgreementNumber
	return read(ctx, s, "FindCheckout "+about, func(ctx context.Context) (checkout.Checkout, error) { return s.Store.FindCheckout(ctx, by) })
}

func (s store) Agreement(ctx context.Context, id string) (agreement.Agreement, error) {
	return read(ctx, s, "Agreement "+id, func(ctx context.Context) (agreement.Agreement, error) { return s.Store.Agreement(ctx, id) })
}

func (s store) Document(ctx context.Context, id string) (agreement.Document, error) {
	return read(ctx, s, "Document "+id, func(ctx context.Context) (agreement.Document, error) { return s.Store.Document(ctx, id) })
}

func (s store) Enqueue(ctx context.Context, jobs []checkout.Job, act *checkout.Act) (int, error) {
	return wrote(ctx, s, "Enqueue "+jobs[0].Ref(), func(ctx context.Context) (int, error) {
		if act != nil {
			s.p.world.model.retries(jobs)
		}
		return s.Store.Enqueue(ctx, jobs, act)
	})
}

func (s store) Jobs(ctx context.Context, f checkout.JobFilter, limit int) ([]checkout.JobRecord, error) {
	return read(ctx, s, "Jobs "+f.CheckoutID+f.ID, func(ctx context.Context) ([]checkout.JobRecord, error) { return s.Store.Jobs(ctx, f, limit) })
}

func (s store) Note(ctx context.Context, moments []checkout.Noted, uses []checkout.KeyUse) error {
	return s.write(ctx, "Note", func(ctx context.Context) error { return s.Store.Note(ctx, moments, uses) })
}

func (s store) Providers(ctx context.Context, codes ...string) ([]catalogue.Provider, error) {
	return read(ctx, s, "Providers "+strings.Join(codes, " "), func(ctx context.Context) ([]catalogue.Provider, error) {
		return s.Store.Providers(ctx, codes...)
	})
}

func (s store) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return read(ctx, s, "Course "+provider+" "+code, func(ctx context.Context) (catalogue.Course, error) { return s.Store.Course(ctx, provider, code) })
}

// oldCheckouts are the results of OldCheckouts.
type oldCheckouts struct {
	ids  []string
	next string
}

func (s store) OldCheckouts(ctx context.Context, cursor string, limit int, confirmed, open time.Time) ([]string, string, error) {
	old, err := wrote(ctx, s, "OldCheckouts", func(ctx context.Context) (old oldCheckouts, err error) {
		old.ids, old.next, err = s.Store.OldCheckouts(ctx, cursor, limit, confirmed, open)
		return old, err
	})
	return old.ids, old.next, err
}

func (s store) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error)) error {
	return s.write(ctx, "ReplaceProviders", func(ctx context.Context) error { return s.Store.ReplaceProviders(ctx, decide) })
}
