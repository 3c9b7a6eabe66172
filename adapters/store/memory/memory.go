// Package memory keeps everything in memory: the reference of what a store does, for tests and trials. Nothing outlives the process.
package memory

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The methods of ports.Admin are described there.
var _ ports.Admin = (*Store)(nil)

// Store is a ports.Admin in memory.
type Store struct {
	now func() time.Time

	mu      sync.Mutex        // guards everything below
	rows    map[string]*row   // by checkout id
	jobs    []*job            // in the order in which they entered
	of      map[string][]*job // the same jobs, by checkout
	entered int64             // of the latest job

	configurations []catalogue.Configuration // in the order of the codes
	keys           []catalogue.Key           // in the order of their creation
	acts           []checkout.Act            // in the order in which they entered
	sandbox        map[string][]byte         // the fake processor's records
}

// row is everything on record about one checkout but its jobs.
type row struct {
	checkout  checkout.Checkout
	agreement *agreement.Agreement
	document  *agreement.Document
	moments   []checkout.Moment // in the order of the positions
}

// New returns an empty store. Jobs are due, and leases end, by now.
func New(now func() time.Time) *Store {
	return &Store{now: now, rows: map[string]*row{}, of: map[string][]*job{}, sandbox: map[string][]byte{}}
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

// read returns a copy of the result of f, which runs as locked runs it.
func read[T any](ctx context.Context, s *Store, f func() (T, error)) (v T, err error) {
	err = s.locked(ctx, func() error {
		was, err := f()
		v = copyOf(was)
		return err
	})
	return v, err
}

// all returns the checkouts that a condition admits, in the order of their creation.
func (s *Store) all(admits func(*row) bool) (list []*row) {
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

// first returns the first value of a list that matches, or an error wrapping ErrNotFound.
func first[T any](list []T, what string, match func(T) bool) (v T, err error) {
	if i := slices.IndexFunc(list, match); i >= 0 {
		return list[i], nil
	}
	return v, fmt.Errorf("%s: %w", what, ports.ErrNotFound)
}

// Ready implements [ports.Store]. Memory is always ready.
func (s *Store) Ready(ctx context.Context) error { return ctx.Err() }

// Scrub implements [ports.Desk]. There are no files.
func (s *Store) Scrub(ctx context.Context) error { return ctx.Err() }

// stored returns a time as every store returns it: in UTC to the millisecond.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// copyOf returns a copy that shares no memory with its original, and is normalised as every store returns values: times as stored does,
// an empty list as nil.
func copyOf[T any](v T) T {
	copyInto(reflect.ValueOf(&v).Elem())
	return v
}

// copyInto replaces everything that a value refers to by a copy.
func copyInto(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		if at, ok := v.Addr().Interface().(*time.Time); ok {
			*at = stored(*at)
			return
		}
		for i := range v.NumField() {
			copyInto(v.Field(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			target := reflect.New(v.Type().Elem())
			target.Elem().Set(v.Elem())
			copyInto(target.Elem())
			v.Set(target)
		}
	case reflect.Slice:
		list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(list, v)
		if v.SetZero(); list.Len() == 0 {
			return
		}
		v.Set(list)
		if elem := v.Type().Elem().Kind(); elem != reflect.Uint8 && elem != reflect.String {
			for i := range v.Len() {
				copyInto(v.Index(i))
			}
		}
	}
}

// KeepSandboxRecord stores a record of the fake processor under a name, unless there is one already: that stays.
func (s *Store) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	return s.locked(ctx, func() error {
		if _, ok := s.sandbox[name]; !ok {
			s.sandbox[name] = copyOf(data)
		}
		return nil
	})
}

// SandboxRecord returns the record under a name, or ports.ErrNotFound.
func (s *Store) SandboxRecord(ctx context.Context, name string) ([]byte, error) {
	return read(ctx, s, func() ([]byte, error) {
		if data, ok := s.sandbox[name]; ok {
			return data, nil
		}
		return nil, fmt.Errorf("sandbox record %s: %w", name, ports.ErrNotFound)
	})
}

// DropSandboxRecords removes the records under the names with a prefix.
func (s *Store) DropSandboxRecords(ctx context.Context, prefix string) error {
	return s.locked(ctx, func() error {
		maps.DeleteFunc(s.sandbox, func(name string, _ []byte) bool { return strings.HasPrefix(name, prefix) })
		return nil
	})
}

func (s *Store) Providers(ctx context.Context, codes ...string) ([]catalogue.Provider, error) {
	return read(ctx, s, func() (list []catalogue.Provider, err error) {
		for _, c := range s.configurations {
			if len(codes) == 0 || slices.Contains(codes, c.Provider.Code) {
				list = append(list, c.Provider)
			}
		}
		return list, nil
	})
}

func (s *Store) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	return read(ctx, s, func() (catalogue.Course, error) {
		of, err := first(s.configurations, "provider "+provider, func(c catalogue.Configuration) bool { return c.Provider.Code == provider })
		if err != nil {
			return catalogue.Course{}, err
		}
		return first(of.Courses, "course of provider "+provider, func(c catalogue.Course) bool { return c.Code == code })
	})
}

func (s *Store) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	return read(ctx, s, func() (catalogue.Key, error) {
		return first(s.keys, "API key", func(k catalogue.Key) bool { return k.Hash == hash })
	})
}

func (s *Store) ReplaceProviders(ctx context.Context,
	decide func([]catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error)) error {
	return s.locked(ctx, func() error {
		after, acts, err := decide(copyOf(s.configurations))
		if err != nil {
			return err
		}
		after = copyOf(after)
		slices.SortFunc(after, func(a, b catalogue.Configuration) int { return cmp.Compare(a.Provider.Code, b.Provider.Code) })
		if twice := catalogue.Twice(after); twice != "" {
			return fmt.Errorf("%s: %w", twice, ports.ErrDuplicate)
		}
		s.configurations, s.acts = after, append(s.acts, copyOf(acts)...)
		return nil
	})
}

func (s *Store) Keys(ctx context.Context) ([]catalogue.Key, error) {
	return read(ctx, s, func() ([]catalogue.Key, error) { return s.keys, nil })
}

func (s *Store) AddKey(ctx context.Context, key catalogue.Key, act checkout.Act) error {
	return s.locked(ctx, func() error {
		if slices.ContainsFunc(s.keys, func(k catalogue.Key) bool { return k.ID == key.ID || k.Hash == key.Hash }) {
			return fmt.Errorf("API key %s: %w", key.ID, ports.ErrDuplicate)
		}
		s.keys, s.acts = append(s.keys, copyOf(key)), append(s.acts, copyOf(act))
		slices.SortFunc(s.keys, func(a, b catalogue.Key) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
		return nil
	})
}

func (s *Store) RevokeKey(ctx context.Context, id string, at time.Time, act checkout.Act) error {
	return s.locked(ctx, func() error {
		i := slices.IndexFunc(s.keys, func(k catalogue.Key) bool { return k.ID == id })
		if i < 0 {
			return fmt.Errorf("API key %s: %w", id, ports.ErrNotFound)
		}
		if s.keys[i].RevokedAt.IsZero() {
			s.keys[i].RevokedAt, s.acts = stored(at), append(s.acts, copyOf(act))
		}
		return nil
	})
}
