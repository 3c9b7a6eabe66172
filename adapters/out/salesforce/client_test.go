package salesforce_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/crmtest"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// served carries a request to an organisation in the same bubble.
func served(org *salesforcetest.Org, r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if recover() != nil { // of the handler, to break the connection
			resp, err = nil, errors.New("the connection was reset")
		}
	}()
	w, in := httptest.NewRecorder(), r.Clone(r.Context())
	in.Host = r.URL.Host
	org.ServeHTTP(w, in)
	return w.Result(), nil
}

// inBubble runs a test in virtual time, with a CRM that is closed in the end and an organisation whose answers take 50 ms.
func inBubble(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		org := salesforcetest.New(salesforcetest.Options{ClientID: clientID, ClientSecret: clientSecret})
		crm, err := salesforce.New(salesforce.Options{Environment: catalogue.Sandbox, URL: "http://127.0.0.1", ClientID: clientID,
			ClientSecret: clientSecret, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				time.Sleep(50 * time.Millisecond)
				return served(org, r)
			})})
		if err != nil {
			t.Fatal(err)
		}
		test(t, &bench{crm, org})
		if err := crm.Close(); err != nil {
			t.Error(err)
		}
	})
}

// away has every call suffer a fault.
func (b *bench) away(f salesforcetest.Fault) {
	b.org.Faults(func(salesforcetest.Call) salesforcetest.Fault { return f })
}

// However Salesforce is away, callers wait for it a few times only, then a probe of the CRM's own asks it now and then, and what is
// tried after it has come back goes through.
func TestAnAbsentSalesforceIsSpared(t *testing.T) {
	for _, fault := range []salesforcetest.Fault{{Kind: salesforcetest.Hang}, {Kind: salesforcetest.Reset}, {Kind: salesforcetest.HTML},
		{Kind: salesforcetest.RequestLimit}, {Kind: salesforcetest.ServerError}, {Kind: salesforcetest.Unavailable}} {
		t.Run(string(fault.Kind), func(t *testing.T) {
			inBubble(t, func(t *testing.T, b *bench) {
				if err := b.Ready(t.Context()); err != nil {
					t.Fatalf("Ready = %v", err)
				}
				b.away(fault)
				for i := range 5 {
					if err := b.Sync(t.Context(), crmtest.Opened(fmt.Sprint(i))); err == nil {
						t.Fatal("Sync = nil, though Salesforce is away")
					}
				}
				spare(t, b)
				b.org.Faults(nil)
				time.Sleep(30 * time.Second)
				before := len(b.org.Calls())
				b.told(t, crmtest.Opened("back"))
				if n := len(b.org.Calls()) - before; n != 1 {
					t.Errorf("%d calls after Salesforce has come back, want 1", n)
				}
			})
		})
	}
}

// spare checks for a minute that callers are told at once that Salesforce is away, and send nothing.
func spare(t *testing.T, b *bench) {
	t.Helper()
	began, before := time.Now(), len(b.org.Calls())
	for time.Since(began) < time.Minute {
		at := time.Now()
		if err := b.Sync(t.Context(), crmtest.Opened("spared")); !errors.Is(err, ports.ErrBusy) {
			t.Fatalf("Sync = %v while Salesforce is away, want %v", err, ports.ErrBusy)
		}
		if took := time.Since(at); took > 0 {
			t.Fatalf("Sync took %s while Salesforce is away", took)
		}
		time.Sleep(100 * time.Millisecond)
	}
	if n := len(b.org.Calls()) - before; n < 5 || n > 30 {
		t.Errorf("the CRM made %d calls in a minute, want its probes, less than one in two seconds", n)
	}
}

func TestACallThatHangsEndsByItself(t *testing.T) {
	inBubble(t, func(t *testing.T, b *bench) {
		b.away(salesforcetest.Fault{Kind: salesforcetest.Hang, After: true})
		began := time.Now()
		err := b.Sync(t.Context(), crmtest.Opened("hangs"))
		refused := errors.As(err, new(*checkout.CRMRefusal))
		if took := time.Since(began); err == nil || refused || errors.Is(err, ports.ErrBusy) || took > 6*time.Second {
			t.Errorf("Sync = %v after %s, want an error that says neither busy nor refused after 5 s", err, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if err := b.Sync(ctx, crmtest.Opened("hangs")); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("Sync = %v after %s, want the end of its context after 1 s", err, time.Since(began))
		}
	})
}

// The circuit breaker is about Salesforce: refusals of records do not open it.
func TestRefusalsOfRecordsKeepNobodyOut(t *testing.T) {
	b := newBench(t)
	b.away(salesforcetest.Fault{Kind: salesforcetest.Refuse, Object: "Contact"})
	for i := range 20 {
		if err := b.Sync(t.Context(), crmtest.Opened(fmt.Sprint(i))); !errors.As(err, new(*checkout.CRMRefusal)) {
			t.Fatalf("Sync %d = %v, want a refusal", i, err)
		}
	}
}

func TestCallsShareOneTokenAndAskForAnotherOnce(t *testing.T) {
	b := newBench(t)
	ended := true
	b.org.Faults(func(c salesforcetest.Call) salesforcetest.Fault {
		if ended && strings.HasPrefix(c.Path, "/services/data/") {
			ended = false
			return salesforcetest.Fault{Kind: salesforcetest.ExpiredToken}
		}
		return salesforcetest.Fault{}
	})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { b.told(t, crmtest.Opened(fmt.Sprint(i))) })
	}
	all.Wait()
	tokens := 0
	for _, c := range b.org.Calls() {
		if c.Path == "/services/oauth2/token" {
			tokens++
		}
	}
	if tokens != 2 {
		t.Errorf("%d tokens were asked for, want 2", tokens)
	}
}

func TestAJWTSignsIn(t *testing.T) {
	key := newKey(t, 2048)
	for user, ok := range map[string]bool{"checkout@kowhai.example": true, "other@kowhai.example": false} {
		b := newBench(t, func(sim *salesforcetest.Options, o *salesforce.Options) {
			sim.ClientSecret, sim.PublicKey, sim.Username = "", &key.PublicKey, "checkout@kowhai.example"
			o.ClientSecret, o.JWTKey, o.User = "", key, user
		})
		if err := b.Ready(t.Context()); (err == nil) != ok {
			t.Errorf("Ready with a JWT for %s = %v", user, err)
		}
	}
}

func newKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAWrongSecretIsNotShownAndIsNoRefusal(t *testing.T) {
	b := newBench(t, func(_ *salesforcetest.Options, o *salesforce.Options) { o.ClientSecret = "hunter2" })
	err := b.Sync(t.Context(), crmtest.Opened("wrong"))
	const says = "sign in: Salesforce answered 400 invalid_client"
	said, refused := fmt.Sprint(err), errors.As(err, new(*checkout.CRMRefusal))
	if strings.Contains(said, "hunter2") || !strings.Contains(said, says) || refused {
		t.Errorf("Sync = %v, want one that says that the client is refused", err)
	}
}

// over returns a CRM over a transport that answers by a function; a request for a token is answered with instance.
func over(t *testing.T, instance string, answer func(*http.Request) *http.Response) *salesforce.CRM {
	t.Helper()
	crm, err := salesforce.New(salesforce.Options{Environment: catalogue.Production, URL: "https://kowhai.example", ClientID: clientID,
		ClientSecret: clientSecret, Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/services/oauth2/token" {
				return answered(http.StatusOK, `{"access_token": "token", "instance_url": "`+instance+`"}`), nil
			}
			return answer(r), nil
		})})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = crm.Close() })
	return crm
}

func answered(status int, body string) *http.Response {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.WriteString(body)
	return w.Result()
}

func TestCallsGoToTheInstanceAndNoRedirectIsFollowed(t *testing.T) {
	calls := 0
	crm := over(t, "https://na1.kowhai.example", func(r *http.Request) *http.Response {
		if calls++; r.Host != "na1.kowhai.example" || r.Header.Get("Authorization") != "Bearer token" {
			t.Errorf("%s %s reached another host", r.Method, r.URL)
		}
		resp := answered(http.StatusTemporaryRedirect, "")
		resp.Header.Set("Location", "https://elsewhere.example")
		return resp
	})
	if err := crm.Sync(t.Context(), production("redirect")); err == nil || calls != 1 {
		t.Errorf("Sync = %v after %d calls, want an error after 1", err, calls)
	}
}

func production(order string) checkout.Enrolment {
	e := crmtest.Opened(order)
	e.Environment = catalogue.Production
	return e
}

func TestATokenForAnInsecureInstanceIsNotUsed(t *testing.T) {
	crm := over(t, "http://127.0.0.1:1", func(r *http.Request) *http.Response {
		t.Errorf("%s %s was sent", r.Method, r.URL)
		return answered(http.StatusOK, "{}")
	})
	if err := crm.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), "the instance_url that came with the token must be https") {
		t.Errorf("Ready = %v, want one about the instance_url", err)
	}
}

// Two records have the key that is written: no answer of a call says which is right.
func TestAKeyOfTwoRecordsIsARefusal(t *testing.T) {
	crm := over(t, "https://kowhai.example", func(*http.Request) *http.Response {
		part := `{"httpStatusCode": 300, "body": ["/services/data/v61.0/sobjects/Contact/1"], "referenceId": "Contact"}`
		return answered(http.StatusOK, `{"compositeResponse": [`+part+`]}`)
	})
	err := crm.Sync(t.Context(), production("two"))
	if refusal, ok := errors.AsType[*checkout.CRMRefusal](err); !ok || refusal.Code != "DUPLICATE_EXTERNAL_ID" {
		t.Errorf("Sync = %v, want a refusal", err)
	}
}

// No answer, whatever it is, is taken for a success, or makes the CRM panic.
func FuzzAnswer(f *testing.F) {
	f.Add(200, `{"compositeResponse": []}`)
	f.Add(200, `{"compositeResponse": [{"httpStatusCode": 400, "body": [{"errorCode": "X", "fields": ["Name"]}], "referenceId": "A"}]}`)
	f.Add(400, `[{"errorCode": "INVALID_SESSION_ID"}]`)
	f.Add(200, `{"records": [{"Id": "001000000000000AAA"}], "done": true}`)
	f.Add(503, `<html>`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		if status < 200 || status > 599 {
			return
		}
		crm := over(t, "https://kowhai.example", func(*http.Request) *http.Response { return answered(status, body) })
		if err := crm.Sync(t.Context(), production("fuzz")); err == nil && strings.Count(body, "referenceId") < 4 {
			t.Errorf("Sync = nil after the answer %d %q", status, body)
		}
		if _, _, _, err := crm.ProviderFile(t.Context()); err == nil && !strings.Contains(strings.ToLower(body), "records") {
			t.Errorf("ProviderFile has no error after the answer %d %q", status, body)
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	good := salesforce.Options{Environment: catalogue.Production, URL: "https://kowhai.example", ClientID: "a", ClientSecret: "b"}
	if _, err := salesforce.New(good); err != nil {
		t.Errorf("New: %v", err)
	}
	for want, change := range map[string]func(*salesforce.Options){
		"neither sandbox nor production": func(o *salesforce.Options) { o.Environment = "test" },
		"must be https":                  func(o *salesforce.Options) { o.URL = "http://127.0.0.1:1" },
		"not a scheme and a host":        func(o *salesforce.Options) { o.URL = "kowhai" },
		"client id is missing":           func(o *salesforce.Options) { o.ClientID = "" },
		"either a client secret":         func(o *salesforce.Options) { o.ClientSecret = "" },
		"or a JWT key must":              func(o *salesforce.Options) { o.JWTKey, o.User = newKey(t, 2048), "u" },
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
