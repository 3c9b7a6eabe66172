package salesforce_test

import (
	"crypto/rand"
	"crypto/rsa"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

func newKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAJWTBearerSignsIn(t *testing.T) {
	key := newKey(t, 2048)
	b := newBench(t, func(sim *salesforcetest.Options, o *salesforce.Options) {
		sim.ClientSecret, sim.PublicKey, sim.Username = "", &key.PublicKey, "checkout@kowhai.example"
		o.ClientSecret, o.JWTKey, o.User = "", key, "checkout@kowhai.example"
	})
	if _, err := b.Open(t.Context(), enrolment()); err != nil {
		t.Errorf("Open: %v", err)
	}
}

// A token that has ended is replaced once, however many calls find that out.
func TestATokenIsUsedUntilItEnds(t *testing.T) {
	b := newBench(t)
	opens := func() {
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, err := b.Open(t.Context(), enrolment()); err != nil {
					t.Errorf("Open: %v", err)
				}
			})
		}
		all.Wait()
	}
	opens()
	if n := b.sim.Statistics().Tokens; n != 1 {
		t.Errorf("%d tokens, want 1 for all calls", n)
	}
	b.sim.ExpireTokens()
	opens()
	if n := b.sim.Statistics().Tokens; n != 2 {
		t.Errorf("%d tokens, want one more once it has ended", n)
	}
}

// A token that is never taken is asked for once more, and not for ever.
func TestATokenThatIsRefusedIsReplacedOnce(t *testing.T) {
	b := newBench(t)
	b.sim.Arm(salesforcetest.Fault{Kind: salesforcetest.FaultExpiredToken})
	_, err := b.Open(t.Context(), enrolment())
	if err == nil || !strings.Contains(err.Error(), "INVALID_SESSION_ID") {
		t.Errorf("Open = %v, want the refusal of the token", err)
	}
	complain(t, err)
	if n := b.sim.Statistics().Tokens; n != 2 {
		t.Errorf("%d tokens, want 2", n)
	}
}

func TestAWrongSecretIsNoRefusalOfTheEnrolment(t *testing.T) {
	b := newBench(t, func(_ *salesforcetest.Options, o *salesforce.Options) { o.ClientSecret = "another secret" })
	_, err := b.Open(t.Context(), enrolment())
	if err == nil || !strings.HasSuffix(err.Error(), "sign in: Salesforce answered 400 invalid_client") {
		t.Errorf("Open = %v, want that the client is refused", err)
	}
	complain(t, err, "another secret")
}

func TestTheAPIMayNotBeAnywhere(t *testing.T) {
	for _, address := range []string{"http://kowhai.my.salesforce.example", "ftp://127.0.0.1", "https://user@kowhai.example",
		"https://kowhai.example/path", "//kowhai.example", "https://kowhai.example?a=b"} {
		b := newBench(t, func(sim *salesforcetest.Options, _ *salesforce.Options) { sim.InstanceURL = address })
		if _, err := b.Open(t.Context(), enrolment()); err == nil || !strings.Contains(err.Error(), "instance_url") {
			t.Errorf("Open with the instance_url %q: %v, want an error", address, err)
		}
	}
}

// A redirect would take the token along.
func TestNoRedirectIsFollowed(t *testing.T) {
	c := over(t, func(r *http.Request) *http.Response {
		if r.Host != "kowhai.example" {
			t.Errorf("%s %s with %q reached another host", r.Method, r.URL, r.Header.Get("Authorization"))
		}
		return &http.Response{StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"https://elsewhere.example"}},
			Body: http.NoBody}
	})
	if got, err := c.Open(t.Context(), enrolment()); err == nil {
		t.Errorf("Open = %+v, want an error", got)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestOptionsAreChecked(t *testing.T) {
	good := salesforce.Options{Environment: catalogue.Production, URL: "https://kowhai.my.salesforce.example", ClientID: "a", ClientSecret: "b"}
	if _, err := salesforce.New(good); err != nil {
		t.Errorf("New: %v", err)
	}
	for want, change := range map[string]func(*salesforce.Options){
		"neither sandbox nor production": func(o *salesforce.Options) { o.Environment = "test" },
		"must be https":                  func(o *salesforce.Options) { o.URL = "http://127.0.0.1:1" },
		"not a scheme and a host":        func(o *salesforce.Options) { o.URL = "kowhai" },
		"client id is missing":           func(o *salesforce.Options) { o.ClientID = "" },
		"client secret is missing":       func(o *salesforce.Options) { o.ClientSecret = "" },
		"give one of them":               func(o *salesforce.Options) { o.JWTKey, o.User = newKey(t, 2048), "u" },
		"the user":                       func(o *salesforce.Options) { o.ClientSecret, o.JWTKey = "", newKey(t, 2048) },
		"less than 2048":                 func(o *salesforce.Options) { o.ClientSecret, o.JWTKey, o.User = "", newKey(t, 1024), "u" },
	} {
		o := good
		change(&o)
		if _, err := salesforce.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("New = %v, want %q", err, want)
		}
	}
}
