package desk

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// idp is a small OpenID Connect issuer: whoever is sent to it is signed in at once. It insists on PKCE, on the client's secret, and
// takes a code once.
type idp struct {
	*httptest.Server
	key *rsa.PrivateKey
	now func() time.Time

	mu       sync.Mutex
	codes    map[string]url.Values // the requests of sign-ins, by code
	asked    []url.Values
	claims   map[string]any // that replace the usual
	header   map[string]any
	signedBy *rsa.PrivateKey // nil: the issuer's key
	signedIn time.Time       // the credentials were given then; zero: now
}

const (
	clientID     = "desk-client"
	clientSecret = "canary-client-secret"
)

func newIDP(t *testing.T, now func() time.Time) *idp {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	p := &idp{key: key, now: now, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
			"scopes_supported": []string{"openid", "groups"}})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k1",
			"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()), "e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes())}}})
	})
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

func (p *idp) authorize(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := r.URL.Query()
	code := rand.Text()
	p.codes[code] = q
	p.asked = append(p.asked, q)
	if q.Has("max_age") {
		p.signedIn = time.Time{} // it asks for the credentials again
	}
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (p *idp) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, secret, _ := r.BasicAuth()
	asked, known := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if !known || id != clientID || secret != clientSecret || asked.Get("code_challenge_method") != "S256" ||
		asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		writeJSON(w, map[string]any{"error": "invalid_grant", "error_description": "canary.mail@example.nz"})
		return
	}
	claims := map[string]any{"iss": p.URL, "sub": "u1", "aud": clientID, "nonce": asked.Get("nonce"), "iat": p.now().Unix(),
		"exp": p.now().Add(time.Minute).Unix(), "auth_time": p.now().Unix(), "preferred_username": "aroha", "email": "aroha@lender.example",
		"groups": []string{"grp-support", "grp-other"}}
	if !p.signedIn.IsZero() {
		claims["auth_time"] = p.signedIn.Unix()
	}
	for name, value := range p.claims {
		if claims[name] = value; value == nil {
			delete(claims, name)
		}
	}
	writeJSON(w, map[string]any{"access_token": "a", "token_type": "Bearer", "expires_in": 60, "id_token": p.sign(claims)})
}

// sign returns an ID token.
func (p *idp) sign(claims map[string]any) string {
	header := map[string]any{"alg": "RS256", "kid": "k1"}
	for name, value := range p.header {
		header[name] = value
	}
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	signed := part(header) + "." + part(claims)
	if header["alg"] == "none" {
		return signed + "."
	}
	key := p.key
	if p.signedBy != nil {
		key = p.signedBy
	}
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		panic(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

// newSignedWorld serves a desk whose operators an issuer signs in.
func newSignedWorld(t *testing.T) (*world, *idp) {
	t.Helper()
	var p *idp
	w := newWorld(t, func(o *Options) {
		p = newIDP(t, o.Now)
		roles, err := ParseRoles([]byte(`{"claim": "groups", "roles": {"support": ["grp-support"], "compliance": ["grp-compliance"]}}`))
		must(t, err)
		o.Issuer, o.ClientID, o.ClientSecret, o.Roles = p.URL, clientID, clientSecret, roles
	})
	return w, p
}

// signs goes from a page of the desk to the issuer, and returns the address to which that leads back.
func (b browser) signs(t *testing.T, path string) (callback string) {
	t.Helper()
	at := b.get(t, path).is(t, http.StatusSeeOther).header.Get("Location")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	must(t, err)
	u, err := url.Parse(b.do(t, r).is(t, http.StatusFound).header.Get("Location"))
	must(t, err)
	if got := u.Scheme + "://" + u.Host; got != b.base {
		t.Fatalf("the issuer leads to %s", got)
	}
	return u.RequestURI()
}

func TestAnIssuerSignsIn(t *testing.T) {
	w, p := newSignedWorld(t)
	b := w.browser(t)
	path := "/checkouts/" + checkoutID
	a := b.get(t, b.signs(t, path)).is(t, http.StatusOK)
	if a.header.Get("Refresh") != "0; url="+path {
		t.Errorf("the sign-in leads to %q", a.header.Get("Refresh"))
	}
	cookies := a.header["Set-Cookie"]
	if len(cookies) != 2 {
		t.Fatalf("the cookies are %q", cookies)
	}
	for _, want := range []string{"__Host-desk=", "; Path=/", "; HttpOnly", "; Secure", "; SameSite=Strict"} {
		if !contains(cookies[1], want) {
			t.Errorf("the cookie %s lacks %s", cookies[1], want)
		}
	}
	b.get(t, path).is(t, http.StatusOK).has(t, "aroha", "support", canaryName)
	b.get(t, "/audit").is(t, http.StatusForbidden)
	q := p.asked[0]
	if q.Get("scope") != "openid profile email groups" || q.Get("code_challenge_method") != "S256" || q.Get("nonce") == "" || q.Has("max_age") {
		t.Errorf("the issuer is asked %v", q)
	}
	if got := a.header.Get("Content-Security-Policy"); !contains(got, "form-action 'self';") {
		t.Errorf("the policy is %s", got)
	}
	b.post(t, "/checkouts/"+checkoutID+"/reveal", "reason", "ticket 7").is(t, http.StatusSeeOther)
	if leaves := w.recorded(t); len(leaves) != 1 || !contains(leaves[0], `"operator":"aroha (support)"`) {
		t.Errorf("the records are %q", leaves)
	}
	b.post(t, "/sign-in", "name", "Aroha", "role", "engineer").is(t, http.StatusNotFound)
	b.post(t, "/sign-out").is(t, http.StatusOK)
	b.get(t, path).is(t, http.StatusSeeOther)
}

func TestTokensThatAreNotTheIssuersSignNobodyIn(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	must(t, err)
	for name, change := range map[string]func(*idp){
		"another issuer":       func(p *idp) { p.claims = map[string]any{"iss": "https://evil.example"} },
		"another audience":     func(p *idp) { p.claims = map[string]any{"aud": "another-client"} },
		"another client":       func(p *idp) { p.claims = map[string]any{"aud": []string{clientID, "other"}, "azp": "other"} },
		"nobody":               func(p *idp) { p.claims = map[string]any{"sub": nil} },
		"another nonce":        func(p *idp) { p.claims = map[string]any{"nonce": "replayed"} },
		"no nonce":             func(p *idp) { p.claims = map[string]any{"nonce": nil} },
		"a token that is over": func(p *idp) { p.claims = map[string]any{"exp": p.now().Add(-time.Minute).Unix()} },
		"alg none":             func(p *idp) { p.header = map[string]any{"alg": "none"} },
		"alg HS256":            func(p *idp) { p.header = map[string]any{"alg": "HS256"} },
		"another key":          func(p *idp) { p.signedBy = other },
		"an unknown key":       func(p *idp) { p.signedBy, p.header = other, map[string]any{"kid": "k2"} },
		"no group":             func(p *idp) { p.claims = map[string]any{"groups": nil} },
		"no group with a role": func(p *idp) { p.claims = map[string]any{"groups": []string{"grp-other", "support"}} },
		"a name of two lines":  func(p *idp) { p.claims = map[string]any{"preferred_username": "a\nb"} },
	} {
		t.Run(name, func(t *testing.T) {
			w, p := newSignedWorld(t)
			change(p)
			b := w.browser(t)
			a := b.get(t, b.signs(t, "/")).is(t, http.StatusUnauthorized).has(t, "You are not signed in")
			for _, c := range a.header["Set-Cookie"] {
				if contains(c, "__Host-desk=") {
					t.Errorf("a cookie is set: %s", c)
				}
			}
			b.get(t, "/").is(t, http.StatusSeeOther)
			for _, canary := range []string{"canary", "aroha"} {
				if contains(w.logged(), canary) {
					t.Errorf("the log has %q: %s", canary, w.logged())
				}
			}
			if !contains(w.logged(), `"msg":"sign in to the desk"`) {
				t.Errorf("the log does not say why: %s", w.logged())
			}
		})
	}
}

// A group may come alone, and the subject is the name where there is no other.
func TestAnIssuerMaySayLittle(t *testing.T) {
	w, p := newSignedWorld(t)
	p.claims = map[string]any{"groups": "grp-compliance", "preferred_username": nil, "email": nil}
	b := w.browser(t)
	b.get(t, b.signs(t, "/")).is(t, http.StatusOK)
	b.get(t, "/audit").is(t, http.StatusOK).has(t, "<bdi>u1</bdi> (compliance)")
}

func TestACallbackBelongsToItsBrowserAndIsTakenOnce(t *testing.T) {
	w, _ := newSignedWorld(t)
	b, attacker := w.browser(t), w.browser(t)
	callback := attacker.signs(t, "/")
	b.get(t, callback).is(t, http.StatusUnauthorized) // a code of somebody else's sign-in
	b.signs(t, "/")
	b.get(t, callback).is(t, http.StatusUnauthorized) // whose state is not that of this browser
	callback = b.signs(t, "/")
	b.get(t, callback).is(t, http.StatusOK)
	b.get(t, callback).is(t, http.StatusUnauthorized)
	b = w.browser(t)
	callback = b.signs(t, "/")
	w.forward(signInLimit)
	b.get(t, callback).is(t, http.StatusUnauthorized)
	b = w.browser(t)
	b.signs(t, "/")
	b.get(t, "/sign-in/callback?error=access_denied&error_description=canary").is(t, http.StatusUnauthorized)
	for _, c := range []string{"canary", "code="} {
		if contains(w.logged(), c) {
			t.Errorf("the log has %q:\n%s", c, w.logged())
		}
	}
}

// A sign-in leads to a page of the desk, never to another website.
func TestASignInLeadsNowhereElse(t *testing.T) {
	w, _ := newSignedWorld(t)
	for to, want := range map[string]string{"/approvals": "/approvals", "//evil.example": "/", "https://evil.example/": "/", "/\\evil.example": "/",
		"javascript:alert(1)": "/", "": "/", "/a;url=//evil.example": "/"} {
		b := w.browser(t)
		a := b.get(t, b.signs(t, "/sign-in?to="+url.QueryEscape(to))).is(t, http.StatusOK)
		if got := a.header.Get("Refresh"); got != "0; url="+want {
			t.Errorf("%q leads to %q, want %q", to, got, want)
		}
	}
}

func TestADangerousActNeedsAFreshSignIn(t *testing.T) {
	w, p := newSignedWorld(t)
	p.claims = map[string]any{"groups": []string{"grp-compliance"}}
	b := w.browser(t)
	b.get(t, b.signs(t, "/")).is(t, http.StatusOK)
	b.post(t, "/approvals/apr_unknown/approve").is(t, http.StatusNotFound)
	p.signedIn = w.now()
	w.forward(freshFor)
	const again = "/sign-in?fresh=&to=%2Fapprovals"
	if a := b.post(t, "/approvals/apr_unknown/approve").is(t, http.StatusForbidden); a.header.Get("Refresh") != "0; url="+again {
		t.Errorf("the form leads to %s", a.header.Get("Refresh"))
	}
	// An issuer that does not ask for the credentials again signs in nobody to act.
	callback := b.signs(t, again)
	if q := p.asked[len(p.asked)-1]; q.Get("max_age") != "300" {
		t.Errorf("the issuer is asked %v", q)
	}
	p.claims["auth_time"] = w.now().Add(-freshFor).Unix()
	b.get(t, callback).is(t, http.StatusUnauthorized)
	callback = b.signs(t, "/sign-in?fresh&to=/approvals")
	p.claims["auth_time"] = nil
	b.get(t, callback).is(t, http.StatusUnauthorized)
	p.claims = map[string]any{"groups": []string{"grp-compliance"}}
	callback = b.signs(t, "/sign-in?fresh&to=/approvals")
	b.get(t, callback).is(t, http.StatusOK)
	b.post(t, "/approvals/apr_unknown/approve").is(t, http.StatusNotFound)
}

func TestAnIssuerThatIsAwayIsNamed(t *testing.T) {
	w, p := newSignedWorld(t)
	p.Close()
	w.browser(t).get(t, "/").is(t, http.StatusBadGateway).has(t, "The sign-in does not answer")
	if !contains(w.logged(), "the issuer of sign-ins") {
		t.Errorf("the log does not say so: %s", w.logged())
	}
}

// Requests without a session, which anybody can send, do not wait for an issuer that hangs one after another.
func TestAnIssuerThatHangsIsAskedOnceForAllWhoWait(t *testing.T) {
	var asked atomic.Int32
	hanging := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		time.Sleep(50 * time.Millisecond)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(hanging.Close)
	w := newWorld(t, func(o *Options) {
		o.Issuer, o.ClientID, o.ClientSecret, o.Roles = hanging.URL, clientID, clientSecret, clickable()
		o.Roles.Claim = "groups"
	})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { w.with(t, "a=b").is(t, http.StatusBadGateway) })
	}
	all.Wait()
	if n := asked.Load(); n != 1 {
		t.Errorf("the issuer is asked %d times, want once", n)
	}
	w.forward(issuerPause)
	if w.with(t, "a=b").is(t, http.StatusBadGateway); asked.Load() != 2 {
		t.Errorf("the issuer is asked %d times, want again after a pause", asked.Load())
	}
}
