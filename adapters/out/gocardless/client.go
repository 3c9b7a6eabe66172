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
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// The bounds of one request, and of a call with its retries.
const (
	attemptTimeout = 4 * time.Second
	maxAttempts    = 4
	maxBody        = 2 << 20 // a full page of events takes less than half of it
)

// client makes the calls, each with its retries and within the budget.
type client struct {
	base      string
	token     string
	transport http.RoundTripper // used bare: an http.Client would follow redirects, and take the token along
	budget    *budget
	now       func() time.Time
	rand      io.Reader
}

func newClient(o Options) *client {
	return &client{base: o.URL, token: o.Token, transport: o.Transport, now: o.Now, rand: o.Rand,
		budget: newBudget(o.RequestsPerMinute, o.Now)}
}

// call is one call of the API. Each may be sent again: a read changes nothing, and a POST has an idempotency key.
type call struct {
	purpose checkout.Purpose
	method  string
	path    string
	query   url.Values
	key     string // the idempotency key of a POST
	name    string // of the resource, around the body and the answer
	body    any
}

// send makes a call, with retries, and returns the resource in its answer. Its error is an *apiError if GoCardless
// refused the call.
func send[T any](ctx context.Context, c *client, call call) (T, error) {
	var none T
	var body []byte
	if call.body != nil {
		var err error
		if body, err = json.Marshal(map[string]any{call.name: call.body}); err != nil {
			return none, fmt.Errorf("encode %s: %w", call.path, err)
		}
	}
	for attempt := 1; ; attempt++ {
		answer, err := c.attempt(ctx, call, body)
		var resource T
		if err == nil {
			resource, err = decode[T](answer, call.name)
		}
		if err == nil {
			return resource, nil
		}
		wait, again := c.retry(err, attempt)
		if again {
			if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait || !c.budget.pause(ctx, wait) {
				again, err = false, errors.Join(err, ctx.Err())
			}
		}
		if !again {
			return none, fmt.Errorf("%s %s: %w", call.method, call.path, err)
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
	req, err := http.NewRequestWithContext(ctx, call.method, address, bytes.NewReader(body))
	if err != nil {
		return nil, errNotURL
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("GoCardless-Version", "2015-07-06")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "provider-checkout")
	if call.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", call.key)
	}
	sent := c.now()
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
		return nil, newAPIError(resp, answer)
	}
	return answer, nil
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
	return send[billingRequestWire](ctx, c, call{purpose: checkout.ForPayer, method: http.MethodPost, path: "/billing_requests",
		key: start.Key, name: "billing_requests", body: toBillingRequestWire(start)})
}

func (c *client) billingRequest(ctx context.Context, p checkout.Purpose, id string) (billingRequestWire, error) {
	return send[billingRequestWire](ctx, c, call{purpose: p, method: http.MethodGet,
		path: "/billing_requests/" + url.PathEscape(id), name: "billing_requests"})
}

func (c *client) mandate(ctx context.Context, p checkout.Purpose, id string) (mandateWire, error) {
	return send[mandateWire](ctx, c, call{purpose: p, method: http.MethodGet, path: "/mandates/" + url.PathEscape(id),
		name: "mandates"})
}

// createFlow makes a flow of a billing request. There may be several, so its key is new each time: the answer to a flow
// that was made before could not be had again.
func (c *client) createFlow(ctx context.Context, request string, start checkout.SetupStart) (flowWire, error) {
	for range maxAttempts {
		var key [16]byte
		if _, err := io.ReadFull(c.rand, key[:]); err != nil {
			return flowWire{}, fmt.Errorf("read random bytes: %w", err)
		}
		made, err := send[flowWire](ctx, c, call{purpose: checkout.ForPayer, method: http.MethodPost,
			path: "/billing_request_flows", key: hex.EncodeToString(key[:]), name: "billing_request_flows",
			body: toFlowWire(request, start)})
		var conflict *apiError
		if !errors.As(err, &conflict) || conflict.conflicting == "" {
			return made, err
		}
	}
	return flowWire{}, errors.New("every answer was lost")
}

// latestEvent returns the latest event that a query finds; ok is false if it finds no event.
func (c *client) latestEvent(ctx context.Context, p checkout.Purpose, query url.Values) (event notifiedWire, ok bool, err error) {
	query.Set("limit", "1")
	found, err := send[[]notifiedWire](ctx, c, call{purpose: p, method: http.MethodGet, path: "/events", name: "events", query: query})
	if err != nil || len(found) == 0 {
		return event, false, err
	}
	return found[0], true, nil
}

// fulfilledAt returns the time at which a billing request was fulfilled by its events, or the zero time if no event says so.
func (c *client) fulfilledAt(ctx context.Context, p checkout.Purpose, request string) (time.Time, error) {
	event, _, err := c.latestEvent(ctx, p,
		url.Values{"resource_type": {"billing_requests"}, "action": {"fulfilled"}, "billing_request": {request}})
	return event.CreatedAt, err
}

// mandateSince returns when a mandate reached its status, and the reason code, by its latest event. The time is zero
// where that event is another's: the status has just changed again.
func (c *client) mandateSince(ctx context.Context, p checkout.Purpose, mandate mandateWire) (since time.Time, reason string, err error) {
	event, ok, err := c.latestEvent(ctx, p, url.Values{"resource_type": {"mandates"}, "mandate": {mandate.ID}})
	if err != nil || !ok || !event.leadsTo(mandate.Status) {
		return time.Time{}, "", err
	}
	return event.CreatedAt.UTC().Truncate(time.Millisecond), outbound.Word(event.Details.ReasonCode), nil
}

func (c *client) creditors(ctx context.Context) ([]creditorWire, error) {
	return send[[]creditorWire](ctx, c, call{purpose: checkout.ForNotification, method: http.MethodGet, path: "/creditors",
		name: "creditors"})
}
