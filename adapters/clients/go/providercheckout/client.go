// Package providercheckout is the client of the API for a provider's backend, and checks the events that the service sends.
//
// A call is sent again, with the same bytes and the same Idempotency-Key, after a lost answer, a time-out, 429 or 5xx: after the
// seconds of Retry-After, or else after 1, 2, 4 and 8 seconds, and up to a quarter longer, so that many clients do not come back
// at once. Every operation may be repeated. Any other refusal is returned at once, as an *[Error].
package providercheckout

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	timeout  = 30 * time.Second // of one attempt
	attempts = 5
	maxWait  = time.Minute // a longer Retry-After is left to the caller
)

// Client calls the API with one provider's key. Many goroutines may use it at once.
type Client struct {
	HTTP     *http.Client // may be replaced before the first call; it should have a time-out and follow no redirect
	Attempts int          // of a call, at most
	base     string
	key      string
}

// New returns a client for a base address, such as https://pay.example.nz, with an API key of that environment.
func New(base, key string) *Client {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the API never redirects
	return &Client{&http.Client{Timeout: timeout, CheckRedirect: stay}, attempts, strings.TrimRight(base, "/"), key}
}

// Code says why a call was refused.
type Code string

// Error is the service's refusal of a call.
type Error struct {
	Status     int
	Code       Code // empty in an answer that is not the service's own, such as a proxy's
	Message    string
	Details    []Detail
	RequestID  string        // to quote when you ask the operator
	RetryAfter time.Duration // 0 without the header
}

// Detail is the fault of one field, such as student.email.
type Detail struct{ Field, Message string }

func (e *Error) Error() string {
	text := fmt.Sprintf("%d %s: %s", e.Status, cmp.Or(e.Code, "without a code"), e.Message)
	for _, d := range e.Details {
		text += fmt.Sprintf("; %s %s", d.Field, d.Message)
	}
	if e.RequestID != "" {
		text += " (" + e.RequestID + ")"
	}
	return text
}

// call is one call of the API.
type call struct {
	method, path  string
	query, header map[string]string
	request       any
}

// given writes the options that are set.
func given(options map[string]any) map[string]string {
	texts := map[string]string{}
	for name, value := range options {
		text := fmt.Sprint(value)
		if at, ok := value.(time.Time); ok {
			text = at.Format(time.RFC3339Nano)
			value = at.IsZero()
		}
		if value != "" && value != 0 && value != true {
			texts[name] = text
		}
	}
	return texts
}

// do sends a call until it is answered.
func (c *Client) do(ctx context.Context, call call, answer any) error {
	request, err := c.request(ctx, call)
	if err != nil {
		return fmt.Errorf("%s %s: %w", call.method, call.path, err)
	}
	for attempt := 1; ; attempt++ {
		err := c.try(request, answer)
		if err == nil {
			return nil
		}
		wait := pause(attempt, err, rand.Float64())
		if attempt >= c.Attempts || wait < 0 || !sleep(ctx, wait) {
			return fmt.Errorf("%s %s: %w", call.method, call.path, err)
		}
	}
}

func (c *Client) request(ctx context.Context, call call) (*http.Request, error) {
	query := url.Values{}
	for name, value := range call.query {
		query.Set(name, value)
	}
	var body []byte
	if call.request != nil {
		var err error
		if body, err = json.Marshal(call.request); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, call.method, c.base+call.path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if request.URL.Host == "" {
		return nil, fmt.Errorf("%q is no base address, such as https://pay.example.nz", c.base)
	}
	request.URL.RawQuery = query.Encode()
	for name, value := range call.header {
		request.Header.Set(name, value)
	}
	request.Header.Set("Authorization", "Bearer "+c.key)
	request.Header.Set("Content-Type", "application/json")
	return request, nil
}

// try sends a request once. Any error but an *Error is a lost answer.
func (c *Client) try(request *http.Request, answer any) error {
	attempt := request.Clone(request.Context())
	var err error
	if attempt.Body, err = request.GetBody(); err != nil {
		return err
	}
	response, err := c.HTTP.Do(attempt)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return err
	case response.StatusCode/100 != 2:
		return refusal(response, body)
	}
	return json.Unmarshal(body, answer)
}

func refusal(response *http.Response, body []byte) *Error {
	var wire struct{ Error Error }
	if json.Unmarshal(body, &wire) != nil || wire.Error.Code == "" {
		wire.Error = Error{Message: http.StatusText(response.StatusCode)}
	}
	e := wire.Error
	e.Status, e.RequestID = response.StatusCode, response.Header.Get("X-Request-Id")
	if seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 31); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	return &e
}

// pause returns how long to wait after an attempt, or a negative time if the call must not be sent again.
func pause(attempt int, err error, random float64) time.Duration {
	wait := time.Second << (attempt - 1)
	if e := (*Error)(nil); errors.As(err, &e) {
		if e.Status != http.StatusTooManyRequests && e.Status < 500 || e.RetryAfter > maxWait {
			return -1
		}
		if e.RetryAfter > 0 {
			wait = e.RetryAfter
		}
	}
	return wait + time.Duration(random*float64(wait)/4)
}

// sleep waits, and reports whether ctx outlasts that. It does not begin a wait that ctx would cut short.
func sleep(ctx context.Context, wait time.Duration) bool {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
