package desk

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

func TestATokenThatIsNotValidIsRefusedInItsOwnWords(t *testing.T) {
	w := newWorld(t)
	past, soon := w.now().Add(-time.Second).Unix(), w.now().Add(time.Hour).Unix()
	unsigned := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(w.claims(nil))) + "."
	for _, tt := range []struct {
		name, authorization, code, words string
	}{
		{"no header", "", "token_absent", "ID token is absent: the header Authorization is empty"},
		{"another scheme", "Basic Y2FuYXJ5OmE=", "token_malformed", "ID token is malformed"},
		{"two tokens", "Bearer " + w.token(nil) + "|Bearer " + w.token(nil), "token_malformed", "ID token is malformed"},
		{"no scheme", w.token(nil), "token_malformed", "ID token is malformed"},
		{"no token", "Bearer canary", "token_malformed", "ID token is malformed"},
		{"expired", "Bearer " + w.token(map[string]any{"exp": past}), "token_time", "has expired"},
		{"not valid yet", "Bearer " + w.token(map[string]any{"nbf": soon}), "token_time", "not valid yet"},
		{"another issuer", "Bearer " + w.token(map[string]any{"iss": "https://canary.example"}), "token_issuer", "another issuer"},
		{"another audience", "Bearer " + w.token(map[string]any{"aud": "canary"}), "token_audience", "another audience"},
		{"no signature", "Bearer " + unsigned, "token_signature", "signature of the ID token"},
		{"a shared key", "Bearer " + oidctest.SignIDToken(w.issuer.key.X.FillBytes(make([]byte, 32)), w.issuer.kid, "HS256", w.claims(nil)),
			"token_signature", "signature of the ID token"},
		{"another key", "Bearer " + oidctest.SignIDToken(newKey(t), w.issuer.kid, oidc.ES256, w.claims(nil)),
			"token_signature", "signature of the ID token"},
		{"an unknown key", "Bearer " + oidctest.SignIDToken(newKey(t), "canary", oidc.ES256, w.claims(nil)),
			"token_signature", "signature of the ID token"},
		{"nobody", "Bearer " + w.token(map[string]any{"email": nil, "sub": nil}), "token_nameless", "neither an email nor a sub"},
		{"a name of two lines", "Bearer " + w.token(map[string]any{"email": "canary\nb"}), "token_nameless", "neither an email nor a sub"},
	} {
		b := w.with("")
		r := b.request(t, http.MethodGet, openPath, "")
		r.Header["Authorization"] = strings.Split(tt.authorization, "|")
		if a := b.do(t, r); a.status != http.StatusUnauthorized || !strings.Contains(a.body, tt.words) || strings.Contains(a.body, "ORDER-1") ||
			a.header.Get("WWW-Authenticate") != "Bearer" || strings.Contains(a.body, `<nav`) {
			t.Errorf("%s is answered %d, want 401 with %q:\n%s", tt.name, a.status, tt.words, a.body)
		}
		if logged := w.logged(); !strings.Contains(logged, `"error_code":"`+tt.code+`"`) || strings.Contains(logged, "canary") {
			t.Errorf("%s is logged as %s, want %s and nothing of the token", tt.name, logged, tt.code)
		}
	}
}

func TestAPersonWithoutARoleIsToldWhy(t *testing.T) {
	w := newWorld(t)
	for _, tt := range []struct{ name, groups, code, words any }{
		{"no claim", nil, "roles_absent", "is absent"},
		{"a number", 7, "roles_unreadable", "is unreadable"},
		{"a list with a number", []any{"staff", 7}, "roles_unreadable", "is unreadable"},
		{"another group", "Staff", "roles_unmatched", "does not match"},
	} {
		b := w.with(w.token(map[string]any{"groups": tt.groups}))
		b.get(t, "/").is(t, http.StatusForbidden).has(t, "You are aroha@lender.example", "“groups”", tt.words.(string)).lacks(t, "<nav")
		b.post(t, openPath+"/cancel", "reason", "ticket 7").is(t, http.StatusForbidden)
		if logged := w.logged(); strings.Count(logged, fmt.Sprintf(`"error_code":"%s"`, tt.code)) != 2 {
			t.Errorf("%s is logged as %s, want %s", tt.name, logged, tt.code)
		}
	}
	w.did(t)
}

// A time may have a fraction of a second (RFC 7519, section 2).
func TestTimesOfATokenMayHaveFractions(t *testing.T) {
	w := newWorld(t)
	w.with(w.token(map[string]any{"auth_time": 1795869247.5})).get(t, "/").is(t, http.StatusOK)
}

func TestAGroupMayComeAloneAndTheSubjectIsTheNameWithoutAnEmail(t *testing.T) {
	w := newWorld(t)
	b := w.with(w.token(map[string]any{"groups": "desk-agents", "email": nil, "aud": []string{"other", audience}}))
	b.post(t, openPath+"/cancel", "reason", "ticket 7").is(t, http.StatusSeeOther)
	w.did(t, "u1: cancel "+openID+": ticket 7")
}

func TestTheTokenMayComeInAHeaderOfItsOwn(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.TokenHeader = "X-Id-Token" })
	w.agent().get(t, "/").is(t, http.StatusUnauthorized).has(t, "the header X-Id-Token is empty")
	for _, value := range []string{w.token(nil), "Bearer " + w.token(nil)} {
		b := w.with("")
		r := b.request(t, http.MethodGet, "/", "")
		r.Header.Set("X-Id-Token", value)
		b.do(t, r).is(t, http.StatusOK)
	}
}

func TestKeysAreRotatedAtTheIssuer(t *testing.T) {
	w := newWorld(t)
	before := w.agent()
	before.get(t, "/").is(t, http.StatusOK)
	w.issuer.rotate(t)
	before.get(t, "/").is(t, http.StatusOK)
	w.agent().get(t, "/").is(t, http.StatusOK)
	before.get(t, "/").is(t, http.StatusUnauthorized).has(t, "signature")
	asked := w.issuer.asked.Load()
	w.agent().get(t, "/").is(t, http.StatusOK)
	if again := w.issuer.asked.Load() - asked; again != 0 {
		t.Errorf("the issuer is asked %d times for a key that is known", again)
	}
}

// Requests do not wait one after another for an issuer that hangs, and the desk needs no restart when the issuer is back.
func TestAnIssuerThatIsAwayIsAskedAgain(t *testing.T) {
	w := newWorld(t)
	b := w.agent()
	w.issuer.away.Store(true)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if a := b.get(t, "/"); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "5" ||
				!strings.Contains(a.body, "The issuer of ID tokens does not answer") {
				t.Errorf("the answer is %d %q: %s", a.status, a.header.Get("Retry-After"), a.body)
			}
		})
	}
	all.Wait()
	if logged := w.logged(); w.issuer.asked.Load() != 1 || !strings.Contains(logged, "out of order") {
		t.Errorf("the issuer is asked %d times, want once; the log is %s", w.issuer.asked.Load(), logged)
	}
	w.issuer.away.Store(false)
	w.forward(issuerPause)
	b.get(t, "/").is(t, http.StatusOK)

	w.issuer.rotate(t) // the new key cannot be fetched: that is no fault of the token
	w.issuer.away.Store(true)
	b.get(t, "/").is(t, http.StatusOK)
	w.agent().get(t, "/").is(t, http.StatusServiceUnavailable)
	w.issuer.away.Store(false)
	w.agent().get(t, "/").is(t, http.StatusOK)
}

func TestAnOpenDeskSaysSoOnEachPageAndIsRefusedInProduction(t *testing.T) {
	open := func(o *Options) { o.Settings = Settings{URL: o.URL} }
	w := newWorld(t, open)
	b := w.with("")
	for _, path := range []string{"/", "/find", openPath, "/providers", "/providers/KOWHAI", "/nowhere"} {
		b.get(t, path).has(t, "This desk is open.", "<bdi translate=\"no\">demo</bdi>, agent")
	}
	b.post(t, openPath+"/cancel", "reason", "ticket 7").is(t, http.StatusSeeOther)
	w.did(t, "demo: cancel "+openID+": ticket 7")
	r := b.form(t, "/providers/KOWHAI/disable", "reason", "ticket 7")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	b.do(t, r).is(t, http.StatusForbidden)
	newWorld(t).agent().get(t, "/").lacks(t, "This desk is open.")
	if _, err := New(Options{Settings: Settings{URL: w.URL}, Store: w.store, SetupLifetime: time.Hour}); err == nil {
		t.Error("an open desk is served in production")
	}
}

func TestSettingsAreChecked(t *testing.T) {
	good := Settings{URL: "https://desk.lender.example", Issuer: "https://id.lender.example/a", Audience: "a", Roles: Roles{Claim: "groups"}}
	open := Settings{URL: "http://127.0.0.1:9443"}
	change := func(s Settings, f func(*Settings)) Settings { f(&s); return s }
	for _, tt := range []struct {
		name string
		Settings
		env    catalogue.Environment
		faults int
	}{
		{"production", good, catalogue.Production, 0},
		{"the sandbox with an issuer", good, catalogue.Sandbox, 0},
		{"an open sandbox", open, catalogue.Sandbox, 0},
		{"an open sandbox beyond loopback", change(open, func(s *Settings) { s.URL = "https://desk.lender.example" }), catalogue.Sandbox, 3},
		{"open production", change(open, func(s *Settings) { s.URL = "https://desk.lender.example" }), catalogue.Production, 3},
		{"plain http in production", change(good, func(s *Settings) { s.URL = "http://127.0.0.1" }), catalogue.Production, 1},
		{"a path", change(good, func(s *Settings) { s.URL += "/desk" }), catalogue.Production, 1},
		{"no issuer", change(good, func(s *Settings) { s.Issuer = "" }), catalogue.Production, 1},
		{"no audience", change(good, func(s *Settings) { s.Audience = "" }), catalogue.Production, 1},
		{"no roles", change(good, func(s *Settings) { s.Roles = Roles{} }), catalogue.Production, 1},
		{"an audience alone", change(open, func(s *Settings) { s.Audience = "a" }), catalogue.Sandbox, 2},
	} {
		if faults := tt.Check(tt.env); len(faults) != tt.faults {
			t.Errorf("%s: %v, want %d faults", tt.name, faults, tt.faults)
		}
	}
	if _, err := New(Options{Settings: open, Sandbox: true}); err == nil {
		t.Error("a desk without a store is served")
	}
}

func TestRolesAreParsed(t *testing.T) {
	r, err := ParseRoles([]byte(`{"claim": "groups", "agent": ["a", "b"], "viewer": ["b", "c"]}`))
	must(t, err)
	for group, want := range map[string]string{"a": agent, "b": agent, "c": viewer, "d": "", "": ""} {
		if got := r.of([]string{"x", group}); got != want {
			t.Errorf("the group %q has the role %q, want %q", group, got, want)
		}
	}
	for _, file := range []string{``, `[]`, `{}`, `{"claim": "groups"}`, `{"claim": "", "agent": ["a"]}`, `{"claim": "groups", "agent": []}`,
		`{"claim": "groups", "support": ["a"]}`, `{"claim": "groups", "agent": "a"}`, `{"claim": "groups", "agent": ["a", ""]}`,
		`{"claim": "groups", "agent": [1]}`, `{"claim": "groups", "agent": ["a"], "agent": ["b"]}`} {
		if r, err := ParseRoles([]byte(file)); err == nil {
			t.Errorf("%s is read as %+v", file, r)
		}
	}
}
