package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

func TestMethodsListsWhatThePathTakes(t *testing.T) {
	router := mux.NewRouter()
	router.NotFoundHandler = http.NotFoundHandler()
	router.MethodNotAllowedHandler = http.NotFoundHandler()
	router.Handle("/a", http.NotFoundHandler()).Methods("POST")
	router.Handle("/a", http.NotFoundHandler()).Methods("GET", "HEAD")
	router.Handle("/b", http.NotFoundHandler()).Methods("POST")
	for path, want := range map[string]string{"/a": "GET, HEAD, POST", "/b": "POST", "/c": ""} {
		r := httptest.NewRequest("TRACE", path, nil)
		if got := web.Methods(router, r); got != want {
			t.Errorf("Methods of %s = %q, want %q", path, got, want)
		}
		if r.Method != "TRACE" {
			t.Errorf("the request's method became %s", r.Method)
		}
	}
}

func TestRetryAfterIsNeverTooSoon(t *testing.T) {
	for wait, want := range map[time.Duration]string{
		0: "1", time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", 90 * time.Second: "90",
	} {
		h := http.Header{}
		if web.SetRetryAfter(h, wait); h.Get("Retry-After") != want {
			t.Errorf("Retry-After for %v = %s, want %s", wait, h.Get("Retry-After"), want)
		}
	}
}
