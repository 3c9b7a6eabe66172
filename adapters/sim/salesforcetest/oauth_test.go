package salesforcetest_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/simtest"
)

// credentials is a token request by client credentials.
func credentials(id, secret string) url.Values {
	return url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}
}

func TestClientCredentialsSignIn(t *testing.T) {
	b := newBench(t, func(o *options) { o.InstanceURL = "https://kowhai.my.salesforce.example/" })
	got := b.post(credentials(clientID, clientSecret))
	for path, want := range map[string]any{"instance_url": "https://kowhai.my.salesforce.example", "token_type": "Bearer", "scope": "api",
		"issued_at": "1801440000000"} {
		if at := got.At(path); at != want {
			t.Errorf("%s = %v, want %v", path, at, want)
		}
	}
	if id := got.Text("id"); !strings.HasPrefix(id, b.URL+"/id/00D") || !strings.Contains(id, "/005") {
		t.Errorf("id = %s, want that of the organisation and its user", id)
	}
}

func TestATokenRequestMayComeInChunks(t *testing.T) {
	b := newBench(t)
	got := b.Call("POST", "/services/oauth2/token", "", with("Content-Type", "application/x-www-form-urlencoded"), func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(credentials(clientID, clientSecret).Encode())), -1
	})
	if got.Status != 200 || got.Text("access_token") == "" {
		t.Errorf("%d %s, want a token", got.Status, got.Raw)
	}
}

func TestWhoCannotSignIn(t *testing.T) {
	b := newBench(t)
	for _, tt := range []struct {
		name string
		form url.Values
		code string
	}{
		{"another client", credentials("other", clientSecret), "invalid_client_id"},
		{"another secret", credentials(clientID, "other"), "invalid_client"},
		{"no secret", credentials(clientID, ""), "invalid_client"},
		{"another grant", url.Values{"grant_type": {"password"}}, "unsupported_grant_type"},
		{"no grant", url.Values{}, "unsupported_grant_type"},
		{"an assertion where there is no key", url.Values{"grant_type": {jwtGrant}, "assertion": {"a.b.c"}}, "invalid_grant"},
	} {
		if got := b.post(tt.form); got.Status != 400 || got.Text("error") != tt.code || got.Text("error_description") == "" {
			t.Errorf("%s: %d %s, want 400 %s", tt.name, got.Status, got.Raw, tt.code)
		}
	}
	if got := b.Call("POST", "/services/oauth2/token", `{}`); got.Status != 400 || got.Text("error") != "unsupported_grant_type" {
		t.Errorf("JSON: %d %s", got.Status, got.Raw)
	}
}

const jwtGrant = "urn:ietf:params:oauth:grant-type:jwt-bearer"

// assertion signs claims.
func assertion(t *testing.T, key *rsa.PrivateKey, header string, claims simtest.Object) url.Values {
	t.Helper()
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString(payload)
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return url.Values{"grant_type": {jwtGrant}, "assertion": {signed + "." + base64.RawURLEncoding.EncodeToString(signature)}}
}

func TestAnAssertionSignsIn(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(o *options) {
		o.PublicKey, o.Audience, o.Username = &key.PublicKey, "https://test.salesforce.com", "user@kowhai.example"
	})
	const rs256 = `{"alg":"RS256"}`
	claims := func(change string, value any) simtest.Object {
		c := simtest.Object{"iss": clientID, "sub": "user@kowhai.example", "aud": "https://test.salesforce.com", "exp": started.Add(3 * time.Minute).Unix()}
		if change != "" {
			c[change] = value
		}
		return c
	}
	got := b.post(assertion(t, key, rs256, claims("", nil)))
	if b.token = got.Text("access_token"); b.token == "" {
		t.Fatalf("%d %s, want a token", got.Status, got.Raw)
	}
	b.create("Contact", contact("mere@example.nz"))
	for _, tt := range []struct {
		name string
		form url.Values
		code string
	}{
		{"another key", assertion(t, other, rs256, claims("", nil)), "invalid_grant"},
		{"another algorithm", assertion(t, key, `{"alg":"none"}`, claims("", nil)), "invalid_grant"},
		{"another issuer", assertion(t, key, rs256, claims("iss", "other")), "invalid_client_id"},
		{"another user", assertion(t, key, rs256, claims("sub", "other")), "invalid_grant"},
		{"another audience", assertion(t, key, rs256, claims("aud", "https://login.salesforce.com")), "invalid_grant"},
		{"an end that has come", assertion(t, key, rs256, claims("exp", started.Unix())), "invalid_grant"},
		{"an end that is far", assertion(t, key, rs256, claims("exp", started.Add(4*time.Minute).Unix())), "invalid_grant"},
		{"no end", assertion(t, key, rs256, claims("exp", 0)), "invalid_grant"},
		{"no JWT", url.Values{"grant_type": {jwtGrant}, "assertion": {"x"}}, "invalid_grant"},
	} {
		if got := b.post(tt.form); got.Status != 400 || got.Text("error") != tt.code {
			t.Errorf("%s: %d %s, want 400 %s", tt.name, got.Status, got.Raw, tt.code)
		}
	}
}

func TestATokenEnds(t *testing.T) {
	b := newBench(t)
	for name, end := range map[string]func(){"on demand": b.sim.ExpireTokens, "when it was not used for long": func() {
		b.sim.Advance(2*time.Hour + time.Second)
	}} {
		b.sim.Advance(time.Hour)
		b.OK(200, "GET", "limits", "")
		b.sim.Advance(time.Hour + 30*time.Minute) // it was used in between
		b.OK(200, "GET", "limits", "")
		end()
		if got := b.refused(401, "INVALID_SESSION_ID", "GET", "limits", ""); got.Text("0.message") != "Session expired or invalid" {
			t.Errorf("%s: %s", name, got.Raw)
		}
		b.signIn()
	}
	b.refused(401, "INVALID_SESSION_ID", "GET", "limits", "", with("Authorization", ""))
	b.refused(401, "INVALID_SESSION_ID", "GET", "limits", "", with("Authorization", "Basic "+b.token))
	b.refused(401, "INVALID_SESSION_ID", "GET", "nothing", "", with("Authorization", "Bearer other"))
}
