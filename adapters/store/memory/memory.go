// Package memory keeps everything in memory, for tests and for trying things out. Nothing outlives the process.
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

var _ ports.Admin = (*Store)(nil)

// Store is a ports.Admin in memory.
type Store struct {
	mu      sync.Mutex // guards everything below
	created []string   // ids of the checkouts in the order of their creation
	rows    map[string]row
	orders  map[name]string   // provider and order id → checkout id
	keyed   map[name]string   // provider and idempotency key → checkout id
	numbers map[string]string // agreement number → checkout id

	queue    queue
	journal  map[string][]checkout.Moment // by checkout id
	refusals map[checkout.Refusal]int     // with Times 0 → how many there were

	evidence evidenceLog

	configurations []catalogue.Configuration // in the order of the codes
	keys           []catalogue.Key           // in the order of their creation

	sandbox map[string][]byte // what the fake processor keeps
}

// row is everything on record about one checkout but its jobs and its journal. It is replaced, never changed.
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

		queue:    newQueue(),
		journal:  map[string][]checkout.Moment{},
		refusals: map[checkout.Refusal]int{},
		evidence: evidenceLog{position: map[string]int64{}},
		sandbox:  map[string][]byte{},
	}
}

// locked runs f while no other call runs, unless ctx has ended.
func (s *Store) locked(ctx context.Context, f func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return f()
}

// Ready implements [ports.Store]. Memory is always ready.
func (s *Store) Ready(ctx context.Context) error { return ctx.Err() }

// Export implements [ports.Exporter].
func (s *Store) Export(ctx context.Context, visit ports.Visitor) error {
	all, err := s.snapshot(ctx)
	if err != nil {
		return err
	}
	for _, c := range all.configurations {
		if err := call(ctx, visit.Configuration, c); err != nil {
			return err
		}
	}
	for _, k := range all.keys {
		if err := call(ctx, visit.Key, k); err != nil {
			return err
		}
	}
	for _, d := range all.records {
		if err := call(ctx, visit.Checkout, d); err != nil {
			return err
		}
	}
	return nil
}

// call calls visit, unless ctx has ended.
func call[T any](ctx context.Context, visit func(T) error, v T) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return visit(v)
}

// snapshot is a copy of everything on record at one time.
type snapshot struct {
	configurations []catalogue.Configuration
	keys           []catalogue.Key
	records        []checkout.CheckoutRecord
}

func (s *Store) snapshot(ctx context.Context) (m snapshot, err error) {
	err = s.locked(ctx, func() error {
		m.configurations = copyConfigurations(s.configurations)
		m.keys = slices.Clone(s.keys)
		for _, id := range s.created {
			d := s.rows[id].record()
			for _, j := range s.queue.of[id] {
				d.Jobs = append(d.Jobs, j.record())
			}
			d.Moments = slices.Clone(s.journal[id])
			m.records = append(m.records, d)
		}
		return nil
	})
	return m, err
}

func (r row) record() checkout.CheckoutRecord {
	d := checkout.CheckoutRecord{Checkout: copyCheckout(r.checkout)}
	if r.agreement != nil {
		a := copyAgreement(*r.agreement)
		d.Agreement = &a
	}
	if r.document != nil {
		d.Document = &checkout.DocumentInfo{
			ID: r.document.ID, SHA256: r.document.SHA256, Size: len(r.document.Bytes),
		}
	}
	return d
}
