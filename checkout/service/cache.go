package service

import (
	"context"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// How old what the operator configured may be when it is used: a running server refuses a
// revoked key within a second, and sees a provider file that was applied within five.
const (
	keyLife           = 500 * time.Millisecond
	configurationLife = 2 * time.Second
)

// configured reads what the operator configured, which every request asks for and which seldom changes.
type configured struct {
	store     ports.Store
	keys      *cache[[32]byte, catalogue.Key]
	providers *cache[string, catalogue.Provider]
	courses   *cache[[2]string, catalogue.Course]
}

func newConfigured(store ports.Store) configured {
	return configured{
		store:     store,
		keys:      newCache[[32]byte, catalogue.Key](keyLife),
		providers: newCache[string, catalogue.Provider](configurationLife),
		courses:   newCache[[2]string, catalogue.Course](configurationLife),
	}
}

func (c configured) key(ctx context.Context, now time.Time, hash [32]byte) (catalogue.Key, error) {
	return c.keys.get(now, hash, func() (catalogue.Key, error) {
		ctx, cancel := bounded(ctx)
		defer cancel()
		return c.store.Key(ctx, hash)
	})
}

func (c configured) provider(ctx context.Context, now time.Time, code string) (catalogue.Provider, error) {
	return c.providers.get(now, code, func() (catalogue.Provider, error) { return c.store.Provider(ctx, code) })
}

func (c configured) course(ctx context.Context, now time.Time, provider, code string) (catalogue.Course, error) {
	return c.courses.get(now, [2]string{provider, code}, func() (catalogue.Course, error) {
		return c.store.Course(ctx, provider, code)
	})
}

// cacheSize is how many values a generation of a cache holds.
const cacheSize = 4096

// cache keeps what was read for a short time, so that a busy provider's requests do not each
// read what seldom changes. It is bounded in memory: a full young generation becomes the old
// one, and the old one is forgotten. What was not found is not kept.
type cache[K comparable, V any] struct {
	life time.Duration

	mu         sync.RWMutex
	young, old map[K]kept[V]
}

type kept[V any] struct {
	value V
	until time.Time
}

func newCache[K comparable, V any](life time.Duration) *cache[K, V] {
	return &cache[K, V]{life: life, young: make(map[K]kept[V])}
}

// get returns the value of key, as it was within the cache's life before now, or else as read says.
func (c *cache[K, V]) get(now time.Time, key K, read func() (V, error)) (V, error) {
	c.mu.RLock()
	k, ok := c.young[key]
	if !ok {
		k, ok = c.old[key]
	}
	c.mu.RUnlock()
	if ok && now.Before(k.until) && !now.Before(k.until.Add(-c.life)) {
		return k.value, nil
	}
	value, err := read()
	if err == nil {
		c.put(key, kept[V]{value, now.Add(c.life)})
	}
	return value, err
}

func (c *cache[K, V]) put(key K, k kept[V]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.young) >= cacheSize {
		c.old, c.young = c.young, make(map[K]kept[V])
	}
	c.young[key] = k
}
