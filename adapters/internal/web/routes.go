package web

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/mux"
)

// other replaces every method and route that is not known.
const other = "other"

// Routed is middleware of a router that records which of its routes serves a request.
func Routed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if template, err := mux.CurrentRoute(r).GetPathTemplate(); err == nil {
			RequestOf(r.Context()).Route = template
		}
		next.ServeHTTP(w, r)
	})
}

// observe reports an answer to Options.Observe.
func observe(o Options, r *http.Request, a *answer, took time.Duration) {
	if o.Observe == nil {
		return
	}
	method := other
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace:
		method = r.Method
	}
	o.Observe(method, cmp.Or(RequestOf(r.Context()).Route, other), a.sent(), took)
}

// Methods returns the methods that the router has for the request's path, in the form of
// the Allow header of a 405.
func Methods(router *mux.Router, r *http.Request) string {
	var allowed []string
	for _, method := range []string{
		http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
	} {
		probe := *r
		probe.Method = method
		var match mux.RouteMatch
		if router.Match(&probe, &match) && match.MatchErr == nil {
			allowed = append(allowed, method)
		}
	}
	return strings.Join(allowed, ", ")
}
