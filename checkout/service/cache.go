package service

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
)

// How long the operator's configuration is cached, because every request needs it, and it seldom changes: a running server refuses a
// revoked key within a second, and uses a provider file within five seconds of its being applied.
const (
	keyLife           = 500 * time.Millisecond
	configurationLife = 2 * time.Second
)

// cacheSize is the number of values that a cache keeps at least.
const cacheSize = 4096

// cache keeps values for a short time, so that what seldom changes is not read for each request.
type cache[K comparable, V any] struct {
	life   time.Duration
	values *bounded.Map[K, cached[V]]
	asking locks // by key, of once
}

type cached[V any] struct {
	value V
	until time.Time
}

func newCache[K comparable, V any](life time.Duration) *cache[K, V] {
	return &cache[K, V]{life: life, values: bounded.New[K, cached[V]](cacheSize)}
}

// get returns the value of key, as it was within the cache's life before now, or else as read says. Errors are not kept.
func (c *cache[K, V]) get(now time.Time, key K, read func() (V, error)) (V, error) {
	if value, ok := c.fresh(now, key); ok {
		return value, nil
	}
	value, err := read()
	if err == nil {
		c.put(now, key, value)
	}
	return value, err
}

// once is get for callers who wait for one another: however many of them ask, ask is called at most once in the cache's life. A
// caller that hangs up does not end the call, because others wait for its answer. The error is that of ctx.
func (c *cache[K, V]) once(ctx context.Context, now func() time.Time, key K, ask func(context.Context) V) (value V, err error) {
	unlock, _, err := c.asking.lock(ctx, fmt.Sprint(key))
	if err != nil {
		return value, err
	}
	defer unlock()
	value, ok := c.fresh(now(), key)
	if !ok {
		value = ask(context.WithoutCancel(ctx))
		c.put(now(), key, value)
	}
	return value, nil
}

// fresh returns the value of key that was put in within the cache's life before now. A clock that steps back makes no
// value live longer.
func (c *cache[K, V]) fresh(now time.Time, key K) (value V, ok bool) {
	k, ok := c.values.Get(key)
	return k.value, ok && now.Before(k.until) && !now.Before(k.until.Add(-c.life))
}

func (c *cache[K, V]) put(now time.Time, key K, value V) {
	c.values.Put(key, cached[V]{value, now.Add(c.life)})
}
