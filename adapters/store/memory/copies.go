package memory

import (
	"maps"
	"reflect"
	"time"
)

// Copy returns a store with a copy of everything on record, as the restored backup of a store is.
func (s *Store) Copy() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := New()
	c.Clock = s.Clock
	c.configurations, c.keys = copyOf(s.configurations), copyOf(s.keys)
	c.sandbox = maps.Clone(s.sandbox)
	for id, r := range s.rows {
		again := *r
		again.checkout, again.agreement, again.document, again.journal = copyOf(r.checkout), copyOf(r.agreement), copyOf(r.document), copyOf(r.journal)
		c.rows[id] = &again
	}
	for _, j := range s.queue.all {
		again := *j
		again.JobRecord = copyOf(j.JobRecord)
		c.queue.enter(&again)
	}
	c.acts = copyOf(s.acts)
	return c
}

// stored returns a time as every store returns it: in UTC to the millisecond.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// copyOf returns a copy that shares no memory with its original, and is normalised as every store returns values: times as
// stored does, an empty list as nil.
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
