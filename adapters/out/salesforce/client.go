package salesforce

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
)

// The bounds of one call, and of how often a unit of work is tried.
const (
	callTimeout   = 5 * time.Second
	uploadTimeout = 30 * time.Second
	maxAttempts   = 4
	firstPause    = 100 * time.Millisecond // it doubles from attempt to attempt
	maxBody       = 4 << 20                // a describe of an object with 800 fields takes less than half of it
)

const (
	apiVersion   = "v61.0"
	versionsPath = "/services/data"
	dataPath     = versionsPath + "/" + apiVersion
)

// call is one call of the API.
type call struct {
	method  string
	path    string // below dataPath
	query   url.Values
	body    any
	timeout time.Duration // callTimeout if 0
}

// send makes a call once, with a new token where the old token has ended, and returns its answer. The error is an
// *apiError for an answer that is no success, and an *outbound.Lost if the outcome is unknown.
func send[T any](ctx context.Context, c *CRM, call call) (T, error) {
	var answer T
	data, err := c.send(ctx, call)
	if err == nil && len(data) > 0 {
		if err = json.Unmarshal(data, &answer); err != nil {
			err = &outbound.Lost{Cause: fmt.Errorf("the answer: %w", outbound.WithoutText(err))}
		}
	}
	if err != nil {
		c.ready.Store(0)
		return answer, fmt.Errorf("%s %s: %w", call.method, call.path, err)
	}
	return answer, nil
}

func (c *CRM) send(ctx context.Context, call call) ([]byte, error) {
	var body []byte
	if call.body != nil {
		var err error
		if body, err = json.Marshal(call.body); err != nil {
			return nil, outbound.WithoutText(err)
		}
	}
	var token accessToken
	for again := false; ; again = true {
		var err error
		if token, err = c.token(ctx, token); err != nil {
			return nil, err
		}
		data, err := c.attempt(ctx, token, call, body)
		var refused *apiError
		if again || !errors.As(err, &refused) || !refused.has(codeInvalidSession) {
			return data, err
		}
		c.options.Retried(RetryExpiredToken)
	}
}

// attempt sends one request with a token, and returns the body of a successful answer.
func (c *CRM) attempt(ctx context.Context, token accessToken, call call, body []byte) ([]byte, error) {
	address := token.base + dataPath + call.path
	if len(call.query) > 0 {
		address += "?" + call.query.Encode()
	}
	header := http.Header{"Authorization": {"Bearer " + token.value}, duplicateHeader: {allowDuplicates}}
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	resp, data, err := c.roundTrip(ctx, cmp.Or(call.timeout, callTimeout), call.method, address, header, body)
	if err != nil {
		return nil, err
	}
	refused := newAPIError(resp.StatusCode, data)
	if refused.usedUp() {
		c.limit.exhaust()
	} else {
		c.limit.read(resp.Header, c.options.Now())
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, refused
	}
	return data, nil
}

// roundTrip sends one request when its turn has come and fewer than maxCalls are under way, and reads its answer. Nothing is
// sent once the deadline has passed.
func (c *CRM) roundTrip(ctx context.Context, timeout time.Duration, method, address string, header http.Header,
	body []byte) (*http.Response, []byte, error) {
	done, err := c.turn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, nil, errors.New("the address is not a URL")
	}
	guard(caller, req)
	req.Header = header
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "provider-checkout")
	if err = inTime(caller); err != nil {
		return nil, nil, err
	}
	sent := c.options.Now()
	resp, err := c.options.Transport.RoundTrip(req)
	if err != nil {
		return nil, nil, &outbound.Lost{Cause: outbound.Cause(ctx, err)}
	}
	defer resp.Body.Close()
	data, err := outbound.ReadBody(resp, maxBody)
	if err != nil {
		return nil, nil, &outbound.Lost{Cause: outbound.Cause(ctx, err)}
	}
	c.pace.observe(newAPIError(resp.StatusCode, data).throttled(), sent, c.options.Now())
	return resp, data, nil
}
