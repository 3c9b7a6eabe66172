package web

import (
	"net/http"
	"strings"

	"github.com/gorilla/mux"
)

// other replaces every method and route that is not known.
const other = "other"

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE"}

// Router routes requests by method and path, and records the route of each.
type Router struct{ *mux.Router }

// NewRouter returns a router without routes. A path that is not clean is unknown, not redirected: a redirected POST may
// lose its body.
func NewRouter() Router {
	r := Router{mux.NewRouter().SkipClean(true)}
	r.Use(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			record(r, mux.CurrentRoute(r))
			next.ServeHTTP(w, r)
		})
	})
	return r
}

func record(r *http.Request, of *mux.Route) {
	if template, err := of.GetPathTemplate(); err == nil {
		RequestOf(r.Context()).Route = template
	}
}

// On has h serve a method and a path, such as "GET /setup". GET's handler answers HEAD too. A variable of the path, such as
// {asset}, is one segment of it.
func (r Router) On(route string, h http.Handler) {
	method, path, _ := strings.Cut(route, " ")
	methods := []string{method}
	if method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	r.Handle(path, h).Methods(methods...)
}

// Allowed returns the methods of the routes of the request's path, in the form of the Allow header of a 405, and records the
// route.
func (r Router) Allowed(req *http.Request) string {
	var allowed []string
	for _, method := range methods {
		probe := *req
		probe.Method = method
		var match mux.RouteMatch
		if r.Match(&probe, &match) && match.MatchErr == nil {
			allowed = append(allowed, method)
			record(req, match.Route)
		}
	}
	return strings.Join(allowed, ", ")
}
