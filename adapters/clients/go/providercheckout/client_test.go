package providercheckout_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/clients/go/providercheckout"
)

// step is the answer to one request.
type step struct {
	status int // 0: the answer is lost
	after  string
	body   string
}

// server answers by steps, and notes the requests and when they came. The last step is repeated.
type server struct {
	steps []step
	sent  []string
	times []time.Time
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	next := s.steps[min(len(s.sent), len(s.steps)-1)]
	s.sent = append(s.sent, strings.Join([]string{r.Method, r.URL.String(), r.Header.Get("Authorization"),
		r.Header.Get("Idempotency-Key"), string(body)}, " "))
	s.times = append(s.times, time.Now())
	if next.status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	header := http.Header{"X-Request-Id": {"req_1"}}
	if next.after != "" {
		header.Set("Retry-After", next.after)
	}
	return &http.Response{StatusCode: next.status, Header: header, Body: io.NopCloser(strings.NewReader(next.body))}, nil
}

func newClient(steps ...step) (*providercheckout.Client, *server) {
	s := &server{steps: steps}
	client := providercheckout.New("https://pay.example.nz/", "pck_1")
	client.HTTP = &http.Client{Transport: s}
	return client, s
}

var created = step{status: 201, body: `{"success": true, "checkout": {"checkout_id": "A-1-b"}, "pricing": {"course_price": 0.29}}`}

// Each row is one call with the answers to its attempts.
func TestRepeats(t *testing.T) {
	const second = time.Second
	long := []time.Duration{second, 2 * second, 4 * second, 8 * second}
	lost, failed, busy := step{}, step{status: 500}, step{status: 503, after: "7"}
	for name, test := range map[string]struct {
		answers []step
		waits   []time.Duration // at least; at most a quarter longer
		status  int             // of the error, -1 for a lost answer, 0 for success
	}{
		"an answer":                        {[]step{created}, nil, 0},
		"a lost answer":                    {[]step{lost, created}, []time.Duration{second}, 0},
		"an answer that is cut short":      {[]step{{status: 201, body: `{"succ`}, created}, []time.Duration{second}, 0},
		"a failure without Retry-After":    {[]step{failed, failed, failed, failed, created}, long, 0},
		"a proxy without a server":         {[]step{{status: 502, body: "<html>"}, created}, []time.Duration{second}, 0},
		"503 and 429 with Retry-After":     {[]step{busy, {status: 429, after: "2"}, created}, []time.Duration{7 * second, 2 * second}, 0},
		"a Retry-After that is a date":     {[]step{{status: 503, after: "Fri, 27 Nov 2026"}, created}, []time.Duration{second}, 0},
		"a Retry-After of too long":        {[]step{{status: 503, after: "61"}}, nil, 503},
		"a conflict":                       {[]step{{status: 409}}, nil, 409},
		"a redirect":                       {[]step{{status: 307}}, nil, 307},
		"failures without end":             {[]step{busy}, []time.Duration{7 * second, 7 * second, 7 * second, 7 * second}, 503},
		"answers that are lost all, at 30": {[]step{lost}, long, -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, s := newClient(test.answers...)
				answer, err := client.CreateCheckout(t.Context(), providercheckout.CatalogueCreateRequest{},
					providercheckout.CreateCheckoutOptions{IdempotencyKey: "mine"})
				var refusal *providercheckout.Error
				switch {
				case test.status == 0 && (err != nil || answer.Checkout.CheckoutID != "A-1-b" || answer.Pricing.CoursePrice != 29):
					t.Errorf("%+v, %v", answer, err)
				case test.status > 0 && (!errors.As(err, &refusal) || refusal.Status != test.status):
					t.Errorf("%v, want an Error of %d", err, test.status)
				case test.status < 0 && !errors.Is(err, io.ErrUnexpectedEOF):
					t.Errorf("%v, want the lost answer", err)
				}
				if len(s.sent) != len(test.waits)+1 {
					t.Fatalf("sent %d times, want %d", len(s.sent), len(test.waits)+1)
				}
				for i, least := range test.waits {
					if s.sent[i+1] != s.sent[0] {
						t.Errorf("sent %q again as %q", s.sent[0], s.sent[i+1])
					}
					if wait := s.times[i+1].Sub(s.times[i]); wait < least || wait > least*5/4 {
						t.Errorf("attempt %d came after %v, want %v or up to a quarter more", i+2, wait, least)
					}
				}
			})
		})
	}
}

func TestNoWaitOutlivesTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, s := newClient(step{status: 503, after: "7"})
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		began := time.Now()
		_, err := client.GetCheckout(ctx, "A/1")
		var refusal *providercheckout.Error
		if !errors.As(err, &refusal) || refusal.RetryAfter != 7*time.Second || time.Since(began) != 0 || len(s.sent) != 1 {
			t.Errorf("%v after %v and %d attempts, want the refusal at once", err, time.Since(began), len(s.sent))
		}
		if want := "GET https://pay.example.nz/v1/provider-checkouts/A%2F1 Bearer pck_1  "; s.sent[0] != want {
			t.Errorf("sent %q, want %q", s.sent[0], want)
		}
	})
}

func TestRequestsHoldExactAmountsAndOnlyWhatIsGiven(t *testing.T) {
	client, s := newClient(created)
	request := providercheckout.LegacyCreateRequest{
		Pricing: providercheckout.LegacyCreateRequestPricing{CoursePrice: 9999999_99, AmountToFinance: 29},
	}
	if _, err := client.CreateCheckout(t.Context(), request, providercheckout.CreateCheckoutOptions{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.sent[0], `"pricing":{"course_price":9999999.99,"amount_to_finance":0.29,"upfront_payment":0.00}`) ||
		strings.Contains(s.sent[0], "final_instalment_amount") {
		t.Errorf("sent %s", s.sent[0])
	}
	at := time.Date(2026, 11, 20, 16, 44, 2, 455e6, time.UTC)
	if _, err := client.ListEnrolments(t.Context(), providercheckout.ListEnrolmentsOptions{UpdatedAfter: at, Limit: 5}); err != nil {
		t.Fatal(err)
	}
	if want := "/v1/enrolments?limit=5&updated_after=2026-11-20T16%3A44%3A02.455Z "; !strings.Contains(s.sent[1], want) {
		t.Errorf("sent %s, want %s", s.sent[1], want)
	}
}

func TestRefusalNamesCodeAndFields(t *testing.T) {
	client, _ := newClient(step{status: 400, body: `{"success": false, "error": {"code": "VALIDATION_ERROR", "message": "wrong",
		"details": [{"field": "student.email", "message": "is required"}]}, "request_id": "req_1"}`})
	_, err := client.GetEnvironment(t.Context())
	var refusal *providercheckout.Error
	if !errors.As(err, &refusal) || refusal.Code != providercheckout.CodeValidationError ||
		refusal.Details[0] != (providercheckout.Detail{Field: "student.email", Message: "is required"}) ||
		err.Error() != "GET /v1/environment: 400 VALIDATION_ERROR: wrong; student.email is required (req_1)" {
		t.Errorf("%v", err)
	}
}

func TestWrongBaseAddressIsRefusedAtOnce(t *testing.T) {
	for _, base := range []string{"", "pay.example.nz", "https://", ":"} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if _, err := providercheckout.New(base, "pck_1").GetService(t.Context()); err == nil || time.Since(began) != 0 {
				t.Errorf("%q: %v after %v", base, err, time.Since(began))
			}
		})
	}
}

func TestRefusalOfAProxyHasItsStatus(t *testing.T) {
	client, _ := newClient(step{status: 404, body: "<html>"})
	_, err := client.GetService(t.Context())
	if err == nil || err.Error() != "GET /v1: 404 without a code: Not Found (req_1)" {
		t.Error(err)
	}
}

func TestAmountIsExact(t *testing.T) {
	var amount providercheckout.Amount
	if err := json.Unmarshal([]byte("9007199254740993"), &amount); err == nil {
		t.Error("an amount above the largest one is taken")
	}
	if err := json.Unmarshal([]byte("1250.10"), &amount); err != nil || amount != 1250_10 {
		t.Errorf("%v, %v", amount, err)
	}
}
