// Package web has the parts that the service's HTTP handlers share: the request id, the client's address, security
// headers, the access log, panics and rate limits; the status of every refusal; and the site that renders the payer's
// pages.
package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Options are the options that all handlers share. Now and Rand must be safe for concurrent use; if they
// or Log are nil, the defaults are the real clock, the system's randomness, and no log.
type Options struct {
	Log            *slog.Logger
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is trusted
	BaseURL        string         // its path is stripped from the requests' paths
	Now            func() time.Time
	Rand           io.Reader
	// Observe is called with every answer, concurrently; it must not block. Optional.
	Observe func(Answered)
}

// Answered describes a request that was answered. A client can invent no value of it.
type Answered struct {
	Method string // of HTTP, or "other"
	Route  string // of the handler, with {names} for its variables, or "other"
	Status int
	Took   time.Duration
}

// Complete returns o with defaults for what is nil.
func (o Options) Complete() Options {
	o.Log = slog.New(LogHandler(cmp.Or(o.Log, slog.New(slog.DiscardHandler)).Handler()))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Observe == nil {
		o.Observe = func(Answered) {}
	}
	return o
}

// BasePath returns the path of a base URL: "/pay" of https://example.nz/pay, "" of https://example.nz.
func BasePath(baseURL string) string {
	return strings.TrimRight(must(url.Parse(baseURL)).Path, "/")
}

// Request has the facts about a request that Wrap serves, for its answer, the access log and Options.Observe. Only the
// goroutine that serves the request may change it.
type Request struct {
	ID       string          // req_<uuid>
	Client   netip.Addr      // past trusted proxies; zero where the server does not know the peer's address
	Provider string          // its code, once it is known
	KeyID    string          // the id of the API key that the request carries: never more of the key
	Route    string          // the route that serves the request; "" for an unknown one
	Refused  *checkout.Error // the refusal with which the request is answered, or nil
	Code     string          // of an answer of the API that is no success
	Order    string          // the provider's id of the order that it is about, once it is known
	Checkout string          // the id of the checkout that it is about, once it is known
}

type requestKey struct{}

// RequestOf returns the request that Wrap serves in this context, or an empty one outside of Wrap.
func RequestOf(ctx context.Context) *Request {
	r, _ := ctx.Value(requestKey{}).(*Request)
	return cmp.Or(r, &Request{})
}

// RequestID returns the id that Wrap gave the request, or "" outside of Wrap.
func RequestID(ctx context.Context) string { return RequestOf(ctx).ID }

// About returns the checkout that a line is about, as far as it is known.
func About(a checkout.About) (attrs []slog.Attr) {
	for _, named := range [][2]string{{"checkout_id", a.CheckoutID}, {"provider_order_id", a.OrderID}, {"provider_code", a.ProviderCode}} {
		if named[1] != "" {
			attrs = append(attrs, slog.String(named[0], named[1]))
		}
	}
	return attrs
}

// Wrap gives every request an id, strips the base path, sets the headers that all answers have, observes the request
// and logs one line for it: never a query, a body or a header. A panic is
// logged with its stack and answered by failed, or by closing the connection if the answer had begun.
//
// An answer has X-Request-Id and nosniff; it is not cached and not framed unless next says
// otherwise by setting Cache-Control and Content-Security-Policy itself.
//
// Inside another Wrap a request keeps its id and is logged once, and the inner Wrap handles only panics.
func Wrap(o Options, next http.Handler, failed http.HandlerFunc) http.Handler {
	base := BasePath(o.BaseURL)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if RequestID(r.Context()) != "" {
			o.serve(&answer{ResponseWriter: w}, r, next, failed)
			return
		}
		began := o.Now()
		info := &Request{
			ID:     "req_" + uuid.Must(uuid.NewRandomFromReader(o.Rand)).String(),
			Client: clientIP(r, o.TrustedProxies),
		}
		ctx := context.WithValue(r.Context(), requestKey{}, info)
		r = r.WithContext(ctx)
		a := &answer{ResponseWriter: w}
		o.setHeaders(w.Header(), r)
		defer func() {
			took := o.Now().Sub(began)
			logRequest(o, r, a, took)
			method := r.Method
			if !slices.Contains(methods, method) {
				method = other
			}
			o.Observe(Answered{Method: method, Route: cmp.Or(info.Route, other), Status: a.sent(), Took: took})
		}()
		o.serve(a, withoutBase(r, base), next, failed)
	})
}

func (o Options) serve(a *answer, r *http.Request, next http.Handler, failed http.HandlerFunc) {
	defer func() {
		if v := recover(); v != nil {
			o.answerPanic(a, r, v, failed)
		}
	}()
	next.ServeHTTP(a, r)
}

// withoutBase returns the request with the base path stripped. A proxy in front may have done that already.
func withoutBase(r *http.Request, base string) *http.Request {
	path, ok := strings.CutPrefix(r.URL.Path, base)
	if base == "" || !ok || path != "" && path[0] != '/' {
		return r
	}
	short, at := *r, *r.URL
	at.Path, at.RawPath = cmp.Or(path, "/"), strings.TrimPrefix(r.URL.RawPath, base)
	short.URL = &at
	return &short
}

func (o Options) setHeaders(h http.Header, r *http.Request) {
	h.Set("X-Request-Id", RequestID(r.Context()))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", Policy{}.String())
	if strings.HasPrefix(o.BaseURL, "https://") {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if len(r.TransferEncoding) > 0 {
		// net/http silently ignores a Content-Length beside it. A proxy that used the Content-Length
		// would treat the rest of the connection as another client's (RFC 9112, section 6.1).
		h.Set("Connection", "close")
	}
}

// answerPanic answers for a handler that panicked with v. The client sees only the request id.
func (o Options) answerPanic(a *answer, r *http.Request, v any, failed http.HandlerFunc) {
	if v == http.ErrAbortHandler {
		panic(v) // a handler's way to close the connection, not a fault
	}
	o.Log.ErrorContext(r.Context(), "panic",
		slog.String("panic", fmt.Sprint(v)),
		slog.String("stack", string(debug.Stack())))
	if a.status != 0 {
		panic(http.ErrAbortHandler) // half an answer must not look complete
	}
	clear(a.Header()) // what the handler set does not describe this answer
	o.setHeaders(a.Header(), r)
	failed(a, r)
}

// LogHandler returns a handler that adds the request id of the context to every record. A handler that already does
// so is returned unchanged.
func LogHandler(next slog.Handler) slog.Handler {
	if _, done := next.(withRequestID); done {
		return next
	}
	return withRequestID{next}
}

type withRequestID struct{ slog.Handler }

func (h withRequestID) Handle(ctx context.Context, record slog.Record) error {
	if id := RequestID(ctx); id != "" {
		record = record.Clone()
		record.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, record)
}

func (h withRequestID) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withRequestID{h.Handler.WithAttrs(attrs)}
}

func (h withRequestID) WithGroup(name string) slog.Handler {
	return withRequestID{h.Handler.WithGroup(name)}
}

// How many bytes of a path, and of a segment of it, the access log keeps.
const (
	maxPath    = 256
	maxSegment = 64 // longer than any id of the service
)

// loggedPath returns the path in its escaped form, so that nothing in it can forge a line. A segment that is
// longer than any id is left out: it may be a setup token or an API key in the wrong place.
func loggedPath(u *url.URL) string {
	segments := strings.Split(u.EscapedPath(), "/")
	for i, segment := range segments {
		if len(segment) > maxSegment {
			segments[i] = "..."
		}
	}
	path := strings.Join(segments, "/")
	return path[:min(len(path), maxPath)]
}

// logRequest writes the access log's line. Only that of a refused caller has the client's address, so that an attack can
// be traced and the log does not collect where payers are.
func logRequest(o Options, r *http.Request, a *answer, took time.Duration) {
	info := RequestOf(r.Context())
	line := []slog.Attr{
		slog.String("method", r.Method),
		slog.String("path", loggedPath(r.URL)),
		slog.Int("status", a.sent()),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
	}
	line = append(line, About(checkout.About{CheckoutID: info.Checkout, OrderID: info.Order, ProviderCode: info.Provider})...)
	code, fields := info.Code, ""
	if info.Refused != nil {
		code, fields = string(info.Refused.Code), info.Refused.Fields()
	}
	for _, named := range [][2]string{{"error_code", code}, {"error_fields", fields}, {"key_id", info.KeyID}} {
		if named[1] != "" {
			line = append(line, slog.String(named[0], named[1]))
		}
	}
	switch a.sent() {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		line = append(line, slog.String("client", info.Client.String()))
	}
	o.Log.LogAttrs(r.Context(), slog.LevelInfo, "request", line...)
}

// WriteJSON answers with v. An error is ignored, because it means that the client hung up.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v)
}

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
func (a *answer) sent() int { return cmp.Or(a.status, http.StatusOK) }
