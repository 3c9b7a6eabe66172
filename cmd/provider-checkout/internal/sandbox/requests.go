package sandbox

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
)

// CatalogueCreate and LegacyCreate are the bodies of creates of KOWHAI and of TUI. Order replaces ORDER by an id.
const (
	CatalogueCreate = `{"provider": {"provider_code": "KOWHAI", "provider_order_id": "ORDER"},
		"student": {"first_name": "Aroha", "last_name": "Ngata", "email": "aroha.ngata@students.example.ac.nz"},
		"course": {"course_code": "NZDIP"},
		"plan": {"payment_frequency": "Weekly", "first_payment_date": "2027-02-01"}}`
	LegacyCreate = `{"provider": {"provider_code": "TUI", "provider_order_id": "ORDER"},
		"student": {"first_name": "Hemi", "last_name": "Tūhoe", "email": "hemi@students.example.ac.nz"},
		"course": {"course_name": "Certificate in Joinery"},
		"pricing": {"course_price": 1250.00, "amount_to_finance": 1000.00, "upfront_payment": 250.00},
		"plan": {"payment_type": "interest_free_payment_plan", "payment_frequency": "Weekly", "number_of_instalments": 3,
			"instalment_amount": 333.33, "final_instalment_amount": 333.34, "first_payment_date": "2027-02-01"}}`
)

// Order returns a body for the order with this id.
func Order(body, id string) string { return strings.ReplaceAll(body, "ORDER", id) }

// Set returns body with the value at a dotted path replaced by raw JSON, or removed where raw is "".
func Set(t testing.TB, body, path, raw string) string {
	t.Helper()
	changed := apiclient.With(body, path, raw)
	if changed == "" {
		t.Fatalf("%s with %s: %s is no JSON", body, path, raw)
	}
	return changed
}

// Response is a response of the service, read to its end.
type Response = apiclient.Response

// Post sends a JSON body with a provider's key. headers are names and values in turn.
func (s *Sandbox) Post(t testing.TB, provider, path, body string, headers ...string) Response {
	t.Helper()
	return s.Send(t, http.MethodPost, path, body, append([]string{
		"Authorization", "Bearer " + s.Keys[provider], "Content-Type", "application/json"}, headers...)...)
}

// Get sends a GET with a provider's key.
func (s *Sandbox) Get(t testing.TB, provider, path string) Response {
	t.Helper()
	return s.Send(t, http.MethodGet, path, "", "Authorization", "Bearer "+s.Keys[provider])
}

// Send sends any request and reads the answer. It follows no redirect. headers are names and values in turn; a header
// that is named twice is sent twice.
func (s *Sandbox) Send(t testing.TB, method, path, body string, headers ...string) Response {
	t.Helper()
	url := path
	if !strings.HasPrefix(path, "http") {
		url = s.URL + path
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	r, err := apiclient.Send(s.carrier().RoundTrip, req)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return Response{}
	}
	if method != http.MethodHead && r.JSON == nil && strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		t.Errorf("%s %s answers %q, which is not JSON", method, path, r.Body)
	}
	if err := apidoc.Document().Check(method, strings.TrimPrefix(path, s.URL), body, r); err != nil {
		t.Errorf("%s %s answers %d %s, which is not in the document: %v", method, path, r.Status, r.Body, err)
	}
	return r
}

// Fetch gets a URL.
func Fetch(t testing.TB, url string) Response {
	t.Helper()
	return new(Sandbox).Send(t, http.MethodGet, url, "")
}
