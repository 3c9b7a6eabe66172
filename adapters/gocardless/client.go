package gocardless

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/provider-checkout/provider-checkout/ports"
)

// The bounds of one request, and of a call with its retries.
const (
	attemptTimeout = 4 * time.Second
	maxAttempts    = 4
	maxHeader      = 32 << 10
	maxBody        = 2 << 20 // a full page of events takes less than half of it
	maxConns       = 64
)

// newTransport returns a transport with bounded connections, whose proxies are those of the environment.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: attemptTimeout}).DialContext,
		TLSHandshakeTimeout:    attemptTimeout,
		MaxResponseHeaderBytes: maxHeader,
		MaxConnsPerHost:        maxConns,
		MaxIdleConnsPerHost:    maxConns,
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true,
	}
}

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
	purpose ports.Purpose
	method  string
	path    string
	query   url.Values
	key     string // the idempotency key of a POST
	name    string // of the resource, around the body and the answer
	body    any
}

// send makes a call, with retries, and decodes the resource in its answer into out. Its error is an *apiError if
// GoCardless refused the call.
func (c *client) send(ctx context.Context, call call, out any) error {
	var body []byte
	if call.body != nil {
		var err error
		if body, err = json.Marshal(map[string]any{call.name: call.body}); err != nil {
			return fmt.Errorf("encode %s: %w", call.path, err)
		}
	}
	for attempt := 1; ; attempt++ {
		err := c.attempt(ctx, call, body, out)
		wait, again := c.retry(call, err, attempt)
		if !again {
			return wrap(call, err)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < wait || !pause(ctx, wait) {
			return wrap(call, errors.Join(err, ctx.Err()))
		}
	}
}

func wrap(call call, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", call.method, call.path, err)
}

// attempt sends one request.
func (c *client) attempt(ctx context.Context, call call, body []byte, out any) error {
	if err := c.budget.take(ctx, call.purpose); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	address := c.base + call.path
	if len(call.query) > 0 {
		address += "?" + call.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, call.method, address, bytes.NewReader(body))
	if err != nil {
		return errNotURL
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("GoCardless-Version", "2015-07-06")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "provider-checkout")
	if call.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Idempotency-Key", call.key)
	}
	resp, err := c.transport.RoundTrip(req)
	if err != nil {
		return &transportError{cause(ctx, err)}
	}
	defer resp.Body.Close()
	answer, err := readBody(resp)
	if err != nil {
		return &transportError{cause(ctx, err)}
	}
	c.budget.observe(resp.Header, resp.StatusCode, c.now())
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return newAPIError(resp, answer)
	}
	return decode(answer, call.name, out)
}

// readBody reads an answer, which must be JSON and of a bounded size.
func readBody(resp *http.Response) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxBody:
		return nil, fmt.Errorf("the answer is larger than %d bytes", maxBody)
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); resp.StatusCode < 300 && (err != nil || kind != "application/json") {
		return nil, fmt.Errorf("the answer is %q, not JSON", kind)
	}
	return data, nil
}

// decode reads the resource with that name from an answer, which has nothing after it.
func decode(data []byte, name string, out any) error {
	var resources map[string]json.RawMessage
	if err := json.Unmarshal(data, &resources); err != nil {
		return &transportError{fmt.Errorf("the answer is not JSON: %w", withoutText(err))}
	}
	resource, ok := resources[name]
	if !ok || string(resource) == "null" {
		return &transportError{fmt.Errorf("the answer has no %s", name)}
	}
	if err := json.Unmarshal(resource, out); err != nil {
		return &transportError{fmt.Errorf("the answer's %s: %w", name, withoutText(err))}
	}
	if checked, ok := out.(interface{ check() error }); ok {
		return checked.check()
	}
	return nil
}

// withoutText returns an error of decoding that repeats nothing of what was decoded, which may be a payer's.
func withoutText(err error) error {
	var at *json.UnmarshalTypeError
	if errors.As(err, &at) {
		return fmt.Errorf("field %s is no %s", at.Field, at.Type)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("syntax error at byte %d", syntax.Offset)
	}
	return errors.New("it does not have the right shape")
}

func (c *client) createBillingRequest(ctx context.Context, start ports.SetupStart) (made billingRequestWire, err error) {
	return made, c.send(ctx, call{purpose: ports.ForPayer, method: http.MethodPost, path: "/billing_requests", key: start.Key,
		name: "billing_requests", body: toBillingRequestWire(start)}, &made)
}

func (c *client) billingRequest(ctx context.Context, p ports.Purpose, id string) (found billingRequestWire, err error) {
	return found, c.send(ctx, call{purpose: p, method: http.MethodGet, path: "/billing_requests/" + url.PathEscape(id),
		name: "billing_requests"}, &found)
}

func (c *client) mandate(ctx context.Context, p ports.Purpose, id string) (found mandateWire, err error) {
	return found, c.send(ctx, call{purpose: p, method: http.MethodGet, path: "/mandates/" + url.PathEscape(id),
		name: "mandates"}, &found)
}

// createFlow makes a flow of a billing request. There may be several, so its key is new each time: the answer to a flow
// that was made before could not be had again.
func (c *client) createFlow(ctx context.Context, request string, start ports.SetupStart) (made flowWire, err error) {
	for range maxAttempts {
		key, err := c.newKey()
		if err != nil {
			return made, err
		}
		err = c.send(ctx, call{purpose: ports.ForPayer, method: http.MethodPost, path: "/billing_request_flows", key: key,
			name: "billing_request_flows", body: toFlowWire(request, start)}, &made)
		var conflict *apiError
		if !errors.As(err, &conflict) || conflict.conflicting == "" {
			return made, err
		}
	}
	return made, errors.New("every answer was lost")
}

func (c *client) newKey() (string, error) {
	var entropy [16]byte
	if _, err := io.ReadFull(c.rand, entropy[:]); err != nil {
		return "", fmt.Errorf("read random bytes: %w", err)
	}
	sum := sha256.Sum256(entropy[:])
	return hex.EncodeToString(sum[:16]), nil
}

// fulfilledAt returns when a billing request was fulfilled by its events, or the zero time if none says so.
func (c *client) fulfilledAt(ctx context.Context, p ports.Purpose, request string) (time.Time, error) {
	var found []notifiedWire
	err := c.send(ctx, call{purpose: p, method: http.MethodGet, path: "/events", name: "events",
		query: url.Values{"resource_type": {"billing_requests"}, "action": {"fulfilled"}, "billing_request": {request},
			"limit": {"1"}}}, &found)
	if err != nil || len(found) == 0 {
		return time.Time{}, err
	}
	return found[0].CreatedAt, nil
}

// mandateSince returns when a mandate reached its status, and the reason code, by its latest event. The time is zero
// where that event is another's: the status has just changed again.
func (c *client) mandateSince(ctx context.Context, p ports.Purpose, mandate mandateWire) (since time.Time, reason string, err error) {
	var found []notifiedWire
	err = c.send(ctx, call{purpose: p, method: http.MethodGet, path: "/events", name: "events",
		query: url.Values{"resource_type": {"mandates"}, "mandate": {mandate.ID}, "limit": {"1"}}}, &found)
	if err != nil || len(found) == 0 || !found[0].leadsTo(mandate.Status) {
		return time.Time{}, "", err
	}
	return found[0].CreatedAt.UTC().Truncate(time.Millisecond), plain(found[0].Details.ReasonCode), nil
}

func (c *client) creditors(ctx context.Context) (all []creditorWire, err error) {
	return all, c.send(ctx, call{purpose: ports.ForNotification, method: http.MethodGet, path: "/creditors", name: "creditors"}, &all)
}

// pause waits, and reports whether ctx lasted as long.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
