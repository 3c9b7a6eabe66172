package web

import (
	"net/http"
	"strings"

	"github.com/gorilla/mux"
)

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
