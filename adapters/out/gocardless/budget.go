package gocardless

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// reserved is the part of the budget, in percent, that each purpose leaves to the purposes before it.
var reserved = map[checkout.Purpose]float64{checkout.ForConfirm: 0, checkout.ForPayer: 10, checkout.ForNotification: 25, checkout.ForPoll: 50}

const (
	// longestBlock is the longest wait of background calls after a refused call: a notification that was lost must be
	// made good within a minute.
	longestBlock = 20 * time.Second
	// nap is the time after which a waiting background call looks whether GoCardless takes calls again.
	nap = time.Second
)

// errBudget is the error of a call that would take more of the account's rate limit than its purpose may.
var errBudget = fmt.Errorf("the request budget is used up: %w", ports.ErrBusy)

// burst is the part of a minute's requests that the bucket holds.
const burst = 1. / 6

// underWay is the part that is kept for requests of other processes that are under way.
const underWay = 0.03

// budget keeps the processes that use an account within its rate limit: a bucket that holds a part of a minute's requests, so that
// a burst does not take what the rest of the minute needs. Each answer says what the other processes have taken.
type budget struct {
	now     func() time.Time
	pause   func(context.Context, time.Duration) (lasted bool)
	rate    float64 // tokens a second
	size    float64
	mu      sync.Mutex
	tokens  float64
	spare   float64   // what background calls may take of the tokens: the rest of the minute does not need it
	at      time.Time // of tokens and spare
	refused time.Time // when GoCardless last refused a call,
	blocked time.Time // and until when it said so
}

func newBudget(perMinute int, now func() time.Time) *budget {
	b := &budget{now: now, pause: outbound.Pause, rate: float64(perMinute) / 60, size: max(float64(perMinute)*burst, 1)}
	b.tokens, b.spare, b.at = b.size, b.size, now()
	return b
}

// left returns the tokens of the present.
func (b *budget) left() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return min(b.size, b.tokens+max(0, b.now().Sub(b.at).Seconds())*b.rate)
}

// take takes a request out of the budget, and waits for one if ctx lasts until then.
func (b *budget) take(ctx context.Context, p checkout.Purpose) error {
	for {
		wait := b.tryTake(p)
		if wait == 0 {
			return nil
		}
		if !b.wait(ctx, wait, nap) {
			return errors.Join(errBudget, ctx.Err())
		}
	}
}

// wait pauses for the whole wait, or for a part of it that is no longer than most. It reports false where ctx ends before the
// whole wait is over.
func (b *budget) wait(ctx context.Context, whole, most time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !(ok && time.Until(deadline) < whole) && b.pause(ctx, min(whole, most))
}

// tryTake takes a request and returns 0, or returns after how long there may be one.
func (b *budget) tryTake(p checkout.Purpose) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	came := max(0, now.Sub(b.at).Seconds()) * b.rate
	b.tokens, b.spare, b.at = min(b.size, b.tokens+came), min(b.size, b.spare+came), now
	// What a person waits for is tried even while GoCardless refuses calls: these are few, and other processes' share of
	// the limit may come back sooner than announced.
	if p > checkout.ForPayer && now.Before(b.blocked) {
		return b.blocked.Sub(now)
	}
	have, need := b.tokens, min(1+b.size*reserved[p]/100, b.size)
	if p > checkout.ForPayer {
		have = min(have, b.spare)
	}
	if have >= need {
		b.tokens--
		b.spare--
		return 0
	}
	return time.Duration((need - have) / b.rate * float64(time.Second))
}

// observe learns from the answer to a call how much of the account's limit is left. A call that was taken after one was refused
// shows that the limit has room again. Times in an answer are by GoCardless' clock.
func (b *budget) observe(h http.Header, status int, sent, now time.Time) {
	there, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		there = now
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if status == http.StatusTooManyRequests {
		b.tokens = min(b.tokens, 0)
		if wait := retryAfter(h, there).Sub(there); wait > 0 {
			b.refused, b.blocked = now, now.Add(min(wait, longestBlock))
		}
		return
	}
	if status < 300 && !sent.Before(b.refused) {
		b.blocked = time.Time{}
	}
	left, spare := shared(h, there)
	b.tokens, b.spare = min(b.tokens, left), min(b.spare, spare)
}

// shared returns how much is left of the whole account's requests of the present minute, and how much more than the rest of the
// minute needs: the tokens in a bucket that all processes share, because all see it in their answers. Both are infinite if the
// answer does not say.
func shared(h http.Header, now time.Time) (left, spare float64) {
	remaining, err := strconv.ParseUint(h.Get("RateLimit-Remaining"), 10, 32)
	if err != nil {
		return math.Inf(1), math.Inf(1)
	}
	limit, _ := strconv.ParseUint(h.Get("RateLimit-Limit"), 10, 32)
	reset, _ := http.ParseTime(h.Get("RateLimit-Reset"))
	rest := min(max(reset.Sub(now), 0), time.Minute)
	left = float64(remaining)
	return left, left - float64(limit)*(underWay+(1-burst-underWay)*rest.Minutes())
}

// retryAfter returns the time at which a refused call may be repeated: GoCardless says it as RateLimit-Reset, and a proxy before it
// as Retry-After. It is zero if neither does.
func retryAfter(h http.Header, now time.Time) time.Time {
	if seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16); err == nil {
		return now.Add(time.Duration(seconds) * time.Second)
	}
	for _, name := range []string{"Retry-After", "RateLimit-Reset"} {
		if at, err := http.ParseTime(h.Get(name)); err == nil {
			return at
		}
	}
	return time.Time{}
}
