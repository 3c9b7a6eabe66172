package gocardless

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// The bounds of one request, and of a call with its retries.
const (
	attemptTimeout = 4 * time.Second
	maxAttempts    = 4
	firstPause     = 100 * time.Millisecond // between attempts; it doubles
	maxBody        = 2 << 20                // a full page of events takes less than half of it
)

// client makes the calls, each with its retries and within the budget.
type client struct {
	base      string
	token     string
	transport http.RoundTripper // used bare: an http.Client would follow redirects, and take the token along
	budget    *budget
	observe   func(operation, outcome string, took time.Duration)
	now       func() time.Time
	rand      io.Reader
	ahead     atomic.Int64 // nanoseconds by which this clock is ahead of GoCardless', by its latest answer
}

func newClient(o Options) *client {
	return &client{base: o.URL, token: o.Token, transport: o.Transport, observe: o.Observe, now: o.Now, rand: o.Rand,
		budget: newBudget(o.RequestsPerMinute, o.Now)}
}

// call is one call of the API. Each may be sent again: a read changes nothing, and a POST has an idempotency key.
type call struct {
	purpose checkout.Purpose
	path    string
	query   url.Values
	key     string // the idempotency key of a POST; "" of a GET
	body    any    // of a POST; nil of an action
}

func (c call) method() string {
	if c.key == "" {
		return http.MethodGet
	}
	return http.MethodPost
}

// name returns the name of the resource, which is around the body and the answer: the first segment of the path.
func (c call) name() string {
	name, _, _ := strings.Cut(c.path[1:], "/")
	return name
}

// send makes a call, with retries, and returns the resource in its answer. Its error is an *apiError if GoCardless
// refused the call.
func send[T any](ctx context.Context, c *client, call call) (T, error) {
	var none T
	var body []byte
	if call.body != nil {
		var err error
		if body, err = json.Marshal(map[string]any{call.name(): call.body}); err != nil {
			return none, fmt.Errorf("encode %s: %w", call.path, err)
		}
	}
	for attempt := 1; ; attempt++ {
		answer, err := c.attempt(ctx, call, body)
		var resource T
		if err == nil {
			resource, err = decode[T](answer, call.name())
		}
		if err == nil {
			return resource, nil
		}
		if attempt == maxAttempts || !transient(err) {
			return none, fmt.Errorf("%s %s: %w", call.method(), call.path, err)
		}
		pause := outbound.Jitter(c.rand, firstPause<<(attempt-1))
		if !c.budget.wait(ctx, pause, pause) {
			return none, fmt.Errorf("%s %s: %w", call.method(), call.path, errors.Join(err, ctx.Err()))
		}
	}
}

// attempt sends one request and returns the body of a successful answer.
func (c *client) attempt(ctx context.Context, call call, body []byte) (answer []byte, err error) {
	if err := c.budget.take(ctx, call.purpose); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	address := c.base + call.path
	if len(call.query) > 0 {
		address += "?" + call.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, call.method(), address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address is not a URL")
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("GoCardless-Version", "2015-07-06")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "provider-checkout")
	if call.key != "" {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", call.key)
	}
	sent := c.now()
	defer func() { c.observe(call.method()+" "+call.name(), outcomeOf(err), c.now().Sub(sent)) }()
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return nil, &outbound.Lost{Cause: outbound.Cause(ctx, err)}
	}
	defer resp.Body.Close()
	answer, err = outbound.ReadBody(resp, maxBody)
	if err != nil {
		return nil, &outbound.Lost{Cause: outbound.Cause(ctx, err)}
	}
	c.budget.observe(resp.Header, resp.StatusCode, sent, c.now())
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, newAPIError(resp.StatusCode, answer)
	}
	if date, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		c.ahead.Store(int64(c.now().Sub(date)))
	}
	return answer, nil
}

// theirTime returns the time by GoCardless' clock, as far as its answers say: the times of its events are by that.
func (c *client) theirTime() time.Time { return c.now().Add(-time.Duration(c.ahead.Load())).UTC() }

// outcomeOf returns the word for the outcome of a request.
func outcomeOf(err error) string {
	refused, ok := errors.AsType[*apiError](err)
	switch {
	case err == nil:
		return "ok"
	case !ok:
		return "lost"
	case refused.status == http.StatusTooManyRequests:
		return "limited"
	case refused.status >= http.StatusInternalServerError:
		return "failed"
	}
	return "refused"
}

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
		err = checked.check()
	}
	return resource, err
}

func (c *client) createBillingRequest(ctx context.Context, start checkout.SetupStart) (billingRequestWire, error) {
	return send[billingRequestWire](ctx, c, call{purpose: checkout.ForPayer, path: "/billing_requests", key: start.Key,
		body: toBillingRequestWire(start)})
}

func (c *client) billingRequest(ctx context.Context, p checkout.Purpose, id string) (billingRequestWire, error) {
	return send[billingRequestWire](ctx, c, call{purpose: p, path: "/billing_requests/" + url.PathEscape(id)})
}

func (c *client) mandate(ctx context.Context, p checkout.Purpose, id string) (mandateWire, error) {
	return send[mandateWire](ctx, c, call{purpose: p, path: "/mandates/" + url.PathEscape(id)})
}

func (c *client) creditors(ctx context.Context) ([]creditorWire, error) {
	return send[[]creditorWire](ctx, c, call{purpose: checkout.ForNotification, path: "/creditors"})
}

// events returns the events that a query finds, the newest first. names are names and values of the query in turn.
func (c *client) events(ctx context.Context, p checkout.Purpose, names ...string) ([]notifiedWire, error) {
	query := url.Values{}
	for i := 0; i < len(names); i += 2 {
		query.Set(names[i], names[i+1])
	}
	return send[[]notifiedWire](ctx, c, call{purpose: p, path: "/events", query: query})
}

// newKey returns an idempotency key that no call has had.
func (c *client) newKey() (string, error) {
	var key [16]byte
	if _, err := io.ReadFull(c.rand, key[:]); err != nil {
		return "", fmt.Errorf("read random bytes: %w", err)
	}
	return hex.EncodeToString(key[:]), nil
}

// cancel cancels a billing request or a mandate. The error is errInvalidState where its state does not allow that: it has ended, if
// only by an attempt whose answer was lost, or cannot be cancelled yet.
func (c *client) cancel(ctx context.Context, p checkout.Purpose, resources, id string) error {
	key, err := c.newKey()
	if err != nil {
		return err
	}
	_, err = send[json.RawMessage](ctx, c, call{purpose: p, path: "/" + resources + "/" + url.PathEscape(id) + "/actions/cancel", key: key})
	return err
}

// createFlow makes a flow of a billing request. There may be several, so its key is new each time: the answer to a flow
// that was made before could not be had again.
func (c *client) createFlow(ctx context.Context, request string, start checkout.SetupStart) (flowWire, error) {
	for range maxAttempts {
		key, err := c.newKey()
		if err != nil {
			return flowWire{}, err
		}
		made, err := send[flowWire](ctx, c, call{purpose: checkout.ForPayer, path: "/billing_request_flows",
			key: key, body: toFlowWire(request, start)})
		var conflict *apiError
		if !errors.As(err, &conflict) || conflict.conflicting == "" {
			return made, err
		}
	}
	return flowWire{}, errors.New("every answer was lost")
}

// fulfilledAt returns the time at which a billing request was fulfilled by its events, or the zero time if no event says so.
func (c *client) fulfilledAt(ctx context.Context, p checkout.Purpose, request string) (time.Time, error) {
	latest, err := c.events(ctx, p, "resource_type", "billing_requests", "action", "fulfilled", "billing_request", request, "limit", "1")
	if err != nil || len(latest) == 0 {
		return time.Time{}, err
	}
	return latest[0].CreatedAt, nil
}

// mandateSince returns when a mandate reached its status, and the reason code, by its latest event. The time is zero
// where that event is another's: the status has just changed again.
func (c *client) mandateSince(ctx context.Context, p checkout.Purpose, mandate mandateWire) (since time.Time, reason string, err error) {
	latest, err := c.events(ctx, p, "resource_type", "mandates", "mandate", mandate.ID, "limit", "1")
	if err != nil || len(latest) == 0 || !latest[0].leadsTo(mandate.Status) {
		return time.Time{}, "", err
	}
	return latest[0].CreatedAt.UTC().Truncate(time.Millisecond), outbound.Word(latest[0].Details.ReasonCode), nil
}
