package contract_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Section 5: authentication and authorization.

// authenticated returns the endpoints that need a key, with a body for each that takes one.
func authenticated(created response) []struct{ method, path, body string } {
	return []struct{ method, path, body string }{
		{http.MethodPost, "/v1/provider-checkouts", order(catalogueCreate, created.String("provider.provider_order_id"))},
		{http.MethodGet, created.CheckoutPath(), ""},
		{http.MethodPost, created.CheckoutPath() + "/confirm", created.ConfirmBody()},
	}
}

func TestContract5AuthenticatedEndpointsRequireABearerKey(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		key := s.Keys["KOWHAI"]
		for _, header := range []string{"none", "", " ", "Bearer", "Bearer ", "Basic " + key, "Token " + key, key, "Bearer," + key} {
			for _, e := range authenticated(created) {
				t.Run(header+" "+e.method+" "+e.path, func(t *testing.T) {
					headers := []string{"Content-Type", "application/json", "Authorization", header}
					if header == "none" {
						headers = headers[:2]
					}
					got := s.Send(t, e.method, e.path, e.body, headers...)
					refused(t, got, http.StatusUnauthorized, "MISSING_API_KEY")
					if got.Header.Get("WWW-Authenticate") != "Bearer" {
						t.Errorf("WWW-Authenticate is %q", got.Header.Get("WWW-Authenticate"))
					}
				})
			}
		}
		got := s.Send(t, http.MethodGet, created.CheckoutPath(), "", "Authorization", "bearer "+key)
		if got.Status != http.StatusOK {
			t.Errorf("with the scheme in small letters a get answers %d %s", got.Status, got.Body)
		}
	})
}

func TestContract5TheKeyIsAskedForBeforeTheBodyIsRead(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		address := s.listening(t)
		unknown, _ := catalogue.NewKey("KOWHAI", catalogue.Sandbox, time.Now(), [32]byte{})
		for header, want := range map[string]string{"": "401 MISSING_API_KEY", "Authorization: Basic eDp5\r\n": "401 MISSING_API_KEY",
			"Expect: 100-continue\r\n": "401 MISSING_API_KEY", "Authorization: Bearer pck_sandbox_x\r\n": "403 INVALID_API_KEY",
			"Authorization: Bearer " + unknown + "\r\n": "403 INVALID_API_KEY"} {
			answers := raw(t, address, "POST /v1/provider-checkouts HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
				header+"Content-Length: 1073741824\r\n\r\n")
			status, code, _ := strings.Cut(want, " ")
			if len(answers) != 1 || !strings.HasPrefix(answers[0], status+" ") || !strings.Contains(answers[0], `"`+code+`"`) {
				t.Errorf("with the header %q 1 GiB is answered %q, want %s", header, answers, want)
			}
		}
	})
}

func TestContract5AKeyThatIsNotRecognisedIsRefusedAlike(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		key := s.Keys["KOWHAI"]
		unknown, _ := catalogue.NewKey("KOWHAI", catalogue.Sandbox, time.Now(), [32]byte{1})
		revoked := sandbox.IssueKey(t, s.Store, "KOWHAI", catalogue.Sandbox)
		s.revoke(t, revoked)
		secret := strings.Split(key, "_")[3]
		var first string
		for name, bad := range map[string]string{
			"unknown":                          unknown,
			"revoked":                          revoked,
			"of the production environment":    sandbox.IssueKey(t, s.Store, "KOWHAI", catalogue.Production),
			"cut short":                        key[:len(key)-1],
			"with one letter more":             key + "a",
			"in another letter case":           strings.ToUpper(key),
			"with another secret":              strings.Replace(key, secret, strings.Repeat("a", len(secret)), 1),
			"of another environment by prefix": strings.Replace(key, "sandbox", "production", 1),
			"the setup token":                  created.String("direct_debit.token"),
			"the signing secret":               "whsec_kowhai_0123456789abcdef",
			"a word":                           "letmein",
			"two words":                        key + " " + key,
			"very long":                        strings.Repeat("k", 8000),
		} {
			for _, e := range authenticated(created) {
				t.Run(name+" "+e.method+" "+e.path, func(t *testing.T) {
					got := s.Send(t, e.method, e.path, e.body, "Content-Type", "application/json", "Authorization", "Bearer "+bad)
					refused(t, got, http.StatusForbidden, "INVALID_API_KEY")
					if first == "" {
						first = anonymous(got)
					}
					if anonymous(got) != first {
						t.Errorf("answer %s\nwant the same as for any other: %s", anonymous(got), first)
					}
				})
			}
		}
	})
}

// anonymous returns an answer without its request id.
func anonymous(r response) string {
	return fmt.Sprint(r.Status, " ", strings.ReplaceAll(r.Body, r.Header.Get("X-Request-Id"), "req_…"))
}

// act returns an act of a test's operator.
func act(name string) checkout.Act {
	return checkout.Act{ID: "act_" + rand.Text(), At: time.Now().UTC().Truncate(time.Millisecond), Operator: "test", Name: name}
}

// revoke revokes an API key, and waits as long as a running server may still accept it.
func (s *suite) revoke(t *testing.T, key string) {
	t.Helper()
	if err := s.Store.RevokeKey(t.Context(), catalogue.KeyID(key), time.Now().UTC().Truncate(time.Millisecond), act("keys revoke")); err != nil {
		t.Fatal(err)
	}
	s.Clock.Forward(time.Second)
}

func TestContract5TheKeyIsTakenFromItsHeaderAlone(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		path, key := s.Create(t, "ORDER-1").CheckoutPath(), s.Keys["KOWHAI"]
		for name, got := range map[string]response{
			"in the query":      s.Send(t, http.MethodGet, path+"?api_key="+key+"&access_token="+key, ""),
			"in a cookie":       s.Send(t, http.MethodGet, path, "", "Cookie", "Authorization=Bearer "+key),
			"in another header": s.Send(t, http.MethodGet, path, "", "X-Api-Key", key),
			"in a proxy's":      s.Send(t, http.MethodGet, path, "", "Proxy-Authorization", "Bearer "+key),
			"in the body":       s.Send(t, http.MethodPost, "/v1/provider-checkouts", `{"api_key": "`+key+`"}`, "Content-Type", "application/json"),
			"as a Basic user":   s.Send(t, http.MethodGet, strings.Replace(s.URL, "//", "//"+key+":x@", 1)+path, ""),
			"in a form":         s.Send(t, http.MethodPost, "/v1/provider-checkouts", "access_token="+key, "Content-Type", "application/x-www-form-urlencoded"),
		} {
			t.Run(name, func(t *testing.T) { refused(t, got, http.StatusUnauthorized, "MISSING_API_KEY") })
		}
		for _, other := range []string{"Bearer " + key, "Bearer x", "Bearer " + s.Keys["TUI"], ""} {
			got := s.Send(t, http.MethodGet, path, "", "Authorization", "Bearer "+key, "Authorization", other)
			refused(t, got, http.StatusForbidden, "INVALID_API_KEY")
		}
	})
}

func TestContract5TheKeyDeterminesTheProvider(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for _, code := range []string{"TUI", "NOBODY", "kowhai", "KOWHAI "} {
			body := strings.Replace(order(catalogueCreate, "ORDER-1"), "KOWHAI", code, 1)
			refused(t, s.Post(t, "KOWHAI", "/v1/provider-checkouts", body),
				http.StatusForbidden, "PROVIDER_KEY_MISMATCH", "provider.provider_code")
		}
		if all := s.Records(t); len(all) != 0 {
			t.Errorf("refused creates made %+v", all)
		}
	})
}

func TestContract5AKeyOfOneEnvironmentIsNotValidInTheOther(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		refused(t, s.Get(t, "KOWHAI", "/v1/provider-checkouts/x"), http.StatusForbidden, "INVALID_API_KEY")
		s.Keys["KOWHAI"] = sandbox.IssueKey(t, s.Store, "KOWHAI", catalogue.Production)
		// The key is valid now, but the configuration is still the sandbox's.
		refused(t, s.Get(t, "KOWHAI", "/v1/provider-checkouts/x"), http.StatusForbidden, "PROVIDER_NOT_ENABLED")
	}, func(c *service.Config, _ *httpapi.Options) {
		c.Environment, c.BaseURL, c.Processor = catalogue.Production, "https://pay.example", movesMoney{c.Processor}
	})
}

// movesMoney is a processor that is allowed in production.
type movesMoney struct{ ports.Processor }

func (p movesMoney) Info() checkout.ProcessorInfo {
	return checkout.ProcessorInfo{Name: "test", Environment: catalogue.Production}
}

func TestContract5ProvidersMayHaveSeveralLiveKeysAndARevokedOneIsRefusedWithinASecond(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		path, old := s.Create(t, "ORDER-1").CheckoutPath(), s.Keys["KOWHAI"]
		next := sandbox.IssueKey(t, s.Store, "KOWHAI", catalogue.Sandbox)
		for _, key := range []string{old, next} {
			if got := s.Send(t, http.MethodGet, path, "", "Authorization", "Bearer "+key); got.Status != http.StatusOK {
				t.Errorf("a live key is answered %d %s", got.Status, got.Body)
			}
		}
		s.revoke(t, old)
		refused(t, s.Get(t, "KOWHAI", path), http.StatusForbidden, "INVALID_API_KEY")
		if got := s.Send(t, http.MethodGet, path, "", "Authorization", "Bearer "+next); got.Status != http.StatusOK {
			t.Errorf("with the other key revoked a live one is answered %d %s", got.Status, got.Body)
		}
	})
}

func TestContract5WhatAnotherProcessRevokesOrConfiguresIsSeenInTime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	open := func() *sqlite.DB {
		db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	s := newSuite(t, sandbox.On(open()))
	created := s.Create(t, "ORDER-1")
	s.Store = open() // the operator's commands
	s.Configure(t, strings.Replace(providers, `"active": true`, `"active": false`, 1))
	refused(t, s.Get(t, "KOWHAI", created.CheckoutPath()), http.StatusForbidden, "PROVIDER_NOT_ENABLED")
	s.Configure(t, providers)
	if got := s.Get(t, "KOWHAI", created.CheckoutPath()); got.Status != http.StatusOK {
		t.Errorf("configured again, a get answers %d %s", got.Status, got.Body)
	}
	s.revoke(t, s.Keys["KOWHAI"])
	refused(t, s.Get(t, "KOWHAI", created.CheckoutPath()), http.StatusForbidden, "INVALID_API_KEY")
	s.Keys["KOWHAI"] = sandbox.IssueKey(t, s.Store, "KOWHAI", catalogue.Sandbox)
	if got := s.Get(t, "KOWHAI", created.CheckoutPath()); got.Status != http.StatusOK {
		t.Errorf("a new key is answered %d %s", got.Status, got.Body)
	}
}

func TestContract5AnUnusableConfigurationIsRefusedWithTheReason(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		page := created.String("direct_debit.setup_url")
		for _, tt := range []struct{ name, from, to, code, reason string }{
			{"not active", `"active": true`, `"active": false`, "PROVIDER_NOT_ENABLED", "not active"},
			{"not API-enabled", `"api_enabled": true`, `"api_enabled": false`, "PROVIDER_NOT_ENABLED", "not enabled for the API"},
			{"not linked to an account", `"account_id": "acc-kowhai"`, `"account_id": ""`, "PROVIDER_NOT_ENABLED", "account"},
			{"of another environment", `"environment": "sandbox"`, `"environment": "production"`, "PROVIDER_NOT_ENABLED", "environment"},
			{"removed", `"provider_code": "KOWHAI"`, `"provider_code": "KOWHAI-2"`, "PROVIDER_NOT_FOUND", "configuration"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				file := providers
				if tt.name == "of another environment" { // events and pages of production need https
					file = strings.Replace(file, `"webhook": {"url": "HOOKS/KOWHAI", "signing_secret": "whsec_kowhai_0123456789abcdef"},`, "", 1)
				}
				s.Configure(t, strings.Replace(file, tt.from, tt.to, 1))
				status := map[string]int{"PROVIDER_NOT_ENABLED": 403, "PROVIDER_NOT_FOUND": 404}[tt.code]
				for _, e := range authenticated(created) {
					got := s.Send(t, e.method, e.path, e.body, "Content-Type", "application/json", "Authorization", "Bearer "+s.Keys["KOWHAI"])
					refused(t, got, status, tt.code)
					if !strings.Contains(got.String("error.message"), tt.reason) {
						t.Errorf("the message %q does not say %q", got.String("error.message"), tt.reason)
					}
				}
				for _, got := range []response{s.Send(t, http.MethodGet, page, ""), s.Press(t, created)} {
					if got.Status != http.StatusGone {
						t.Errorf("the setup page answers %d", got.Status)
					}
				}
				if got := s.Post(t, "TUI", "/v1/provider-checkouts", order(legacyCreate, tt.name)); got.Status != http.StatusCreated {
					t.Errorf("another provider's create answers %d %s", got.Status, got.Body)
				}
				s.Configure(t, providers)
				if got := s.Get(t, "KOWHAI", created.CheckoutPath()); got.Status != http.StatusOK {
					t.Errorf("usable again, a get answers %d %s", got.Status, got.Body)
				}
			})
		}
		if got := s.Confirm(t, created); got.At("already_confirmed") != false {
			t.Errorf("after all that confirm answers %d %s", got.Status, got.Body)
		}
	})
}

func TestContract5CheckingAKeyWritesNothing(t *testing.T) {
	contractWith(t, withFaultyStore, func(t *testing.T, s *suite, store *faulty) {
		created := s.Create(t, "ORDER-1")
		store.fail(func(call string) error {
			switch call {
			case "InsertCheckout", "UpdateCheckout", "SettleEvent":
				return errors.New("attempt to write a readonly database")
			}
			return nil
		})
		if got := s.Get(t, "KOWHAI", created.CheckoutPath()); got.Status != http.StatusOK {
			t.Errorf("on a store that cannot be written a get answers %d %s", got.Status, got.Body)
		}
		if got := s.Post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, "ORDER-1")); got.Status != http.StatusOK {
			t.Errorf("on a store that cannot be written a replay answers %d %s", got.Status, got.Body)
		}
	})
}

func TestContract5OnlyTheHashOfAKeyIsKept(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		text := s.Keys["KOWHAI"]
		if !regexp.MustCompile(`^pck_sandbox_[a-z2-7]{8}_[a-z2-7]{44}_[a-z2-7]{7}$`).MatchString(text) {
			t.Errorf("the key is %q", text)
		}
		hash := sha256.Sum256([]byte(text))
		kept, err := s.Store.Key(context.WithoutCancel(t.Context()), hash)
		if err != nil || kept.Hash != hash || strings.Contains(fmt.Sprintf("%+v", kept), strings.Split(text, "_")[3]) {
			t.Errorf("of the key is kept %+v, %v", kept, err)
		}
	})
}

func TestContract5BadKeysAreRateLimitedAndLockNoOneOut(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		path := s.Create(t, "ORDER-1").CheckoutPath()
		slowed := 0
		for i := range 100 {
			bad := s.Send(t, http.MethodGet, path, "", "Authorization", "Bearer guess")
			switch bad.String("error.code") {
			case "RATE_LIMITED":
				slowed++
				refused(t, bad, http.StatusTooManyRequests, "RATE_LIMITED")
			default:
				refused(t, bad, http.StatusForbidden, "INVALID_API_KEY")
			}
			if i%25 == 0 {
				if good := s.Get(t, "KOWHAI", path); good.Status != http.StatusOK {
					t.Errorf("after %d bad keys a good one is answered %d %s", i+1, good.Status, good.Body)
				}
			}
		}
		if slowed == 0 {
			t.Error("a hundred bad keys in a row were all looked up")
		}
	}, func(_ *service.Config, o *httpapi.Options) { o.RateLimit = 3 })
}
