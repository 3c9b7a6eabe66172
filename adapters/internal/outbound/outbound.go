// Package outbound holds what the clients of outside services share: bounded connections and answers, pauses, and errors
// that repeat nothing of what was sent or received, which may be a payer's.
package outbound

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
)

const (
	maxHeader = 32 << 10
	maxConns  = 64
)

// NewTransport returns a transport with bounded connections, which uses the proxies of the environment. connect is the
// longest wait for a connection.
func NewTransport(connect time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connect}).DialContext,
		TLSHandshakeTimeout:    connect,
		MaxResponseHeaderBytes: maxHeader,
		MaxConnsPerHost:        maxConns,
		MaxIdleConnsPerHost:    maxConns,
		IdleConnTimeout:        30 * time.Second,
		ForceAttemptHTTP2:      true,
	}
}

// ReadBody reads an answer of at most limit bytes. A successful answer must be JSON, unless it is empty by its status.
func ReadBody(resp *http.Response, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > limit:
		return nil, fmt.Errorf("the answer is larger than %d bytes", limit)
	}
	if resp.StatusCode >= 300 || resp.StatusCode == http.StatusNoContent {
		return data, nil
	}
	if kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, fmt.Errorf("the answer is %q, not JSON", Word(strings.ReplaceAll(kind, "/", "-")))
	}
	return data, nil
}

// Lost is a call whose outcome is unknown: it may have taken effect.
type Lost struct{ Cause error }

func (e *Lost) Error() string { return e.Cause.Error() }
func (e *Lost) Unwrap() error { return e.Cause }

// Cause returns why a request failed, without the URL that the error of net/http repeats.
func Cause(ctx context.Context, err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, new(*net.DNSError)):
		return errors.New("the host has no address")
	}
	return err
}

// WithoutText returns an error of decoding that repeats nothing of what was decoded.
func WithoutText(err error) error {
	if at, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("field %s is no %s", at.Field, at.Type)
	}
	return errors.New("it is not JSON of the right shape")
}

var word = regexp.MustCompile(`^[A-Za-z0-9_.-]{0,100}$`)

// Word returns a text that is a word of an API, or "": what is logged is not for the sender to choose.
func Word(text string) string {
	if !word.MatchString(text) {
		return ""
	}
	return text
}

// ParseURL returns the URL that an address is: https, or http on loopback where plain allows it, without a user, a query or a fragment.
// The error reads on from the name of the address, and does not repeat it.
func ParseURL(address string, plain bool) (*url.URL, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("is not a scheme and a host")
	case u.Scheme == "https", u.Scheme == "http" && plain && Loopback(u.Hostname()):
		return u, nil
	}
	return nil, errors.New("must be https")
}

// Loopback reports whether a host is this machine.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// Pause waits, and reports whether ctx lasted as long.
func Pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Jitter returns from half of d to the whole of it, so that processes which failed together do not come back together.
func Jitter(random io.Reader, d time.Duration) time.Duration {
	var entropy [8]byte
	if _, err := io.ReadFull(random, entropy[:]); err != nil {
		return d
	}
	half := d / 2
	return half + time.Duration(binary.BigEndian.Uint64(entropy[:])%uint64(half+1))
}
