package gocardless_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// once has the faults of a single call that the next call makes good.
var once = []gocardlesstest.FaultKind{gocardlesstest.FaultReset, gocardlesstest.FaultResetAfter, gocardlesstest.FaultRateLimit,
	gocardlesstest.FaultError, gocardlesstest.FaultErrorAfter, gocardlesstest.FaultStringError, gocardlesstest.FaultTornBody,
	gocardlesstest.FaultHTML, gocardlesstest.FaultHugeBody}

// A call whose answer was lost is sent again, and finds what it made.
func TestBeginUnderFaultsMakesOneBillingRequest(t *testing.T) {
	for _, kind := range once {
		t.Run(string(kind), func(t *testing.T) {
			b := newBench(t)
			b.sim.Arm(gocardlesstest.Fault{Kind: kind, Method: http.MethodPost, Path: "/billing_requests", Times: 1},
				gocardlesstest.Fault{Kind: kind, Method: http.MethodGet, Path: "/billing_requests/*", Times: 1},
				gocardlesstest.Fault{Kind: kind, Method: http.MethodPost, Path: "/billing_request_flows", Times: 1})
			var made checkout.BillingRequest
			for range 4 { // a payer who presses the button again after a failure
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				request, err := b.Begin(ctx, start("a"))
				cancel()
				if err != nil {
					t.Logf("Begin: %v", err)
					b.sim.Advance(time.Minute) // until when a rate limit is over
					continue
				}
				if made.ID != "" && request.ID != made.ID {
					t.Errorf("billing requests %s and %s for one key", made.ID, request.ID)
				}
				made = request
			}
			stats := b.sim.Statistics()
			if made.ID == "" || stats.BillingRequests != 1 {
				t.Errorf("%d billing requests, the last %q; want one", stats.BillingRequests, made.ID)
			}
			if stats.WithoutKey != 0 {
				t.Errorf("%d calls that change something came without a key", stats.WithoutKey)
			}
		})
	}
}

// A store that was restored from a backup has lost the checkout, and its order is opened again.
func TestBeginFindsTheBillingRequestOfTheSameEnrolment(t *testing.T) {
	b := newBench(t)
	lost := b.begin(t, "a")
	again := start("a")
	again.CheckoutID += "-again"
	if found, err := b.Begin(t.Context(), again); err != nil || found.ID != lost.ID {
		t.Errorf("Begin = %+v, %v; want billing request %s again", found, err, lost.ID)
	}
}

// A 409 may name any resource: only one whose metadata have this enrolment's key is taken.
func TestBeginRefusesTheBillingRequestOfAnotherEnrolment(t *testing.T) {
	b := newBench(t)
	other := b.begin(t, "other")
	b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultConflict, Method: http.MethodPost, Path: "/billing_requests", Times: 1,
		Conflict: other.ID})
	if made, err := b.Begin(t.Context(), start("a")); err == nil {
		t.Errorf("Begin = %+v, want an error: that billing request is another's", made)
	}
}

// Two payers of one checkout: while one begins, the other finishes.
func TestBeginWhileAnotherPayerFinishesLeadsBack(t *testing.T) {
	b := newBench(t)
	first := b.begin(t, "a")
	finish := sync.OnceFunc(func() { b.complete(t, first.URL, "M O'BRIEN") })
	between := roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/billing_request_flows" {
			finish()
		}
		return http.DefaultTransport.RoundTrip(r)
	})
	p, err := gocardless.New(gocardless.Options{Environment: account.Environment, Token: token, URL: b.url,
		Transport: between, Now: b.sim.Now})
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.Begin(t.Context(), start("a"))
	if err != nil || again.ID != first.ID || again.URL != start("a").ReturnURL {
		t.Errorf("Begin = %+v, %v; want %s and the return URL", again, err, first.ID)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// The page must be where the form of the setup page may lead: a browser would stop there without a word.
func TestBeginRefusesAPageOnAnOriginThatIsNotDeclared(t *testing.T) {
	b := newBench(t, func(o *gocardlesstest.Options, _ *gocardless.Options) { o.PublicURL = "http://127.0.0.2:1" })
	if made, err := b.Begin(t.Context(), start("a")); err == nil {
		t.Errorf("Begin = %+v, want an error", made)
	}
}

// observe asks until the billing request is fulfilled.
func (b *bench) observe(t *testing.T, id string, last checkout.Observation) checkout.Observation {
	t.Helper()
	seen, err := b.Observe(t.Context(), checkout.SetupQuery{Account: account,
		Setup: checkout.Setup{Try: 1, BillingRequestID: id, Observation: last}})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestObservationNamesHolderAccountAndTime(t *testing.T) {
	b := newBench(t)
	request := b.begin(t, "a")
	before := b.sim.Now().UTC().Truncate(time.Millisecond)
	b.complete(t, request.URL, "M O'Brien")
	b.sim.Advance(time.Hour)
	got := b.observe(t, request.ID, checkout.Observation{})
	if got.CompletedAt.Before(before) || got.CompletedAt.After(before.Add(time.Minute)) {
		t.Errorf("CompletedAt = %v, want the time of the event, %v", got.CompletedAt, before)
	}
	if today := money.DateOf(b.sim.Now()); !today.Before(got.FirstCharge) || !got.FirstCharge.Before(today.AddDays(21)) {
		t.Errorf("FirstCharge = %v, want the mandate's next possible charge date", got.FirstCharge)
	}
	got.CompletedAt, got.MandateSince, got.FirstCharge = time.Time{}, time.Time{}, money.Date{}
	want := checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission,
		MandateID: got.MandateID, Authorisation: checkout.CustomerInProgress, AccountHolder: "M O'Brien", AccountMask: "••••8389"}
	if got != want {
		t.Errorf("Observe = %+v, want %+v", got, want)
	}
}

// A fulfilled setup whose account is not known yet is not complete: no mask is made up for it.
func TestObservationOfAnUnnamedAccountHasNoMask(t *testing.T) {
	for ending, want := range map[string]agreement.AccountMask{`"8389"`: "••••8389", `""`: "", `null`: ""} {
		p := newAnswered(t, answering{http.StatusOK, []byte(`{"billing_requests":{"id":"BRQ1","status":"fulfilled",
			"mandate_request":{"scheme":"becs_nz"},"links":{"mandate_request_mandate":"MD1"},
			"resources":{"customer_bank_account":{"account_holder_name":"A","account_number_ending":` + ending + `}}},
			"mandates":{"id":"MD1","status":"active","scheme":"becs_nz"},"events":[]}`)})
		got, err := p.Observe(t.Context(), checkout.SetupQuery{Account: account, Setup: checkout.Setup{BillingRequestID: "BRQ1"}})
		if err != nil || got.AccountMask != want {
			t.Errorf("account_number_ending %s: %+v, %v; want the mask %q", ending, got, err, want)
		}
	}
}

// One call suffices for a setup of which only the mandate can change.
func TestObservationOfASetupOnRecordAsksForTheMandateAlone(t *testing.T) {
	b := newBench(t)
	request := b.begin(t, "a")
	b.complete(t, request.URL, "MANDATE ACTIVE")
	seen := b.observe(t, request.ID, checkout.Observation{})
	calls := func() (n int) {
		for _, count := range b.sim.Statistics().Calls {
			n += count
		}
		return n
	}
	before := calls()
	if again := b.observe(t, request.ID, seen); again != seen {
		t.Errorf("Observe = %+v, want %+v", again, seen)
	}
	if got := calls() - before; got != 1 {
		t.Errorf("%d calls, want 1", got)
	}
}

// Whatever comes back, no error says more than the kind: neither the token nor a value that was sent.
func TestErrorsRepeatNoTextOfRequestOrAnswer(t *testing.T) {
	for _, kind := range gocardlesstest.FaultKinds() {
		t.Run(string(kind), func(t *testing.T) {
			b := newBench(t)
			b.sim.Arm(gocardlesstest.Fault{Kind: kind, Hang: 100 * time.Millisecond})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err := b.Begin(ctx, start("a"))
			if err == nil {
				t.Fatal("Begin succeeded")
			}
			for _, secret := range []string{token, "O'Brien", "maia@", "token=T", b.url, "<html"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error repeats %q: %v", secret, err)
				}
			}
		})
	}
}

func TestUnknownResourceIsNotFound(t *testing.T) {
	b := newBench(t)
	_, err := b.Observe(t.Context(), checkout.SetupQuery{Account: account, Setup: checkout.Setup{BillingRequestID: "BRQ000000000000"}})
	if !errors.Is(err, ports.ErrNotFound) {
		t.Errorf("Observe = %v, want ErrNotFound", err)
	}
}

// recording keeps the bodies of the flows that are made.
type recording struct{ flows []string }

func (r *recording) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Path == "/billing_request_flows" {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		r.flows = append(r.flows, string(body))
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	return http.DefaultTransport.RoundTrip(req)
}

// A parent may pay: the student's details are filled in, and what the payer makes of them counts.
func TestThePayerMayBeAnotherThanTheStudent(t *testing.T) {
	sent := &recording{}
	b := newBench(t, func(_ *gocardlesstest.Options, o *gocardless.Options) { o.Transport = sent })
	request := b.begin(t, "a")
	var flow struct {
		Flow map[string]any `json:"billing_request_flows"`
	}
	if len(sent.flows) != 1 || json.Unmarshal([]byte(sent.flows[0]), &flow) != nil {
		t.Fatalf("flows %q, want one", sent.flows)
	}
	for _, lock := range []string{"lock_customer_details", "lock_bank_account"} {
		if got, ok := flow.Flow[lock]; ok && got != false {
			t.Errorf("%s is %v: the payer could not give other details", lock, got)
		}
	}
	if filled, _ := json.Marshal(flow.Flow["prefilled_customer"]); string(filled) != `{"email":"maia@example.nz","family_name":"O'Brien","given_name":"Māia"}` {
		t.Errorf("filled in is %s, want the student's details", filled)
	}
	if _, err := b.sim.Complete(request.URL, gocardlesstest.Payer{GivenName: "Hana", FamilyName: "Ngata", Email: "hana@example.nz"}); err != nil {
		t.Fatal(err)
	}
	if got := b.observe(t, request.ID, checkout.Observation{}); got.AccountHolder != "Hana Ngata" {
		t.Errorf("the account holder is %q, want the payer, Hana Ngata", got.AccountHolder)
	}
	body := b.get(t, b.url+"/billing_requests/"+request.ID, "Authorization", "Bearer "+token, "GoCardless-Version", "2015-07-06")
	if !strings.Contains(body, `"given_name":"Hana"`) || strings.Contains(body, "Māia") {
		t.Errorf("the customer at GoCardless is not the payer:\n%s", body)
	}
}
