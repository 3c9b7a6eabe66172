package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func TestTheLogOfACallNamesTheIDOfItsKeyAndNoMore(t *testing.T) {
	text, key := catalogue.NewKey("KOWHAI", catalogue.Sandbox, time.Now(), [32]byte{1, 2, 3, 4, 5, 6})
	parts := strings.Split(text, "_")
	const one = checkoutsPath + "/id"
	for _, tt := range []struct{ name, path, authorization, want string }{
		{"a key at a path that is not there", "/v1/nothing", "Bearer " + text, `"error_code":"NOT_FOUND","key_id":"` + key.ID + `",`},
		{"a key with a method that is not taken", checkoutsPath, "Bearer " + text,
			`"error_code":"METHOD_NOT_ALLOWED","key_id":"` + key.ID + `",`},
		{"a password at a path that is not there", "/v1/nothing", "Bearer hunter2hunter2", `"error_code":"NOT_FOUND","request_id"`},
		{"a key that is not on record", one, "Bearer " + text, `"error_code":"INVALID_API_KEY","key_id":"` + key.ID + `","client":"192.0.2.1"`},
		{"a mistyped key", one, "Bearer " + text + "a", `403,"duration_ms":0,"error_code":"INVALID_API_KEY","client":"192.0.2.1"`},
		{"a password", one, "Bearer hunter2hunter2", `403,"duration_ms":0,"error_code":"INVALID_API_KEY","client":"192.0.2.1"`},
		{"no key", one, "", `401,"duration_ms":0,"error_code":"MISSING_API_KEY","client":"192.0.2.1"`},
	} {
		var log bytes.Buffer
		do(newHandler(&stub{}, options(&log, 2)), request("GET", tt.path, "", header("Authorization", tt.authorization)))
		if !strings.Contains(log.String(), tt.want) {
			t.Errorf("of %s is logged %s, want %s", tt.name, &log, tt.want)
		}
		for _, secret := range []string{parts[3], parts[4], "hunter2"} {
			if strings.Contains(log.String(), secret) {
				t.Errorf("of %s is logged a secret: %s", tt.name, &log)
			}
		}
	}
}

func TestBadKeysAreThrottledBySourceAndGoodOnesNever(t *testing.T) {
	now := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	o := options(io.Discard, 2)
	o.Now = func() time.Time { return now }
	h := newHandler(&stub{}, o)
	try := func(key, from string) int {
		r := request("GET", "/v1/provider-checkouts/id", "", header("Authorization", "Bearer "+key))
		r.RemoteAddr = from
		return do(h, r).Code
	}
	for i, want := range []int{403, 403, 403, 403, 429, 429} {
		if got := try("bad", "203.0.113.1:1000"); got != want {
			t.Errorf("bad key, try %d: %d, want %d", i+1, got, want)
		}
	}
	if got := try("", "203.0.113.1:1001"); got != 429 {
		t.Errorf("no key from the same source: %d, want 429", got)
	}
	if got := try("good", "203.0.113.1:1002"); got != 200 {
		t.Errorf("good key from the same source: %d, want 200", got)
	}
	if got := try("bad", "203.0.113.2:1000"); got != 403 {
		t.Errorf("bad key from another source: %d, want 403", got)
	}
	now = now.Add(time.Second)
	if got := try("bad", "203.0.113.1:1000"); got != 403 {
		t.Errorf("bad key a second later: %d, want 403", got)
	}
}

// brokenKeys is an application whose store of keys cannot be reached.
type brokenKeys struct{ stub }

func (*brokenKeys) Authenticate(context.Context, string) (service.Caller, error) {
	return service.Caller{}, errors.New("look up key: disk I/O error")
}

func TestUnreachableKeysAreNotABadKey(t *testing.T) {
	var log bytes.Buffer
	h := newHandler(&brokenKeys{}, options(&log, 2))
	for range 6 {
		w := do(h, request("GET", "/v1/provider-checkouts/id", ""))
		wantRefusal(t, w, http.StatusInternalServerError, "INTERNAL_ERROR")
	}
	if !strings.Contains(log.String(), "disk I/O error") {
		t.Errorf("the log lacks the cause: %s", &log)
	}
}

// The operator may raise and lower the rate of a provider while the server runs, but for a server that has no limits.
func TestAProviderMayHaveARateOfItsOwn(t *testing.T) {
	s := &stub{rate: 30}
	limited, unlimited := newHandler(s, options(io.Discard, 2)), newHandler(s, options(io.Discard, 0))
	calls := func(h http.Handler) (served int) {
		for range 50 {
			if w := do(h, request("GET", "/v1/provider-checkouts/id", "", header("Authorization", "Bearer good"))); w.Code == http.StatusOK {
				served++
			}
		}
		return served
	}
	for _, tt := range []struct{ rate, want int }{{0, 4}, {5, 10}, {20, 40}, {20, 0}, {1, 2}, {0, 4}} {
		s.rate = tt.rate
		if got := calls(limited); got < tt.want || got > tt.want+5 { // the clock goes on
			t.Errorf("with a rate of %d %d of 50 calls at once are served, want %d", tt.rate, got, tt.want)
		}
		if got := calls(unlimited); got != 50 {
			t.Errorf("without limits, and with a rate of %d, %d of 50 calls are served, want all", tt.rate, got)
		}
	}
}

// A provider with two keys, of two systems, say, has the rate twice.
func TestEachKeyHasARateOfItsOwn(t *testing.T) {
	h := newHandler(&stub{}, options(io.Discard, 0.5)) // a burst of one
	for _, tt := range []struct {
		key  string
		want int
	}{{"good", http.StatusOK}, {"good", http.StatusTooManyRequests}, {"second", http.StatusOK}, {"other", http.StatusOK}} {
		r := request("GET", "/v1/provider-checkouts/id", "", header("Authorization", "Bearer "+tt.key))
		if w := do(h, r); w.Code != tt.want {
			t.Errorf("a call with the key %s is answered %d %s, want %d", tt.key, w.Code, w.Body, tt.want)
		}
	}
}
