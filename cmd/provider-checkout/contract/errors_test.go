package contract_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// Section 7: every error code, and the error envelope.

// enveloped checks that a refusal has the members of the error envelope and no others, and the
// headers of every answer.
func enveloped(t *testing.T, r response) {
	t.Helper()
	want := []string{"error.code", "error.details", "error.message", "request_id", "success"}
	if got := leaves(members(r.JSON)); !slices.Equal(got, want) {
		t.Errorf("the envelope %s has the members %q", r.Body, got)
	}
	details, ok := r.At("error.details").([]any)
	if !ok {
		t.Errorf("the details of %s are no list", r.Body)
	}
	for _, d := range details {
		if m, ok := d.(members); !ok || !slices.Equal(leaves(m), []string{"field", "message"}) {
			t.Errorf("the detail %v is not a field and a message", d)
		}
	}
	for name, value := range map[string]string{
		"Content-Type": `application/json`, "X-Content-Type-Options": `nosniff`, "Cache-Control": `no-store`,
		"X-Request-Id": `req_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`,
	} {
		if got := r.Header.Get(name); !regexp.MustCompile("^" + value + "$").MatchString(got) {
			t.Errorf("the header %s is %q", name, got)
		}
	}
}

func TestContract7EveryCodeComesInTheSameEnvelope(t *testing.T) {
	const path = "/v1/provider-checkouts"
	for _, tt := range []struct {
		code   string
		status int
		fields []string
		cause  func(t *testing.T, s *suite) response
	}{
		{"MISSING_API_KEY", 401, nil, func(t *testing.T, s *suite) response { return s.Send(t, http.MethodPost, path, "{}") }},
		{"INVALID_API_KEY", 403, nil, func(t *testing.T, s *suite) response {
			return s.Send(t, http.MethodPost, path, "{}", "Authorization", "Bearer unknown")
		}},
		{"PROVIDER_KEY_MISMATCH", 403, []string{"provider.provider_code"}, func(t *testing.T, s *suite) response {
			return s.Post(t, "TUI", path, order(catalogueCreate, "ORDER-1"))
		}},
		{"PROVIDER_NOT_ENABLED", 403, nil, func(t *testing.T, s *suite) response {
			s.Configure(t, disabled)
			return s.Post(t, "KOWHAI", path, order(catalogueCreate, "ORDER-1"))
		}},
		{"PROVIDER_NOT_FOUND", 404, nil, func(t *testing.T, s *suite) response {
			s.Configure(t, `{"providers": []}`)
			return s.Post(t, "KOWHAI", path, order(catalogueCreate, "ORDER-1"))
		}},
		{"VALIDATION_ERROR", 400, []string{"student.email", "plan.first_payment_date"}, func(t *testing.T, s *suite) response {
			body := set(t, order(catalogueCreate, "ORDER-1"), "student.email", "")
			return s.Post(t, "KOWHAI", path, set(t, body, "plan.first_payment_date", ""))
		}},
		{"VALIDATION_ERROR", 400, nil, func(t *testing.T, s *suite) response { return s.Post(t, "KOWHAI", path, "") }},
		{"CHECKOUT_NOT_FOUND", 404, nil, func(t *testing.T, s *suite) response { return s.Get(t, "KOWHAI", path+"/unknown") }},
		{"DIRECT_DEBIT_SETUP_INCOMPLETE", 409, nil, func(t *testing.T, s *suite) response {
			return s.Confirm(t, s.Create(t, "ORDER-1"))
		}},
		{"CONFLICT", 409, []string{"checkout.dda_id"}, func(t *testing.T, s *suite) response {
			created := s.Ready(t, "ORDER-1")
			return s.confirmAs(t, created, set(t, created.ConfirmBody(), "checkout.dda_id", `"another"`))
		}},
		{"IDEMPOTENCY_CONFLICT", 409, []string{"plan.first_payment_date"}, func(t *testing.T, s *suite) response {
			s.Create(t, "ORDER-1")
			return s.Post(t, "KOWHAI", path, otherIntent("ORDER-1"))
		}},
		{"NOT_FOUND", 404, nil, func(t *testing.T, s *suite) response { return s.Get(t, "KOWHAI", "/v1/nothing") }},
		{"METHOD_NOT_ALLOWED", 405, nil, func(t *testing.T, s *suite) response { return s.Get(t, "KOWHAI", path) }},
		{"REQUEST_TOO_LARGE", 413, nil, func(t *testing.T, s *suite) response {
			return s.Post(t, "KOWHAI", path, strings.Repeat(" ", 64<<10+1))
		}},
		{"UNSUPPORTED_MEDIA_TYPE", 415, nil, func(t *testing.T, s *suite) response {
			return s.Send(t, http.MethodPost, path, "{}", "Authorization", "Bearer "+s.Keys["KOWHAI"])
		}},
	} {
		t.Run(tt.code, func(t *testing.T) {
			contract(t, func(t *testing.T, s *suite) {
				got := tt.cause(t, s)
				refused(t, got, tt.status, tt.code, tt.fields...)
				enveloped(t, got)
			})
		})
	}
}

func TestContract7AFailureComesInTheSameEnvelope(t *testing.T) {
	contractWith(t, withFaultyStore, func(t *testing.T, s *suite, store *faulty) {
		store.fail(func(string) error { panic(inside) })
		got := s.Get(t, "KOWHAI", "/v1/provider-checkouts/unknown")
		refused(t, got, http.StatusInternalServerError, "INTERNAL_ERROR")
		enveloped(t, got)
	})
}

func TestContract4WhatIsNotInTheContractIsNotThere(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		one := s.Create(t, "ORDER-1").CheckoutPath()
		for _, path := range []string{
			"/v2", "/v2/provider-checkouts", "/v1/", "/V1", "/v1/Environment", "/v1//environment", "/v1/../v1",
			"/v1/provider-checkouts/", one + "/", one + "/confirm/", one + "/cancel", one + "/agreement", one + "/pdf",
			"/v1/agreements", "/v1/agreements/PPA-2027-000001/pdf", "/api/demos/", "/api/demos/enrol", "/api/dd", "/api",
			"/v1/providers", "/v1/keys", "/v1/export", "/admin", "/metrics", "/healthz", "/debug/pprof/", "/debug/vars",
			"/.git/config", "/.env", "/sandbox", "/favicon.ico",
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				t.Run(method+" "+path, func(t *testing.T) {
					got := s.Send(t, method, path, "{}", "Authorization", "Bearer "+s.Keys["KOWHAI"], "Content-Type", "application/json")
					refused(t, got, http.StatusNotFound, "NOT_FOUND")
				})
			}
		}
	})
}

func TestContract4TheRootLeadsToTheDocumentation(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		r := s.Send(t, http.MethodGet, "/", "")
		if r.Status != http.StatusFound || r.Header.Get("Location") != "/docs" {
			t.Errorf("GET / answers %d, Location %q; want 302 to /docs", r.Status, r.Header.Get("Location"))
		}
		if docs := s.Visit(t, s.URL+"/docs"); docs.Status != http.StatusOK {
			t.Errorf("/docs answers %d", docs.Status)
		}
		refused(t, s.Post(t, "KOWHAI", "/", "{}"), http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
	})
}

func TestContract4AnyOtherMethodIsRefusedWithThoseThatAreAllowed(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		one := s.Create(t, "ORDER-1").CheckoutPath()
		for path, allow := range map[string]string{
			"/v1": "GET, HEAD", "/v1/environment": "GET, HEAD", "/v1/provider-checkouts": "POST",
			one: "GET, HEAD", one + "/confirm": "POST",
		} {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"} {
				if slices.Contains(strings.Split(allow, ", "), method) {
					continue
				}
				t.Run(method+" "+path, func(t *testing.T) {
					got := s.Send(t, method, path, "", "Authorization", "Bearer "+s.Keys["KOWHAI"],
						"X-HTTP-Method-Override", "GET", "X-HTTP-Method", "POST")
					if got.Status != http.StatusMethodNotAllowed || got.Header.Get("Allow") != allow {
						t.Errorf("answer %d, Allow %q; want 405, %q", got.Status, got.Header.Get("Allow"), allow)
					}
					if method != http.MethodHead { // which has no body
						refused(t, got, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED")
					}
				})
			}
		}
	})
}

func TestContract4HEADIsAGetWithoutItsBody(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for path, want := range map[string]int{
			"/v1": 200, "/v1/environment": 200, s.Create(t, "ORDER-1").CheckoutPath(): 200, "/v1/provider-checkouts/unknown": 404,
		} {
			got := s.Send(t, http.MethodHead, path, "", "Authorization", "Bearer "+s.Keys["KOWHAI"])
			if got.Status != want || got.Body != "" || got.Header.Get("X-Request-Id") == "" {
				t.Errorf("HEAD %s answers %d %q, want %d", path, got.Status, got.Body, want)
			}
		}
	})
}

func TestContract8ABodyIsAtMost64KiB(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		padded := func(id string, size int) string {
			body := order(catalogueCreate, id)
			return body + strings.Repeat(" ", size-len(body))
		}
		if got := s.Post(t, "KOWHAI", "/v1/provider-checkouts", padded("ORDER-1", 64<<10)); got.Status != http.StatusCreated {
			t.Errorf("64 KiB are answered %d %s", got.Status, got.Body)
		}
		one := s.Create(t, "ORDER-2").CheckoutPath()
		head := "Host: x\nAuthorization: Bearer " + s.Keys["KOWHAI"] + "\nContent-Type: application/json\n"
		over := padded("ORDER-3", 64<<10+1)
		for _, path := range []string{"/v1/provider-checkouts", one + "/confirm"} {
			for name, got := range map[string]response{
				"one byte more": s.Post(t, "KOWHAI", path, over),
				"chunked": s.raw(t, "POST "+path+" HTTP/1.1\n"+head+"Transfer-Encoding: chunked\n\n"+
					fmt.Sprintf("%x\n%s\n0\n\n", len(over), strings.ReplaceAll(over, "\n", " "))),
				"announced and never sent": s.raw(t, "POST "+path+" HTTP/1.1\n"+head+"Content-Length: 1073741824\n\n"),
			} {
				t.Run(name+" "+path, func(t *testing.T) {
					refused(t, got, http.StatusRequestEntityTooLarge, "REQUEST_TOO_LARGE")
				})
			}
		}
		if got := len(s.Records(t)); got != 2 {
			t.Errorf("%d checkouts are on record, want 2", got)
		}
	})
}

func TestContract4BodiesArePlainJSON(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for i, tt := range []struct {
			name     string
			headers  []string
			accepted bool
		}{
			{"application/json", []string{"Content-Type", "application/json"}, true},
			{"in another letter case", []string{"Content-Type", "Application/JSON"}, true},
			{"with its charset", []string{"Content-Type", "application/json; charset=UTF-8"}, true},
			{"with no coding", []string{"Content-Type", "application/json", "Content-Encoding", "identity"}, true},
			{"no type", nil, false},
			{"an empty type", []string{"Content-Type", ""}, false},
			{"text", []string{"Content-Type", "text/plain"}, false},
			{"text that says it is JSON", []string{"Content-Type", "text/json"}, false},
			{"a kind of JSON", []string{"Content-Type", "application/problem+json"}, false},
			{"a form", []string{"Content-Type", "application/x-www-form-urlencoded"}, false},
			{"parts", []string{"Content-Type", "multipart/form-data; boundary=x"}, false},
			{"another charset", []string{"Content-Type", "application/json; charset=iso-8859-1"}, false},
			{"two types", []string{"Content-Type", "application/json", "Content-Type", "application/json"}, false},
			{"two types in one", []string{"Content-Type", "application/json, text/plain"}, false},
			{"no type that can be read", []string{"Content-Type", "application/json; charset"}, false},
			{"compressed", []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, false},
		} {
			t.Run(tt.name, func(t *testing.T) {
				body := order(catalogueCreate, fmt.Sprint("ORDER-", i))
				headers := append([]string{"Authorization", "Bearer " + s.Keys["KOWHAI"]}, tt.headers...)
				got := s.Send(t, http.MethodPost, "/v1/provider-checkouts", body, headers...)
				if !tt.accepted {
					refused(t, got, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
				} else if got.Status != http.StatusCreated {
					t.Errorf("answer %d %s", got.Status, got.Body)
				}
			})
		}
	})
}

func TestContract8TooManyRequestsOfOneKeyGetTheTimeToWait(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		path := s.Create(t, "ORDER-1").CheckoutPath()
		got := s.Get(t, "KOWHAI", path)
		refused(t, got, http.StatusTooManyRequests, "RATE_LIMITED")
		enveloped(t, got)
		wait, err := strconv.Atoi(got.Header.Get("Retry-After"))
		if err != nil || wait < 90 || wait > 100 {
			t.Errorf("Retry-After is %q, want some 100 seconds", got.Header.Get("Retry-After"))
		}
		if got := s.Post(t, "TUI", "/v1/provider-checkouts", order(legacyCreate, "ORDER-1")); got.Status != http.StatusCreated {
			t.Errorf("another key is answered %d %s", got.Status, got.Body)
		}
		if got := s.Send(t, http.MethodGet, "/v1/environment", ""); got.Status != http.StatusOK {
			t.Errorf("without a key /v1/environment answers %d %s", got.Status, got.Body)
		}
		s.Clock.Forward(time.Duration(wait) * time.Second)
		if got := s.Get(t, "KOWHAI", path); got.Status != http.StatusOK {
			t.Errorf("after the wait a get answers %d %s", got.Status, got.Body)
		}
	}, func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 0.01 }) // a burst of one
}
