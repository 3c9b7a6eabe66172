package web

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"
)

// other replaces every method and route that is not known.
const other = "other"

// SetRoute records which of a handler's routes serves the request, for Options.Observe. Only the goroutine that serves
// the request may call it.
func SetRoute(ctx context.Context, route string) { infoOf(ctx).route = route }

// Routed is middleware of a router that records which of its routes serves a request (see SetRoute).
func Routed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if template, err := mux.CurrentRoute(r).GetPathTemplate(); err == nil {
			SetRoute(r.Context(), withoutPattern(template))
		}
		next.ServeHTTP(w, r)
	})
}

// withoutPattern removes the pattern from a template: {id} for {id:[a-z]+}. There is at most one, without braces in it.
func withoutPattern(template string) string {
	before, rest, _ := strings.Cut(template, ":")
	if _, after, ok := strings.Cut(rest, "}"); ok {
		return before + "}" + after
	}
	return template
}

// observe reports an answer to Options.Observe.
func observe(o Options, r *http.Request, info *requestInfo, a *answer, took time.Duration) {
	if o.Observe == nil {
		return
	}
	method := other
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		method = r.Method
	}
	o.Observe(method, cmp.Or(info.route, other), a.sent(), took)
}
