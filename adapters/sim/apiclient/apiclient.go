// Package apiclient is a client of the service's own API, for the demonstration and for tests: a [Client] sends the
// requests of the providers' backends, and a [Browser] opens the hosted pages for their payers.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Paths of the API.
const (
	EnvironmentPath = "/v1/environment"
	CheckoutsPath   = "/v1/provider-checkouts" // for creates; a checkout is below it
	ConfirmSuffix   = "/confirm"               // of the path of a checkout
)

// Agent is the User-Agent of the requests that this program sends as a provider does.
const Agent = "provider-checkout"

// maxBody is the largest body, in bytes, that is read.
const maxBody = 64 << 20

// Client sends the requests of providers' backends to one server. It retries nothing.
type Client struct {
	Base string
	Keys map[string]string // by provider code
	HTTP *http.Client
	Cut  atomic.Int64 // requests that were sent completely and never answered
}

// New returns a client of the server at base, with a key for each provider. It waits a minute for an answer.
func New(base string, keys map[string]string) *Client {
	return &Client{Base: base, Keys: keys,
		HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}}
}

// Create sends a create of the provider. headers are names and values in turn.
func (c *Client) Create(ctx context.Context, provider, body string, headers ...string) (Response, error) {
	return c.Call(ctx, provider, http.MethodPost, CheckoutsPath, body, headers...)
}

// Poll gets the checkout that a create answered with.
func (c *Client) Poll(ctx context.Context, created Response) (Response, error) {
	return c.Call(ctx, created.Provider(), http.MethodGet, created.CheckoutPath(), "")
}

// Confirm sends a confirm of the checkout that a create answered with.
func (c *Client) Confirm(ctx context.Context, created Response, body string) (Response, error) {
	return c.Call(ctx, created.Provider(), http.MethodPost, created.CheckoutPath()+ConfirmSuffix, body)
}

// Call sends one request of the provider, once, and reads the response. headers are names and values in turn. An error
// means that there was no response.
func (c *Client) Call(ctx context.Context, provider, method, path, body string, headers ...string) (Response, error) {
	return c.Send(ctx, method, path, body,
		append([]string{"Authorization", "Bearer " + c.Keys[provider], "Content-Type", "application/json"}, headers...)...)
}

// Send sends one request with these headers alone, as Call does. Of two headers with a name the last counts.
func (c *Client) Send(ctx context.Context, method, path, body string, headers ...string) (Response, error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(w.Err == nil) }})
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, strings.NewReader(body))
	if err != nil {
		return Response{}, err
	}
	req.GetBody = nil // otherwise the transport retries a request with an Idempotency-Key by itself
	req.Header.Set("User-Agent", Agent)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	api := *c.HTTP
	api.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the key goes nowhere else
	r, err := Send(api.Do, req)
	if err != nil && sent.Load() {
		c.Cut.Add(1)
	}
	return r, err
}

// Send sends a request by do, which is the method of an [http.Client] or of its transport, and reads the response. An
// error means that there was no response.
func Send(do func(*http.Request) (*http.Response, error), req *http.Request) (Response, error) {
	resp, err := do(req)
	if err != nil {
		return Response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	if err == nil && len(text) > maxBody {
		err = errors.New("the answer has no end")
	}
	if err != nil {
		return Response{}, err
	}
	r := Response{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
	if resp.Request != nil {
		r.URL = resp.Request.URL
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") {
		r.JSON, _ = ParseObject(text) // nil if it is no JSON
	}
	return r, nil
}

// IsCut reports whether an error is the connection's, not the response's.
func IsCut(err error) bool {
	return errors.As(err, new(*url.Error)) || errors.As(err, new(*net.OpError)) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Response is a response of the service, read to its end.
type Response struct {
	URL    *url.URL // of the request; after redirects, of the last one
	Status int
	Header http.Header
	Body   string
	JSON   Object // nil if the body is not JSON
}

// StatusLine returns the status with its text.
func (r Response) StatusLine() string { return fmt.Sprint(r.Status, " ", http.StatusText(r.Status)) }

// At returns the value at a dotted path of the JSON body, or nil.
func (r Response) At(path string) any { return r.JSON.At(path) }

// String returns the value at a dotted path of the JSON body as text; "" if there is no value.
func (r Response) String(path string) string {
	if v := r.At(path); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// Provider returns the provider code in the response to a create.
func (r Response) Provider() string { return r.String("provider.provider_code") }

// CheckoutPath returns the path of the checkout in the response to a create.
func (r Response) CheckoutPath() string {
	return CheckoutsPath + "/" + r.String("checkout.checkout_id")
}

// SetupURL returns the address of the setup page in the response to a create.
func (r Response) SetupURL() string { return r.String("direct_debit.setup_url") }

// SetupComplete reports whether the bank setup is complete in the response to a poll.
func (r Response) SetupComplete() bool { return r.At("direct_debit.setup_complete") == true }

// ConfirmBody returns the body of the valid confirm for the response to a create, in which the student agrees to the plan and declares
// everything.
func (r Response) ConfirmBody() string {
	return encode(map[string]any{
		"provider": map[string]string{"provider_code": r.Provider(), "provider_order_id": r.String("provider.provider_order_id")},
		"checkout": map[string]string{"checkout_id": r.String("checkout.checkout_id"), "checkout_token": r.String("direct_debit.token"),
			"opportunity_id": r.String("records.opportunity_id"), "dda_id": r.String("direct_debit.dda_id")},
		"payment": map[string]any{"payment_method": "service_payment_plan", "first_payment_date": r.String("plan.first_payment_date"),
			"deposit_confirmed": true},
		"declarations": map[string]bool{"payment_plan_accepted": true, "information_confirmed": true, "privacy_consent_accepted": true},
	})
}

// Object is a JSON object that was received. Its numbers keep their text.
type Object map[string]any

// ParseObject parses a JSON object.
func ParseObject(text []byte) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var o Object
	if err := decoder.Decode(&o); err != nil {
		return nil, fmt.Errorf("read %.200q: %w", text, err)
	}
	return o, nil
}

// At returns the value at a dotted path, or nil. A number in the path is an index of a list.
func (o Object) At(path string) any {
	var value any = map[string]any(o)
	for name := range strings.SplitSeq(path, ".") {
		if list, is := value.([]any); is {
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(list) {
				return nil
			}
			value = list[n]
			continue
		}
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// Text returns the string at a dotted path, or "".
func (o Object) Text(path string) string {
	s, _ := o.At(path).(string)
	return s
}

// List returns the objects of a list at a dotted path.
func (r Response) List(path string) (list []Object) {
	values, _ := r.At(path).([]any)
	for _, v := range values {
		if o, ok := v.(map[string]any); ok {
			list = append(list, o)
		}
	}
	return list
}
