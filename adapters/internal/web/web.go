// Package web is what every HTTP door of the service has in common: the request id, the
// client's address, security headers, the access log, panics, and limits.
package web

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Options is how the HTTP doors are set up. Now and Rand must be safe for concurrent use; where
// they or Log are nil, it is the real clock, the system's randomness, and no log.
type Options struct {
	Log            *slog.Logger
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed
	RateLimit      float64        // requests a second, bursts of twice that; 0 turns off every limit
	HSTS           bool           // the base URL is https
	Now            func() time.Time
	Rand           io.Reader

	// Observe is told of every answer, by many at once; it must not block. It may be nil. The method is one that
	// HTTP defines and the route one of a door's few, with {names} for what varies, or either is
	// "other": nothing that a client makes up comes through.
	Observe func(method, route string, status int, took time.Duration)
}

// Complete returns o with what is nil filled in.
func (o Options) Complete() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	return o
}

// call is what is known of one request while it is served.
type call struct {
	id       string
	client   netip.Addr
	provider string
	route    string
}

type callKey struct{}

// callOf returns the call of a request that Wrap serves, or an empty one.
func callOf(ctx context.Context) *call {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		return c
	}
	return &call{}
}

// RequestID returns the id that Wrap gave the request, req_<uuid>, or "" outside of Wrap.
func RequestID(ctx context.Context) string { return callOf(ctx).id }

// SetProvider notes for the access log whose request it is. Only the goroutine that serves
// the request may call it.
func SetProvider(ctx context.Context, code string) { callOf(ctx).provider = code }

// Wrap gives every request an id of its own, sets the headers that all answers have, tells
// Observe of it and logs one line for it: never a query, a body or a header. A panic is logged with its stack
// and answered by failed, or by breaking the connection if the answer had begun.
//
// An answer has X-Request-Id and nosniff; it is not cached and not framed unless next says
// otherwise by setting Cache-Control and Content-Security-Policy itself.
func Wrap(o Options, next http.Handler, failed http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := o.Now()
		c := &call{
			id:     "req_" + uuid.Must(uuid.NewRandomFromReader(o.Rand)).String(),
			client: clientIP(r, o.TrustedProxies),
		}
		r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
		a := &answer{ResponseWriter: w}
		o.setHeaders(w.Header(), r, c.id)

		defer func() {
			took := o.Now().Sub(began)
			logCall(o, r, c, a, took)
			observe(o, r, c, a, took)
		}()
		defer func() {
			if v := recover(); v != nil {
				o.answerPanic(a, r, c, v, failed)
			}
		}()
		next.ServeHTTP(a, r)
	})
}

// setHeaders sets what every answer says of itself.
func (o Options) setHeaders(h http.Header, r *http.Request, id string) {
	h.Set("X-Request-Id", id)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	if o.HSTS {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if len(r.TransferEncoding) > 0 {
		// net/http drops a Content-Length beside it without a word. A proxy that went by that
		// one would take the rest of the connection for another client's (RFC 9112, section 6.1).
		h.Set("Connection", "close")
	}
}

// answerPanic answers for a handler that panicked with v. The client learns the request id only.
func (o Options) answerPanic(a *answer, r *http.Request, c *call, v any, failed http.HandlerFunc) {
	if v == http.ErrAbortHandler {
		panic(v) // a handler's way to break the connection, not a fault
	}
	o.Log.ErrorContext(r.Context(), "panic",
		slog.String("request_id", c.id),
		slog.String("panic", fmt.Sprint(v)),
		slog.String("stack", string(debug.Stack())))
	if a.status != 0 {
		panic(http.ErrAbortHandler) // half an answer must not pass for a whole one
	}
	clear(a.Header()) // what the handler meant to say no longer holds
	o.setHeaders(a.Header(), r, c.id)
	failed(a, r)
}

// How much of a path, in bytes, the access log keeps.
const (
	maxPath = 256
	maxPart = 64 // no id of ours is longer
)

// loggedPath is the path in its escaped form, so that nothing in it can forge a line. A part that is
// longer than any id is left out: it may be a setup token or an API key in the wrong place.
func loggedPath(u *url.URL) string {
	parts := strings.Split(u.EscapedPath(), "/")
	for i, part := range parts {
		if len(part) > maxPart {
			parts[i] = "..."
		}
	}
	path := strings.Join(parts, "/")
	return path[:min(len(path), maxPath)]
}

// logCall writes the access log's line.
func logCall(o Options, r *http.Request, c *call, a *answer, took time.Duration) {
	line := []slog.Attr{
		slog.String("request_id", c.id),
		slog.String("method", r.Method),
		slog.String("path", loggedPath(r.URL)),
		slog.Int("status", a.sent()),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
	}
	if c.provider != "" {
		line = append(line, slog.String("provider_code", c.provider))
	}
	o.Log.LogAttrs(r.Context(), slog.LevelInfo, "request", line...)
}

// answer remembers the status that was sent.
type answer struct {
	http.ResponseWriter
	status int // 0 until the answer begins
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK { // 1xx only announces an answer
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach the server's own writer.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// sent returns the status that the client sees: a handler that writes nothing answers 200.
func (a *answer) sent() int {
	if a.status == 0 {
		return http.StatusOK
	}
	return a.status
}
