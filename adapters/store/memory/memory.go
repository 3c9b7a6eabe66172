// Package memory keeps everything in memory, for tests and for trying things out. Nothing outlives the process.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.Admin = (*Store)(nil)

// Store is a ports.Admin in memory.
type Store struct {
	// Clock, if it is not nil, decides when a job is due and when a lease is over, as the clock of a store does that several machines
	// share. It is set before the first call.
	Clock func() time.Time

	mu    sync.Mutex      // guards everything below
	rows  map[string]*row // by checkout id
	queue queue

	acts []checkout.Act // in the order in which they were stored

	configurations []catalogue.Configuration // in the order of the codes
	keys           []catalogue.Key           // in the order of their creation

	sandbox map[string][]byte // what the fake processor keeps
}

// row is everything on record about one checkout but its jobs.
type row struct {
	checkout  checkout.Checkout
	agreement *agreement.Agreement
	document  *agreement.Document
	journal   []checkout.Moment
}

// New returns an empty store.
func New() *Store {
	return &Store{
		rows:    map[string]*row{},
		queue:   queue{byID: map[string]*job{}, of: map[string][]*job{}},
		sandbox: map[string][]byte{},
	}
}

// where returns the checkouts that a condition admits, in the order of their creation.
func (s *Store) where(admits func(*row) bool) (list []*row) {
	for _, r := range s.rows {
		if admits(r) {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *row) int {
		return cmp.Or(a.checkout.CreatedAt.Compare(b.checkout.CreatedAt), cmp.Compare(a.checkout.ID, b.checkout.ID))
	})
	return list
}

// row returns the first checkout that a condition admits. Without such a checkout it returns a row with nothing on record.
func (s *Store) row(admits func(*row) bool) *row {
	if list := s.where(admits); len(list) > 0 {
		return list[0]
	}
	return &row{}
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

// read returns copies of the results of f, which runs as locked runs it.
func read[T any](ctx context.Context, s *Store, f func() (T, error)) (v T, err error) {
	err = s.locked(ctx, func() error {
		was, err := f()
		v = copyOf(was)
		return err
	})
	return v, err
}

// found returns a value on record, or ErrNotFound if it is nil.
func found[T any](v *T, what string) (none T, err error) {
	if v == nil {
		return none, fmt.Errorf("%s: %w", what, ports.ErrNotFound)
	}
	return *v, nil
}

// first returns the first value of a list that matches, or nil.
func first[T any](list []T, match func(T) bool) *T {
	if i := slices.IndexFunc(list, match); i >= 0 {
		return &list[i]
	}
	return nil
}

// clock returns the time by which jobs are due, where the caller's clock has a time.
func (s *Store) clock(caller time.Time) time.Time {
	if s.Clock != nil {
		return s.Clock()
	}
	return caller
}

// Ready implements [ports.Store]. Memory is always ready.
func (s *Store) Ready(ctx context.Context) error { return ctx.Err() }

// Export implements [ports.Exporter].
func (s *Store) Export(ctx context.Context, visit checkout.Visitor) error {
	all, err := s.snapshot(ctx)
	if err != nil {
		return err
	}
	if err := each(ctx, all.Configurations, visit.Configuration); err != nil {
		return err
	}
	if err := each(ctx, all.Keys, visit.Key); err != nil {
		return err
	}
	return each(ctx, all.Records, visit.Checkout)
}

// each calls visit for every value of a list, until ctx has ended.
func each[T any](ctx context.Context, list []T, visit func(T) error) error {
	for _, v := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := visit(v); err != nil {
			return err
		}
	}
	return nil
}

// snapshot is a copy of everything on record at one time.
type snapshot struct {
	Configurations []catalogue.Configuration
	Keys           []catalogue.Key
	Records        []checkout.CheckoutRecord
}

func (s *Store) snapshot(ctx context.Context) (snapshot, error) {
	return read(ctx, s, func() (snapshot, error) {
		all := snapshot{Configurations: s.configurations, Keys: s.keys}
		for _, r := range s.where(func(*row) bool { return true }) {
			d := checkout.CheckoutRecord{Checkout: r.checkout, Agreement: r.agreement, Moments: r.journal}
			if r.document != nil {
				d.Document = &checkout.DocumentInfo{ID: r.document.ID, SHA256: r.document.SHA256, Size: len(r.document.Bytes)}
			}
			for _, j := range s.queue.of[r.checkout.ID] {
				d.Jobs = append(d.Jobs, j.record())
			}
			all.Records = append(all.Records, d)
		}
		return all, nil
	})
}
