package web_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

func TestAnswersAreObservedByRoute(t *testing.T) {
	c := newClock()
	var got string
	o := options(io.Discard, c)
	o.Observe = func(a web.Answered) { got += fmt.Sprint(a.Method, " ", a.Route, " ", a.Status, " ", a.Took) }
	answer := func(status int) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.Advance(time.Millisecond)
			w.WriteHeader(status)
		})
	}
	router := web.NewRouter()
	router.Handle("/plain", answer(http.StatusCreated))
	router.Handle("/one/{id}", answer(http.StatusOK)).Methods("GET")
	router.Handle("/one/{id}/part", answer(http.StatusOK))
	router.Handle("/two/{id}/{part}/end", answer(http.StatusOK))
	router.Handle("/panic", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("broken") }))
	router.Handle("/page", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.RequestOf(r.Context()).Route = "/pages/{page}"
	}))
	router.MethodNotAllowedHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", router.Allowed(r))
		w.WriteHeader(http.StatusMethodNotAllowed)
	})
	h := web.Wrap(o, router, failed)
	for _, tt := range []struct{ method, path, want string }{
		{"GET", "/plain", "GET /plain 201 1ms"},
		{"GET", "/one/abc", "GET /one/{id} 200 1ms"},
		{"PUT", "/one/abc/part?token=secret", "PUT /one/{id}/part 200 1ms"},
		{"GET", "/two/abc/d/end", "GET /two/{id}/{part}/end 200 1ms"},
		{"GET", "/page", "GET /pages/{page} 200 0s"},
		{"GET", "/panic", "GET /panic 500 0s"},
		{"GET", "/secret", "GET other 404 0s"},
		{"POST", "/one/abc", "POST /one/{id} 405 0s"},
		{"BREW", "/plain", "other /plain 201 1ms"},
		{"get", "/plain", "other /plain 201 1ms"},
	} {
		got = ""
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(tt.method, tt.path, nil))
		if got != tt.want {
			t.Errorf("%s %s is observed as %q, want %q", tt.method, tt.path, got, tt.want)
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
