package workload

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Client is the backends of the providers, and the browsers of their payers.
type Client struct {
	base string
	keys map[string]string
	HTTP *http.Client
	Cut  atomic.Int64 // requests that were sent completely and never answered
}

// NewClient returns a client of the server at base, with a key for each provider.
func NewClient(base string, keys map[string]string) *Client {
	return &Client{base: base, keys: keys,
		HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}}
}

// Call sends one request of the provider, once, and reads the answer. An error means that there was
// no answer.
func (c *Client) Call(ctx context.Context, provider, method, path, body string, headers ...string) (sandbox.Response, error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteRequest: func(w httptrace.WroteRequestInfo) { sent.Store(w.Err == nil) }})
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, strings.NewReader(body))
	if err != nil {
		return sandbox.Response{}, err
	}
	req.GetBody = nil // otherwise the transport retries a request with an Idempotency-Key by itself
	req.Header.Set("Authorization", "Bearer "+c.keys[provider])
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	r, err := Send(c.HTTP, req)
	if err != nil && sent.Load() {
		c.Cut.Add(1)
	}
	return r, err
}

// Send sends a request once and reads the answer. An error means that there was no answer.
func Send(client *http.Client, req *http.Request) (sandbox.Response, error) {
	resp, err := client.Do(req)
	if err != nil {
		return sandbox.Response{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return sandbox.Response{}, err
	}
	r := sandbox.Response{Status: resp.StatusCode, Header: resp.Header, Body: string(text)}
	r.JSON, _ = demo.ParseObject(text) // nil if the answer is not JSON
	return r, nil
}

// IsCut reports whether an error is the connection's, not the answer's.
func IsCut(err error) bool {
	return errors.As(err, new(*url.Error)) || errors.As(err, new(*net.OpError)) || errors.Is(err, io.ErrUnexpectedEOF)
}
