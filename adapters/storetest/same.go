package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Same calls both stores alike, at random, and reports the first difference between their answers
// or between what they have on record.
func Same(t *testing.T, open, other Open) {
	rapid.Check(t, func(r *rapid.T) {
		p := pair{t.Context(), open(t), other(t)}
		r.Repeat(map[string]func(*rapid.T){
			"insert":   p.insert,
			"update":   p.update,
			"draw":     p.draw,
			"take":     p.take,
			"settle":   p.settle,
			"replace":  p.replace,
			"add key":  p.addKey,
			"revoke":   p.revoke,
			"look up":  p.lookUp,
			"deliver":  p.deliver,
			"read all": p.export,
		})
		p.export(r)
	})
}

// pair is two stores that should not be told apart. Ids, orders and keys come from so few that
// calls meet each other's records.
type pair struct {
	ctx context.Context
	a   ports.Store
	b   ports.Store
}

var errNo = errors.New("no")

// both compares what a call answers on the two stores.
func (p pair) both(r *rapid.T, call string, f func(ports.Store) (any, error)) {
	r.Helper()
	got, err := f(p.a)
	want, wantErr := f(p.b)
	if kind(err) != kind(wantErr) || !reflect.DeepEqual(got, want) {
		r.Fatalf("%s:\none   %+v, %v\nother %+v, %v", call, got, err, want, wantErr)
	}
}

func (p pair) does(r *rapid.T, call string, f func(ports.Store) error) {
	r.Helper()
	p.both(r, call, func(s ports.Store) (any, error) { return nil, f(s) })
}

// kind is what an error means to the service.
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

func drawQueued(r *rapid.T) ports.Queued {
	return ports.Queued{
		Status: rapid.SampledFrom([]events.Status{events.Pending, events.NotConfigured}).Draw(r, "status"),
		Until:  at(few(r, "until")),
	}
}

func drawEvent(r *rapid.T) string {
	name := rapid.SampledFrom([]events.Name{events.CheckoutCreated, events.CheckoutConfirmed}).Draw(r, "event")
	return event(opened(few(r, "checkout")).Next, name).ID
}

func (p pair) insert(r *rapid.T) {
	c := opened(few(r, "checkout"))
	c.Next.ProviderCode = rapid.SampledFrom([]string{"KOWHAI", "RIMU"}).Draw(r, "provider")
	c.Next.OrderID = fmt.Sprint("order-", few(r, "order"))
	c.Next.IdempotencyKey = rapid.SampledFrom([]string{"", "", "key-1", "key-2"}).Draw(r, "key")
	queued := drawQueued(r)
	p.does(r, "InsertCheckout", func(s ports.Store) error { return s.InsertCheckout(p.ctx, c, queued) })
}

func (p pair) update(r *rapid.T) {
	id, sequence, queued := opened(few(r, "checkout")).Next.ID, int64(few(r, "sequence")), drawQueued(r)
	what := rapid.SampledFrom([]string{"complete", "confirm", "agree", "draw", "refuse"}).Draw(r, "what")
	decide := func(c checkout.Checkout) (checkout.Change, error) {
		done := confirmed(completed(c), sequence)
		switch what {
		case "complete":
			return checkout.Change{Next: completed(c)}, nil
		case "agree":
			return checkout.Change{Next: c, Agreement: done.Agreement}, nil
		case "draw":
			return checkout.Change{Next: c, Document: done.Document}, nil
		case "refuse":
			return done, errNo
		}
		return done, nil
	}
	p.does(r, "UpdateCheckout to "+what, func(s ports.Store) error {
		return s.UpdateCheckout(p.ctx, id, queued, decide)
	})
}

func (p pair) draw(r *rapid.T) {
	p.both(r, "DrawNumber", func(s ports.Store) (any, error) { return s.DrawNumber(p.ctx) })
}

func (p pair) take(r *rapid.T) {
	id, epoch, until := drawEvent(r), int64(few(r, "epoch")), at(few(r, "until"))
	p.both(r, "TakeEvent", func(s ports.Store) (any, error) { return s.TakeEvent(p.ctx, id, epoch, until) })
}

func (p pair) settle(r *rapid.T) {
	id, epoch, attempts := drawEvent(r), int64(few(r, "epoch")), few(r, "attempts")
	p.does(r, "SettleEvent", func(s ports.Store) error {
		return s.SettleEvent(p.ctx, id, epoch, events.Failed, attempts)
	})
}

func (p pair) replace(r *rapid.T) {
	add := rapid.SampledFrom([]string{"KOWHAI", "RIMU", "A"}).Draw(r, "provider")
	what := rapid.SampledFrom([]string{"add", "legacy", "clear", "refuse"}).Draw(r, "what")
	p.does(r, "ReplaceProviders", func(s ports.Store) error {
		return s.ReplaceProviders(p.ctx, func(all []catalogue.Configuration) ([]catalogue.Configuration, error) {
			switch what {
			case "add":
				return append(all, configuration(add)), nil
			case "legacy":
				return append(all, legacy(add)), nil
			case "clear":
				return nil, nil
			}
			return nil, errNo
		})
	})
}

func (p pair) addKey(r *rapid.T) {
	k := key(few(r, "id"))
	k.Hash = key(few(r, "hash")).Hash
	p.does(r, "AddKey", func(s ports.Store) error { return s.AddKey(p.ctx, k) })
}

func (p pair) revoke(r *rapid.T) {
	id, when := key(few(r, "id")).ID, at(few(r, "at"))
	p.does(r, "RevokeKey", func(s ports.Store) error { return s.RevokeKey(p.ctx, id, when) })
}

func (p pair) lookUp(r *rapid.T) {
	n := few(r, "number")
	c, k := opened(n).Next, key(n)
	a := agreed(c, int64(n))
	p.both(r, "Checkout", func(s ports.Store) (any, error) { return s.Checkout(p.ctx, c.ID) })
	p.both(r, "CheckoutByOrder", func(s ports.Store) (any, error) { return s.CheckoutByOrder(p.ctx, "RIMU", c.OrderID) })
	p.both(r, "CheckoutByKey", func(s ports.Store) (any, error) { return s.CheckoutByKey(p.ctx, "KOWHAI", c.IdempotencyKey) })
	p.both(r, "Agreement", func(s ports.Store) (any, error) { return s.Agreement(p.ctx, a.Number) })
	p.both(r, "Document", func(s ports.Store) (any, error) { return s.Document(p.ctx, a.Number) })
	p.both(r, "Key", func(s ports.Store) (any, error) { return s.Key(p.ctx, k.Hash) })
	p.both(r, "Provider", func(s ports.Store) (any, error) { return s.Provider(p.ctx, "KOWHAI") })
	p.both(r, "Course", func(s ports.Store) (any, error) { return s.Course(p.ctx, "RIMU", "NZDIP") })
}

func (p pair) deliver(r *rapid.T) {
	id, now, limit := opened(few(r, "checkout")).Next.ID, at(few(r, "now")), few(r, "limit")
	p.both(r, "PendingEvents", func(s ports.Store) (any, error) { return s.PendingEvents(p.ctx, id) })
	p.both(r, "AbandonedCheckouts", func(s ports.Store) (any, error) { return s.AbandonedCheckouts(p.ctx, now, limit) })
}

func (p pair) export(r *rapid.T) {
	p.both(r, "Export", func(s ports.Store) (any, error) {
		var all record
		err := s.Export(p.ctx, all.collect())
		return all, err
	})
}
