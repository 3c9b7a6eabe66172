// Package webhook sends events over HTTP to receivers that it does not trust: a receiver may have a private address,
// redirect, hang, or answer slowly or without end. Each attempt is bounded all the same.
package webhook

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The bounds of one attempt, and of the connections that are kept open after it. How many attempts are made at once, the
// caller bounds, for each provider: by host, where one hangs that several providers share, all would wait for it.
const (
	timeout       = 2 * time.Second // from the name lookup to the end of the answer
	maxHeader     = 16 << 10        // of the answer; with maxBody, 64 KiB
	maxBody       = 48 << 10
	maxIdleOfHost = 64
	maxIdleConns  = 256             // to all receivers together
	idleTimeout   = 4 * time.Second // common servers close idle connections after 5 s
)

// Options are the options of a sender.
type Options struct {
	// AllowPrivate is for sandboxes: events may also go over plain http, to any port, and to
	// loopback and private addresses. Where clouds serve their metadata, at link-local addresses and
	// at a few others, is still refused.
	AllowPrivate bool
}

// Sender sends events. It is safe for concurrent use.
//
// A destination must be an https URL without user information, on port 443 or from 1024 up. Its address is checked
// when it is dialled, after the name lookup, so that a name that resolves to a private address is always refused.
// Proxies of the environment are not used.
type Sender struct {
	// The transport is used without an http.Client, which would follow redirects and quote
	// whole URLs in its errors.
	transport    *http.Transport
	allowPrivate bool
}

var _ ports.Sender = (*Sender)(nil)

// New returns a sender.
func New(o Options) *Sender {
	return &Sender{
		transport: &http.Transport{
			DialContext:            newDialer(o).DialContext,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    timeout,
			MaxResponseHeaderBytes: maxHeader,
			MaxIdleConnsPerHost:    maxIdleOfHost,
			MaxIdleConns:           maxIdleConns,
			IdleConnTimeout:        idleTimeout,
			DisableCompression:     true,
		},
		allowPrivate: o.AllowPrivate,
	}
}

// Close closes idle connections. Attempts in progress end by themselves.
func (s *Sender) Close() { s.transport.CloseIdleConnections() }

// Send implements ports.Sender. After a status of 2xx the receiver has accepted, whatever
// follows, even a reset connection.
func (s *Sender) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error {
	target, err := parseTarget(to.URL, s.allowPrivate)
	if err != nil {
		return fmt.Errorf("%w: %w", ports.ErrProhibited, err)
	}
	err = s.post(ctx, target.String(), d, attempt)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP):
		err = fmt.Errorf("%w: %s://%s: %w", ports.ErrProhibited, target.Scheme, target.Host, err)
	case err != nil:
		err = fmt.Errorf("%s://%s: %w", target.Scheme, target.Host, err)
	}
	return err
}

func (s *Sender) post(ctx context.Context, url string, d events.Delivery, attempt int) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(d.Event.Body))
	if err != nil {
		return errNotURL
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "provider-checkout")
	for name, value := range d.Header(attempt) {
		req.Header.Set(name, value)
	}
	resp, err := s.transport.RoundTrip(req)
	if err != nil {
		return cause(ctx, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("answered %d", resp.StatusCode)
	}
	// The connection can be reused only if this answer was read to its end.
	_, _ = io.CopyN(io.Discard, resp.Body, maxBody)
	return nil
}

// cause returns why an attempt got no answer, without any text from the receiver: package net/http
// quotes malformed answers in its errors, and crypto/x509 the receiver's certificate.
func cause(ctx context.Context, err error) error {
	var network *net.OpError
	var invalid x509.CertificateInvalidError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(x509.HostnameError)):
		return errors.New("certificate is for another host")
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return errors.New("certificate is signed by an unknown authority")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("certificate has expired or is not valid yet")
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return errors.New("certificate is not valid")
	case errors.As(err, &network):
		return network // a name that is not found, a refused address, a refused or reset connection
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("connection was closed without an answer")
	}
	return errors.New("answer is not proper HTTP, or not proper TLS")
}

// The reasons for refusing a destination before it is dialled.
var (
	errNotURL   = errors.New("destination is not a URL with a host")
	errNotHTTPS = errors.New("destination is not https")
	errUserInfo = errors.New("destination holds user information")
	errPort     = errors.New("destination's port is neither 443 nor from 1024 up")
)

// parseTarget parses a destination. Its errors do not quote it, because its query may be confidential.
func parseTarget(raw string, allowPrivate bool) (*url.URL, error) {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "":
		return nil, errNotURL
	case u.User != nil:
		return nil, errUserInfo
	case allowPrivate && u.Scheme == "http":
		return u, nil
	case u.Scheme != "https":
		return nil, errNotHTTPS
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), "443"), 10, 16)
	if !allowPrivate && (err != nil || port != 443 && port < 1024) { // the ports of other protocols
		return nil, errPort
	}
	return u, nil
}

// newDialer returns a dialer that checks each address before it connects to it.
func newDialer(o Options) *net.Dialer {
	guardian := ssrf.New(ssrf.WithAnyPort()) // parseTarget checks the port
	return &net.Dialer{Timeout: timeout, Control: func(network, address string, c syscall.RawConn) error {
		to, _ := netip.ParseAddrPort(address) // the guardian refuses any other
		switch ip := to.Addr().WithZone(""); {
		case catalogue.IsMetadata(ip):
			return fmt.Errorf("%w: %s is a cloud's metadata service", ssrf.ErrProhibitedIP, ip)
		case o.AllowPrivate && !ip.Is4In6() && (ip.IsLoopback() || ip.IsPrivate()):
			return nil
		}
		return guardian.Safe(network, address, c)
	}}
}
