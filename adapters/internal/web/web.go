// Package web is what every HTTP door of the service has in common: the request id, the
// client's address, security headers, the access log, panics, and limits.
package web

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"
)

// Options is how the HTTP doors are set up. Log, Now and Rand are required.
type Options struct {
	Log            *slog.Logger
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
	RateLimit      float64        // requests a second, bursts of twice that; 0 turns off every limit
	HSTS           bool           // the base URL is https
	Now            func() time.Time
	Rand           io.Reader
}

// Wrap gives every request an id, answers its panics with failed, sets the headers that all
// answers have, and logs it without query values, bodies or keys.
func Wrap(o Options, next http.Handler, failed http.HandlerFunc) http.Handler { panic("todo") }

// RequestID returns the id that Wrap gave the request: req_….
func RequestID(ctx context.Context) string { panic("todo") }

// ClientIP returns the address that the request came from, past trusted proxies.
func ClientIP(ctx context.Context) netip.Addr { panic("todo") }

// Limiter limits requests by name (a key, an address, a token). It is bounded in memory and safe for concurrent use.
type Limiter struct{}

// NewLimiter allows perSecond requests for each name, in bursts of twice that; 0 allows all.
func NewLimiter(perSecond float64, now func() time.Time) *Limiter { panic("todo") }

// Allow counts one request, and says how long to wait where there were too many.
func (l *Limiter) Allow(name string) (wait time.Duration, ok bool) { panic("todo") }
