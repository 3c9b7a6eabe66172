package fakeprovider_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprovider"
	"github.com/provider-checkout/provider-checkout/money"
)

const key = "pck_sandbox_0123456789abcdef"

// api is a stand-in for the API. It answers a create, a poll and a confirm.
type api struct {
	*httptest.Server
	t      *testing.T
	ready  bool
	broken bool
	orders []string
}

func newAPI(t *testing.T) *api {
	a := &api{t: t}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Authorization"); got != "Bearer "+key {
		a.t.Errorf("%s %s with the key %q", r.Method, r.URL.Path, got)
	}
	var body struct {
		Provider struct {
			Order string `json:"provider_order_id"`
		}
		Payment struct {
			Deposit bool `json:"deposit_confirmed"`
		}
		Declarations map[string]bool
	}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			a.t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	switch {
	case a.broken:
		w.WriteHeader(http.StatusServiceUnavailable)
		io.WriteString(w, `{"success": false, "error": {"code": "INTERNAL_ERROR", "message": "try again"}, "request_id": "req_1"}`)
	case r.Method == http.MethodGet:
		fmt.Fprintf(w, `{"success": true, "direct_debit": {"setup_complete": %v}}`, a.ready)
	case strings.HasSuffix(r.URL.Path, "/confirm") && !body.Payment.Deposit:
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"success": false, "error": {"code": "VALIDATION_ERROR", "message": "wrong", "details": [
			{"field": "payment.deposit_confirmed", "message": "must be true"}]}, "request_id": "req_2"}`)
	case strings.HasSuffix(r.URL.Path, "/confirm"):
		if len(body.Declarations) != 3 {
			a.t.Errorf("the confirm declares %v", body.Declarations)
		}
		io.WriteString(w, `{"success": true, "agreement": {"number": "PPA-2026-1", "pdf_generated": true}}`)
	default:
		a.orders = append(a.orders, body.Provider.Order)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"provider": {"provider_code": "KOWHAI"}, "checkout": {"checkout_id": "KOWHAI-1"}, "records": {"opportunity_id": "o1"},
			"direct_debit": {"dda_id": "d1", "setup_url": "%s/api/dd-setup?token=t1", "token": "t1"},
			"pricing": {"upfront_payment": 200.00},
			"plan": {"first_payment_date": "2027-02-01", "number_of_instalments": 52, "instalment_amount": 53.65, "final_instalment_amount": 53.87}}`, a.URL)
	}
}

// provider returns a provider whose API is the stand-in.
func (a *api) provider() *fakeprovider.Provider {
	return fakeprovider.New(fakeprovider.Options{BaseURL: "http://localhost:8090", API: a.URL, Key: key, Code: "KOWHAI",
		Offer: fakeprovider.Offer{Provider: "Kōwhai Institute", CourseCode: "NZDIP", CourseName: "Diploma", Price: "$2,990.00", Frequency: "Weekly",
			FirstPayment: money.Date{Year: 2027, Month: time.February, Day: 1}, FirstName: "Aroha", LastName: "Tāmati", Email: "aroha@example.nz"}})
}

// visit asks the website for a page. Where a form is given, it posts it.
func visit(t *testing.T, p *fakeprovider.Provider, path string, form url.Values, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	if form != nil {
		r = httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if body := w.Body.String(); strings.Contains(body, key) || strings.Contains(fmt.Sprint(w.Header()), key) {
		t.Errorf("the answer to %s has the API key:\n%s", path, body)
	}
	return w
}

// shows checks the status of a page and what is on it.
func shows(t *testing.T, w *httptest.ResponseRecorder, status int, want ...string) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status %d, want %d", w.Code, status)
	}
	for _, want := range want {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q is missing in\n%s", want, w.Body)
		}
	}
}

// leads checks where a form leads to.
func leads(t *testing.T, w *httptest.ResponseRecorder, to string) {
	t.Helper()
	if got := w.Header().Get("Location"); w.Code != http.StatusSeeOther || got != to {
		t.Errorf("the form answers %d and leads to %q, want 303 to %q", w.Code, got, to)
	}
}

var ticked = url.Values{"deposit_confirmed": {"yes"}, "payment_plan_accepted": {"yes"}, "information_confirmed": {"yes"},
	"privacy_consent_accepted": {"yes"}}

func TestStudentEnrolsAgainUnderAnotherOrder(t *testing.T) {
	a := newAPI(t)
	p := a.provider()
	visit(t, p, "/enrol", url.Values{})
	visit(t, p, "/enrol", url.Values{}) // the same order: the API answers with the same checkout
	visit(t, p, "/confirm", ticked)
	leads(t, visit(t, p, "/again", url.Values{}), "/")
	shows(t, visit(t, p, "/", nil), 200, "Pay by instalments", "WEB-2")
	leads(t, visit(t, p, "/done", nil), "/") // the second order has no checkout yet
	visit(t, p, "/enrol", url.Values{})
	if got := strings.Join(a.orders, " "); got != "WEB-1 WEB-1 WEB-2" {
		t.Errorf("orders %s", got)
	}
}

func TestMissingDeclarationIsAskedForWhereItIs(t *testing.T) {
	a := newAPI(t)
	p := a.provider()
	visit(t, p, "/enrol", url.Values{})
	w := visit(t, p, "/confirm", url.Values{"payment_plan_accepted": {"yes"}})
	shows(t, w, 422, "<title>Error: Confirm your enrolment", `id="deposit_confirmed-error">Tick this`,
		`name="deposit_confirmed" value="yes" required aria-invalid="true" aria-describedby="deposit_confirmed-error" autofocus>`,
		`First payment: $200.00, planned for <span class="whole">Monday 1 February 2027.</span> Weekly payments after that: 52 of $53.65, the last of $53.87.`,
		`name="payment_plan_accepted" value="yes" required checked>`)
}

func TestRefusalOfTheAPIIsShown(t *testing.T) {
	a := newAPI(t)
	p := a.provider()
	visit(t, p, "/enrol", url.Values{})
	a.broken = true
	for path, form := range map[string]url.Values{"/enrol": {}, "/done": nil, "/confirm": ticked} {
		shows(t, visit(t, p, path, form), 502, "503 INTERNAL_ERROR", "try again", "req_1")
	}
	a.Close()
	shows(t, visit(t, p, "/enrol", url.Values{}), 502, "The API did not do that")
}

func TestWebsiteTakesNoFormOfAnotherWebsite(t *testing.T) {
	a := newAPI(t)
	p := a.provider()
	for _, path := range []string{"/enrol", "/confirm", "/again"} {
		shows(t, visit(t, p, path, ticked, "Sec-Fetch-Site", "cross-site"), 403)
		shows(t, visit(t, p, path, nil), 405)
	}
	if len(a.orders) != 0 {
		t.Errorf("orders %v were created", a.orders)
	}
	shows(t, visit(t, p, "/returned", nil), 200, "was not opened on this website")
	shows(t, visit(t, p, "/assets/style.css", nil), 200, "--brand")
	shows(t, visit(t, p, "/elsewhere", nil), 404)
}
