package gocardless

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The bounds of one request, and of a call with its retries.
const (
	attemptTimeout = 4 * time.Second
	maxAttempts    = 4
	firstPause     = 100 * time.Millisecond // between attempts; it doubles
	maxBody        = 2 << 20                // a full page of events takes less than half of it
)

// client makes the calls, each with its retries and within the rate limit.
type client struct {
	Options
	limit *limiter
	ahead atomic.Int64 // nanoseconds by which this clock is ahead of GoCardless', by its latest answer
}

// call is one call of the API. Each may be sent again: what it would do twice changes nothing, or its key keeps it from that.
type call struct {
	method string
	path   string
	key    string // the idempotency key of a POST; "" for another key with each attempt
	body   any    // of a POST; nil of an action
}

// resource returns the name that is around the body and the answer: the first segment of the path.
func (c call) resource() string {
	return strings.FieldsFunc(c.path, func(r rune) bool { return r == '/' || r == '?' })[0]
}

// send makes a call, with retries, and returns the resource in its answer. Its error is an *apiError if GoCardless
// refused the call.
func send[T any](ctx context.Context, c *client, call call) (resource T, err error) {
	var body []byte
	if call.body != nil {
		body, _ = json.Marshal(object{call.resource(): call.body}) // texts and objects of them
	}
	for attempt := 1; ; attempt++ {
		answer, err := c.attempt(ctx, call, body)
		if err == nil {
			resource, err = decode[T](answer, call.resource())
		}
		switch {
		case err == nil:
			return resource, nil
		case attempt == maxAttempts || !transient(err) || !c.limit.sleep(ctx, outbound.Jitter(c.Rand, firstPause<<(attempt-1))):
			path, _, _ := strings.Cut(call.path, "?")
			return *new(T), fmt.Errorf("%s %s: %w", call.method, path, errors.Join(err, ctx.Err()))
		}
	}
}

// attempt sends one request and returns the body of a successful answer.
func (c *client) attempt(ctx context.Context, call call, body []byte) (answer []byte, err error) {
	if err := c.limit.wait(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, call.method, c.URL+call.path, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("GoCardless-Version", "2015-07-06")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "provider-checkout")
	if call.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", cmp.Or(call.key, rand.Text()))
	}
	resp, err := c.Transport.RoundTrip(req) // an http.Client would follow redirects, and take the token along
	if err != nil {
		return nil, &outbound.Lost{Cause: outbound.Cause(ctx, err)}
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusTooManyRequests {
		c.limit.refused(resp.Header)
	}
	answer, err = outbound.ReadBody(resp, maxBody)
	switch {
	case err != nil:
		return nil, &outbound.Lost{Cause: outbound.Cause(ctx, err)}
	case resp.StatusCode < 200, resp.StatusCode > 299:
		return nil, newAPIError(resp.StatusCode, answer)
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		c.ahead.Store(int64(c.Now().Sub(date)))
	}
	return answer, nil
}

// theirTime returns the time by GoCardless' clock, as far as its answers say: the times of its events are by that.
func (c *client) theirTime() time.Time { return c.Now().Add(-time.Duration(c.ahead.Load())).UTC() }

// decode returns the resource with that name in an answer. An answer that was cut off, or has another shape, is as good as
// lost.
func decode[T any](data []byte, name string) (resource T, err error) {
	var resources map[string]json.RawMessage
	if err := json.Unmarshal(data, &resources); err != nil {
		return resource, &outbound.Lost{Cause: fmt.Errorf("the answer is not JSON: %w", outbound.WithoutText(err))}
	}
	text, ok := resources[name]
	if !ok || string(text) == "null" {
		return resource, &outbound.Lost{Cause: fmt.Errorf("the answer has no %s", name)}
	}
	if err := json.Unmarshal(text, &resource); err != nil {
		return resource, &outbound.Lost{Cause: fmt.Errorf("the answer's %s: %w", name, outbound.WithoutText(err))}
	}
	if checked, ok := any(resource).(interface{ check() error }); ok {
		return resource, checked.check()
	}
	return resource, nil
}

// get gets the resources at a path. query has names and values in turn.
func get[T any](ctx context.Context, c *client, path string, query ...string) (T, error) {
	values := url.Values{}
	for pair := range slices.Chunk(query, 2) {
		values.Set(pair[0], pair[1])
	}
	return send[T](ctx, c, call{method: http.MethodGet, path: strings.TrimSuffix(path+"?"+values.Encode(), "?")})
}

func (c *client) billingRequest(ctx context.Context, id string) (billingRequestWire, error) {
	return get[billingRequestWire](ctx, c, "/billing_requests/"+url.PathEscape(id))
}

// cancel cancels a billing request or a mandate. The error is errInvalidState where its state does not allow that: it has ended, if
// only by an attempt whose answer was lost, or cannot be cancelled yet.
func (c *client) cancel(ctx context.Context, resources, id string) error {
	path := "/" + resources + "/" + url.PathEscape(id) + "/actions/cancel"
	_, err := send[json.RawMessage](ctx, c, call{method: http.MethodPost, path: path})
	return err
}

const maxReplacements = 5

// mandate returns the mandate with this id, or its replacement.
func (c *client) mandate(ctx context.Context, id string) (mandateWire, error) {
	for range maxReplacements {
		mandate, err := get[mandateWire](ctx, c, "/mandates/"+url.PathEscape(id))
		if err != nil || mandate.Links.NewMandate == "" {
			return mandate, err
		}
		id = mandate.Links.NewMandate
	}
	return mandateWire{}, fmt.Errorf("mandate %s is one of more than %d that replaced each other", outbound.Word(id), maxReplacements)
}

func (c *client) latestEvent(ctx context.Context, query ...string) (eventWire, error) {
	events, err := get[[]eventWire](ctx, c, "/events", append(query, "limit", "1")...)
	if err != nil || len(events) == 0 {
		return eventWire{}, err
	}
	return events[0], nil
}

// errInvalidState is a call that the resource's present state does not allow.
var errInvalidState = errors.New("invalid_state")

// apiError is an answer that is no success. It repeats GoCardless' own words for the kind of the error, never a message
// or a value, which may be a payer's.
type apiError struct {
	status      int
	kind        string   // "validation_failed", or the whole error where that is a string
	reasons     []string // of its parts, with the field's name where there is one
	requestID   string   // for GoCardless' support
	conflicting string   // the id of the resource that the idempotency key made before
}

const maxReasons = 10

func newAPIError(status int, body []byte) *apiError {
	var w errorWire
	if json.Unmarshal(body, &w) != nil { // the error may be a text
		var text struct{ Error string }
		_ = json.Unmarshal(body, &text)
		return &apiError{status: status, kind: outbound.Word(text.Error)}
	}
	e := &apiError{status: status, kind: outbound.Word(w.Error.Type), requestID: outbound.Word(w.Error.RequestID)}
	for _, part := range w.Error.Errors {
		if reason := strings.TrimSpace(outbound.Word(part.Field) + " " + outbound.Word(part.Reason)); reason != "" && len(e.reasons) < maxReasons {
			e.reasons = append(e.reasons, reason)
		}
		if part.Reason == "idempotent_creation_conflict" {
			e.conflicting = outbound.Word(part.Links.Conflicting)
		}
	}
	return e
}

func (e *apiError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("GoCardless answered %d %s", e.status, e.kind))
	if len(e.reasons) > 0 {
		text += " (" + strings.Join(e.reasons, ", ") + ")"
	}
	if e.requestID != "" {
		text += ", request " + e.requestID
	}
	return text
}

// Is reports whether the error means what a port's error means.
func (e *apiError) Is(target error) bool {
	switch target {
	case errInvalidState:
		return e.kind == "invalid_state"
	case ports.ErrNotFound:
		return e.status == http.StatusNotFound
	}
	return target == ports.ErrBusy && e.status == http.StatusTooManyRequests
}

func transient(err error) bool {
	refused, ok := errors.AsType[*apiError](err)
	return ok && (refused.status >= 500 || refused.status == http.StatusTooManyRequests) || errors.As(err, new(*outbound.Lost))
}

const (
	perMinute    = 1000 // requests of one account, by GoCardless' rate limit
	burst        = perMinute / 6
	longestPause = 20 * time.Second // after a refused request: GoCardless names a time up to a minute away
)

// errLimited is the error of a request that may not be sent within the caller's time.
var errLimited = fmt.Errorf("GoCardless' rate limit is used up: %w", ports.ErrBusy)

// limiter keeps the requests of this process within the rate limit, and holds them back after GoCardless has refused one, because
// other processes use the account too.
type limiter struct {
	bucket *rate.Limiter
	now    func() time.Time
	pause  func(context.Context, time.Duration) (lasted bool)
	mu     sync.Mutex
	closed time.Time // until then no request is sent
}

// wait returns when a request may be sent. It fails at once if that is not within the caller's time.
func (l *limiter) wait(ctx context.Context) error {
	l.mu.Lock()
	closed := l.closed.Sub(l.now())
	l.mu.Unlock()
	if closed > 0 && !l.sleep(ctx, closed) || l.bucket.Wait(ctx) != nil {
		return errLimited
	}
	return nil
}

// sleep pauses, and reports whether ctx lasts as long. If it cannot, sleep does not pause.
func (l *limiter) sleep(ctx context.Context, d time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !(ok && time.Until(deadline) < d) && l.pause(ctx, d)
}

// refused holds further requests back for as long as the answer to a refused request says.
func (l *limiter) refused(h http.Header) {
	now := l.now()
	there, err := http.ParseTime(h.Get("Date")) // dates in the answer are by GoCardless' clock
	if err != nil {
		there = now
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = now.Add(min(retryAfter(h, there), longestPause))
}

// retryAfter returns the pause that an answer asks for: GoCardless says it as RateLimit-Reset, and a proxy before it as Retry-After.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16); err == nil {
		return time.Duration(seconds) * time.Second
	}
	for _, name := range []string{"Retry-After", "RateLimit-Reset"} {
		if at, err := http.ParseTime(h.Get(name)); err == nil {
			return max(at.Sub(now), 0)
		}
	}
	return 0
}
