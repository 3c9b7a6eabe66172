// Package bounded holds a map of bounded size, which forgets the entries that were not used recently, and a cache over it.
package bounded

import (
	"sync"
	"time"
)

// Map keeps the entries that were put in or used most recently: at least the latest size of them, and at most twice
// as many. It is safe for concurrent use.
//
// Entries live in two generations. A full young generation becomes the old one, and the entries of the old generation
// that were not used since are forgotten.
type Map[K comparable, V any] struct {
	size int

	mu         sync.RWMutex
	young, old map[K]V
}

// New returns an empty map.
func New[K comparable, V any](size int) *Map[K, V] {
	return &Map[K, V]{size: size, young: make(map[K]V)}
}

// Get returns the value of key; ok is false if the key has no entry, or it was forgotten.
func (m *Map[K, V]) Get(key K) (v V, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if v, ok = m.young[key]; !ok {
		v, ok = m.old[key]
	}
	return v, ok
}

// Put sets the value of key.
func (m *Map[K, V]) Put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.put(key, v)
}

// Use returns the value of key, created by create if the key has no entry, and marks it as used.
func (m *Map[K, V]) Use(key K, create func() V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.young[key]
	if ok {
		return v
	}
	if v, ok = m.old[key]; !ok {
		v = create()
	}
	m.put(key, v)
	return v
}

func (m *Map[K, V]) put(key K, v V) {
	if _, ok := m.young[key]; !ok && len(m.young) >= m.size {
		m.old, m.young = m.young, make(map[K]V)
	}
	m.young[key] = v
}

// Cache keeps values for a short time, so that what seldom changes is not read for each request. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	life   time.Duration
	values *Map[K, cached[V]]
}

type cached[V any] struct {
	value V
	until time.Time
}

// NewCache returns an empty cache whose values live for a time. It keeps so many of them at least.
func NewCache[K comparable, V any](life time.Duration, size int) *Cache[K, V] {
	return &Cache[K, V]{life: life, values: New[K, cached[V]](size)}
}

// Get returns the value of key, as it was within the cache's life before now, or else as read says. Errors are not kept.
func (c *Cache[K, V]) Get(now time.Time, key K, read func() (V, error)) (V, error) {
	if value, ok := c.Fresh(now, key); ok {
		return value, nil
	}
	value, err := read()
	if err == nil {
		c.Put(now, key, value)
	}
	return value, err
}

// Fresh returns the value of key that was put in within the cache's life before now. A clock that steps back makes no value live
// longer.
func (c *Cache[K, V]) Fresh(now time.Time, key K) (value V, ok bool) {
	k, ok := c.values.Get(key)
	return k.value, ok && now.Before(k.until) && !now.Before(k.until.Add(-c.life))
}

// Latest returns the value of key that was put in last, however long ago.
func (c *Cache[K, V]) Latest(key K) (value V, ok bool) {
	k, ok := c.values.Get(key)
	return k.value, ok
}

// Put sets the value of key, as it is now.
func (c *Cache[K, V]) Put(now time.Time, key K, value V) {
	c.values.Put(key, cached[V]{value, now.Add(c.life)})
}
