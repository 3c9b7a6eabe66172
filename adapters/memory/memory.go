// Package memory keeps everything in memory: for tests, and for embedders who try things out.
package memory

import (
	"context"
	"slices"
	"sync"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.Store = (*Store)(nil)

// Store is a ports.Store that lasts as long as the process. What it holds is shared with nobody:
// every value is copied on its way in and on its way out.
type Store struct {
	mu     sync.Mutex // guards all that follows
	made   []string   // ids of the checkouts in the order of their making
	rows   map[string]row
	orders map[name]string // provider and order id → checkout id
	keyed  map[name]string // provider and idempotency key → checkout id

	drawn   int64             // agreement numbers drawn so far
	numbers map[string]string // agreement number → checkout id

	queue []string            // ids of the events in the order of their storing
	told  map[string][]string // the same, by checkout id
	event map[string]entry

	configurations []catalogue.Configuration // in the order of the codes
	keys           []catalogue.Key           // in the order of their making
}

// row is all that is kept of one checkout but its events. It is replaced, never changed.
type row struct {
	checkout  checkout.Checkout
	agreement *agreement.Agreement
	document  *agreement.Document
}

// name is a name within a provider.
type name struct{ provider, text string }

// New returns an empty store.
func New() *Store {
	return &Store{
		rows:    map[string]row{},
		orders:  map[name]string{},
		keyed:   map[name]string{},
		numbers: map[string]string{},
		told:    map[string][]string{},
		event:   map[string]entry{},
	}
}

// locked runs f while no other call is under way, unless ctx has ended.
func (s *Store) locked(ctx context.Context, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return f()
}

// Ready implements [ports.Store]: memory is always there.
func (s *Store) Ready(ctx context.Context) error { return ctx.Err() }

// Export implements [ports.Archive].
func (s *Store) Export(ctx context.Context, visit ports.Visitor) error {
	then, err := s.snapshot(ctx)
	if err != nil {
		return err
	}
	for _, c := range then.configurations {
		if err := step(ctx, visit.Configuration, c); err != nil {
			return err
		}
	}
	for _, k := range then.keys {
		if err := step(ctx, visit.Key, k); err != nil {
			return err
		}
	}
	for _, d := range then.dossiers {
		if err := step(ctx, visit.Checkout, d); err != nil {
			return err
		}
	}
	return nil
}

func step[T any](ctx context.Context, visit func(T) error, v T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return visit(v)
}

// moment is everything on record at one time, copied.
type moment struct {
	configurations []catalogue.Configuration
	keys           []catalogue.Key
	dossiers       []ports.Dossier
}

func (s *Store) snapshot(ctx context.Context) (m moment, err error) {
	err = s.locked(ctx, func() error {
		m.configurations = copyConfigurations(s.configurations)
		m.keys = slices.Clone(s.keys)
		for _, id := range s.made {
			d := s.rows[id].dossier()
			for _, eventID := range s.told[id] {
				d.Events = append(d.Events, s.event[eventID].record())
			}
			m.dossiers = append(m.dossiers, d)
		}
		return nil
	})
	return m, err
}

func (r row) dossier() ports.Dossier {
	d := ports.Dossier{Checkout: copyCheckout(r.checkout)}
	if r.agreement != nil {
		a := copyAgreement(*r.agreement)
		d.Agreement = &a
	}
	if r.document != nil {
		d.Document = &ports.DocumentInfo{
			ID: r.document.ID, SHA256: r.document.SHA256, Size: len(r.document.Bytes),
		}
	}
	return d
}
