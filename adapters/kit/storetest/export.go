package storetest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Export tests a store against ports.Exporter.
func Export(t *testing.T, open Open) {
	run(t, open, []promise{
		{"an export of a new store is empty", func(t *testing.T, s ports.Admin) {
			same(t, "record", export(t, s), record{})
		}},
		{"an export holds everything on record, in order", exportAll},
		{"an export reads one snapshot, whatever is written meanwhile", exportSnapshot},
		{"an export reads one snapshot while others write", exportConcurrent},
		{"an error of visit ends the export and is returned as it is", exportError},
		{"an export ends with its context, and takes nothing for unreadable then", exportEnds},
	})
}

func exportAll(t *testing.T, s ports.Admin) {
	configure(t, s, legacy("RIMU"), configuration("KOWHAI"))
	addKeys(t, s, key(2), key(1))
	insert(t, s, opened(2), opened(1), opened(3))
	done := confirm(t, s, opened(1).Next.ID, 1)
	created := checkout.DeliveryOf(opened(1).Events[0])
	settleEvent(t, s, opened(1), checkout.Outcome{State: checkout.JobDone, Attempts: 2})
	open := func(n int) checkout.CheckoutRecord {
		return checkout.CheckoutRecord{Checkout: opened(n).Next, Moments: journal(opened(n).Moments...),
			Jobs: []checkout.JobRecord{waiting(checkout.DeliveryOf(opened(n).Events[0]))}}
	}
	got := export(t, s)
	for i, r := range got.Checkouts {
		got.Checkouts[i] = timeless(r)
	}
	same(t, "record", got, record{
		Configurations: []catalogue.Configuration{configuration("KOWHAI"), legacy("RIMU")},
		Keys:           []catalogue.Key{key(1), key(2)},
		Checkouts: []checkout.CheckoutRecord{{
			Checkout:  done.Next,
			Agreement: done.Agreement,
			Document:  &checkout.DocumentInfo{ID: done.Document.ID, SHA256: done.Document.SHA256, Size: len(done.Document.Bytes)},
			Jobs: []checkout.JobRecord{
				{Job: created, State: checkout.JobDone, Token: 1, Attempts: 2},
				waiting(checkout.DeliveryOf(done.Events[0])), waiting(checkout.DeliveryOf(done.Events[1])), waiting(done.Jobs[0]),
			},
			Moments: journal(opened(1).Moments[0], done.Moments[0]),
		}, open(2), open(3)},
	})
	same(t, "an event", got.Checkouts[0].Events()[0], checkout.EventRecord{Event: opened(1).Events[0], Status: events.Delivered, Attempts: 2})
}

func exportSnapshot(t *testing.T, s ports.Admin) {
	configure(t, s, configuration("KOWHAI"), legacy("RIMU"))
	addKeys(t, s, key(1))
	insert(t, s, opened(1))
	want := export(t, s)

	var got record
	visit := got.collect()
	keep := visit.Configuration
	var once sync.Once
	visit.Configuration = func(c catalogue.Configuration) error {
		once.Do(func() {
			configure(t, s, configuration("TOTARA"))
			addKeys(t, s, key(2))
			must(t, "RevokeKey", s.RevokeKey(t.Context(), key(1).ID, at(9), nil))
			insert(t, s, opened(2))
			confirm(t, s, opened(1).Next.ID, 1)
			note(t, s, 1, moment(checkout.MomentOpened, 3))
			settleEvent(t, s, opened(1), checkout.Outcome{State: checkout.JobDead, Attempts: 3})
		})
		return keep(c)
	}
	must(t, "Export", s.Export(t.Context(), visit))
	same(t, "record", got, want)
	same(t, "checkouts afterwards", len(export(t, s).Checkouts), 2)
}

// exportConcurrent stores every checkout with two events: no snapshot has one without the other.
func exportConcurrent(t *testing.T, s ports.Admin) {
	const inserts = 20
	withTwo := func(i int) checkout.Change {
		c := opened(i)
		c.Events = append(c.Events, event(c.Next, events.CheckoutConfirmed))
		return c
	}
	errs := concurrently(2, func(role int) error {
		for i := range inserts {
			if role == 0 {
				if err := s.InsertCheckout(t.Context(), withTwo(i), pending()); err != nil {
					return err
				}
				continue
			}
			var r record
			if err := s.Export(t.Context(), r.collect()); err != nil {
				return err
			}
			for j, d := range r.Checkouts {
				same(t, "checkout", d.Checkout.ID, opened(j).Next.ID)
				same(t, "events of one change", len(d.Events()), 2)
			}
		}
		return nil
	})
	must(t, "InsertCheckout", errs[0])
	must(t, "Export", errs[1])
	same(t, "checkouts", len(export(t, s).Checkouts), inserts)
}

func exportEnds(t *testing.T, s ports.Admin) {
	for n := range 130 { // more than a store is likely to read at once
		insert(t, s, opened(n))
	}
	for range 20 {
		var r record
		ctx, cancel := context.WithCancel(t.Context())
		visit := r.collect()
		visit.Checkout = func(checkout.CheckoutRecord) error { cancel(); return nil }
		refused(t, "Export", s.Export(ctx, visit), context.Canceled)
		same(t, "unreadable", len(r.Unreadable), 0)
	}
}

func exportError(t *testing.T, s ports.Admin) {
	configure(t, s, legacy("A"), legacy("B"))
	addKeys(t, s, key(1), key(2))
	insert(t, s, opened(1), opened(2))
	want := errors.New("no")
	for name, fail := range map[string]func(*checkout.Visitor){
		"configuration": func(v *checkout.Visitor) { v.Configuration = func(catalogue.Configuration) error { return want } },
		"key":           func(v *checkout.Visitor) { v.Key = func(catalogue.Key) error { return want } },
		"checkout":      func(v *checkout.Visitor) { v.Checkout = func(checkout.CheckoutRecord) error { return want } },
	} {
		var r record
		visit := r.collect()
		fail(&visit)
		if err := s.Export(t.Context(), visit); err != want {
			t.Errorf("Export: got error %v, want the very error of the visit of a %s", err, name)
		}
	}
	insert(t, s, opened(3))
	same(t, "checkouts afterwards", len(export(t, s).Checkouts), 3)
}

// record is everything that a store exports.
type record struct {
	Configurations []catalogue.Configuration
	Keys           []catalogue.Key
	Checkouts      []checkout.CheckoutRecord
	Unreadable     []string
}

// collect returns a visitor that fills r.
func (r *record) collect() checkout.Visitor {
	return checkout.Visitor{
		Configuration: func(c catalogue.Configuration) error { r.Configurations = append(r.Configurations, c); return nil },
		Key:           func(k catalogue.Key) error { r.Keys = append(r.Keys, k); return nil },
		Checkout:      func(c checkout.CheckoutRecord) error { r.Checkouts = append(r.Checkouts, c); return nil },
		Unreadable:    func(id string, err error) error { r.Unreadable = append(r.Unreadable, id+": "+err.Error()); return nil },
	}
}

func export(t *testing.T, s ports.Admin) record {
	t.Helper()
	var r record
	must(t, "Export", s.Export(t.Context(), r.collect()))
	return r
}

// exported returns the one checkout on record of this number. Times of the store's clock are left out.
func exported(t *testing.T, s ports.Admin, n int) checkout.CheckoutRecord {
	t.Helper()
	for _, r := range export(t, s).Checkouts {
		if r.Checkout.ID == opened(n).Next.ID {
			return timeless(r)
		}
	}
	t.Fatalf("checkout %d is not on record", n)
	return checkout.CheckoutRecord{}
}

// timeless returns the record without the times that the clock of a store may have given.
func timeless(r checkout.CheckoutRecord) checkout.CheckoutRecord {
	for i := range r.Jobs {
		r.Jobs[i].Due, r.Jobs[i].SettledAt = time.Time{}, time.Time{}
	}
	return r
}

// journal returns the moments as they are in a journal.
func journal(moments ...checkout.Moment) []checkout.Moment {
	for i := range moments {
		moments[i].Position = i + 1
	}
	return moments
}

// unchanged reports if f changed anything on record.
func unchanged(t *testing.T, s ports.Admin, f func()) {
	t.Helper()
	before := export(t, s)
	f()
	same(t, "everything on record", export(t, s), before)
}
