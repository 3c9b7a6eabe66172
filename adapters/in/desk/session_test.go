package desk

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

// cookie returns the cookie of the session that a browser has.
func (b browser) cookie(t *testing.T) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.base, nil)
	must(t, err)
	for _, c := range b.Jar.Cookies(r.URL) {
		if c.Name == "__Host-desk" {
			return c.Value
		}
	}
	t.Fatal("there is no session")
	return ""
}

// with gets a page with cookies of its own.
func (w *world) with(t *testing.T, cookies ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.URL+"/", nil)
	must(t, err)
	for _, c := range cookies {
		r.Header.Add("Cookie", c)
	}
	return w.browser(t).do(t, r)
}

func TestASessionEndsWhenItIsIdleAndAfterADay(t *testing.T) {
	w := newWorld(t)
	b := w.as(t, "Aroha", operate.Support)
	w.forward(29 * time.Minute)
	b.get(t, "/").is(t, http.StatusOK)
	w.forward(29 * time.Minute)
	first := b.cookie(t)
	b.get(t, "/").is(t, http.StatusOK)
	w.forward(2 * time.Minute)
	w.with(t, "__Host-desk="+first).is(t, http.StatusSeeOther) // replayed after its idle end
	b.get(t, "/").is(t, http.StatusOK)
	w.forward(30 * time.Minute)
	b.get(t, "/").is(t, http.StatusSeeOther)

	b = w.as(t, "Aroha", operate.Support)
	for range 23 {
		w.forward(20 * time.Minute)
		b.get(t, "/").is(t, http.StatusOK)
	}
	w.forward(20 * time.Minute)
	b.get(t, "/").is(t, http.StatusSeeOther) // eight hours
}

func TestCookiesThatThisDeskDidNotSealAreRefused(t *testing.T) {
	w := newWorld(t)
	b := w.as(t, "Aroha", operate.Support)
	good := b.cookie(t)
	w.with(t, "__Host-desk="+good).is(t, http.StatusOK)
	sealed, err := base64.RawURLEncoding.DecodeString(good)
	must(t, err)
	for i := range sealed { // no bit of it can be changed
		forged := append([]byte{}, sealed...)
		forged[i] ^= 1
		w.with(t, "__Host-desk="+base64.RawURLEncoding.EncodeToString(forged)).is(t, http.StatusSeeOther)
	}
	elsewhere := newWorld(t, func(o *Options) { o.Secrets = [][]byte{[]byte(strings.Repeat("x", 32))} }).as(t, "Aroha", operate.Support).cookie(t)
	pendingSealed := func() string {
		w, _ := newSignedWorld(t)
		b := w.browser(t)
		c := b.get(t, "/").is(t, http.StatusSeeOther).header.Get("Set-Cookie")
		return strings.SplitN(strings.SplitN(c, "=", 2)[1], ";", 2)[0]
	}()
	for name, cookies := range map[string][]string{
		"no cookie":                    {"a=b"},
		"an empty one":                 {"__Host-desk="},
		"no base64":                    {"__Host-desk=%%%"},
		"another operator's":           {"__Host-desk=" + elsewhere},
		"that of a sign-in under way":  {"__Host-desk=" + pendingSealed},
		"one without the prefix":       {"desk=" + good},
		"one of another name":          {"__Host-desk-sign-in=" + good},
		"two":                          {"__Host-desk=" + good, "__Host-desk=" + good},
		"a value without encryption":   {"__Host-desk=" + base64.RawURLEncoding.EncodeToString([]byte(`{"Name":"Aroha","Groups":["support"]}`))},
		"one with a piece of the good": {"__Host-desk=" + good[:len(good)/2]},
	} {
		if a := w.with(t, cookies...); a.status != http.StatusSeeOther {
			t.Errorf("%s is answered %d", name, a.status)
		}
	}
}

// Processes behind a balancer share sessions, also while the operator's secret is rotated; and a group that has lost its role
// signs nobody in.
func TestProcessesShareSessions(t *testing.T) {
	w := newWorld(t)
	cookie := "__Host-desk=" + w.as(t, "Aroha", operate.Support).cookie(t)
	newWorld(t).with(t, cookie).is(t, http.StatusOK)
	newWorld(t, func(o *Options) { o.Secrets = [][]byte{[]byte(strings.Repeat("n", 32)), secret} }).with(t, cookie).is(t, http.StatusOK)
	signed, _ := newSignedWorld(t)
	signed.with(t, cookie).is(t, http.StatusSeeOther)
}

// Whoever signs in by a click at a sandbox's desk is nobody at the desk of an issuer or of production, though these have the same secret
// and a group of the role's name; and the sandbox's promise of a key makes no key there.
func TestADeskTakesNothingThatASandboxSealed(t *testing.T) {
	w := newWorld(t)
	engineer := w.as(t, "Aroha", operate.Engineer)
	promised := engineer.post(t, "/providers/KOWHAI/keys", "reason", "ticket 7").is(t, http.StatusSeeOther).header.Get("Location")
	issuer := newIDP(t, w.now)
	for _, sandbox := range []bool{true, false} {
		there := newWorld(t, func(o *Options) {
			roles, err := ParseRoles([]byte(`{"claim": "groups", "roles": {"engineer": ["engineer"]}}`))
			must(t, err)
			o.Issuer, o.ClientID, o.ClientSecret, o.Roles, o.Sandbox = issuer.URL, clientID, clientSecret, roles, sandbox
			if !sandbox { // whose addresses must be https
				o.Issuer = "https://id.lender.example"
			}
		})
		if a := there.with(t, "__Host-desk="+engineer.cookie(t)); a.status == http.StatusOK {
			t.Errorf("the session is taken, in a sandbox: %t", sandbox)
		}
		there.browser(t).get(t, promised).is(t, http.StatusNotFound)
		there.browser(t).post(t, promised).is(t, http.StatusNotFound)
	}
	w.browser(t).post(t, promised).is(t, http.StatusOK)
}

func TestSettingsOfTheDeskAreChecked(t *testing.T) {
	good := Settings{URL: "https://desk.lender.example", Issuer: "https://id.lender.example/realm", ClientID: "a", ClientSecret: "b",
		Roles: Roles{Claim: "groups"}, Idle: time.Minute, Session: time.Minute}
	local := Settings{URL: "http://127.0.0.1:9443", Idle: time.Minute, Session: time.Hour}
	change := func(s Settings, f func(*Settings)) Settings { f(&s); return s }
	for _, tt := range []struct {
		name string
		Settings
		env    catalogue.Environment
		faults int
	}{
		{"production", good, catalogue.Production, 0},
		{"the sandbox with an issuer", good, catalogue.Sandbox, 0},
		{"the sandbox by a click", local, catalogue.Sandbox, 0},
		{"localhost", change(local, func(s *Settings) { s.URL = "http://localhost:9443" }), catalogue.Sandbox, 0},
		{"production by a click", change(good, func(s *Settings) { s.Issuer, s.ClientID, s.ClientSecret, s.Roles = "", "", "", Roles{} }), catalogue.Production, 1},
		{"plain http in production", change(good, func(s *Settings) { s.URL = "http://127.0.0.1" }), catalogue.Production, 1},
		{"plain http of an issuer", change(good, func(s *Settings) { s.Issuer = "http://id.lender.example" }), catalogue.Sandbox, 1},
		{"plain http beyond loopback", change(local, func(s *Settings) { s.URL = "http://192.168.1.1" }), catalogue.Sandbox, 1},
		{"a path", change(good, func(s *Settings) { s.URL += "/desk" }), catalogue.Production, 1},
		{"no URL", change(good, func(s *Settings) { s.URL = "" }), catalogue.Production, 1},
		{"a user", change(good, func(s *Settings) { s.URL = "https://a@desk.example" }), catalogue.Production, 1},
		{"no client", change(good, func(s *Settings) { s.ClientID = "" }), catalogue.Production, 1},
		{"no secret", change(good, func(s *Settings) { s.ClientSecret = "" }), catalogue.Production, 1},
		{"no roles", change(good, func(s *Settings) { s.Roles = Roles{} }), catalogue.Production, 1},
		{"a client without an issuer", change(local, func(s *Settings) { s.ClientID = "a" }), catalogue.Sandbox, 1},
		{"idle for longer than the session", change(good, func(s *Settings) { s.Idle = time.Hour }), catalogue.Production, 1},
		{"no idle time", change(good, func(s *Settings) { s.Idle = 0 }), catalogue.Production, 1},
	} {
		if faults := tt.Check(tt.env); len(faults) != tt.faults {
			t.Errorf("%s: %v, want %d faults", tt.name, faults, tt.faults)
		}
	}
	if _, err := New(Options{Settings: good}); err == nil {
		t.Error("a desk without a secret is served")
	}
	if _, err := New(Options{Settings: local, Secrets: [][]byte{secret}}); err == nil {
		t.Error("anybody signs in to a desk of production")
	}
}

func TestRolesAreParsed(t *testing.T) {
	r, err := ParseRoles([]byte(`{"claim": "groups", "roles": {"support": ["a", "b"], "auditor": ["b"], "finance": []}}`))
	must(t, err)
	if got := r.of([]string{"b", "c"}); len(got) != 2 || got[0] != operate.Support || got[1] != operate.Auditor {
		t.Errorf("the roles are %q", got)
	}
	if got := r.known([]string{"c", "b"}); len(got) != 1 || got[0] != "b" {
		t.Errorf("the groups with a role are %q", got)
	}
	for _, file := range []string{``, `[]`, `{}`, `{"claim": "groups"}`, `{"claim": "", "roles": {"support": ["a"]}}`, `{"claim": "groups", "roles": {}}`,
		`{"claim": "groups", "roles": {"root": ["a"]}}`, `{"claim": "groups", "roles": {"support": "a"}}`,
		`{"claim": "groups", "roles": {"support": [""]}}`, `{"claim": "groups", "roles": {"support": [1]}}`,
		`{"claim": "groups", "roles": {"support": ["a"], "support": ["b"]}}`, `{"claim": "groups", "roles": {"support": ["a"]}, "more": 1}`} {
		if r, err := ParseRoles([]byte(file)); err == nil {
			t.Errorf("%s is read as %+v", file, r)
		}
	}
}
