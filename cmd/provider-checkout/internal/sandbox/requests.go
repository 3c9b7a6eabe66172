package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
	"github.com/provider-checkout/provider-checkout/ports"
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

// Paths of the pages with a form.
const (
	SetupPagePath = "/api/dd-setup"
	BankFormPath  = "/sandbox/processor/billing-requests/" // then the billing request's id
)

// Headings of the pages.
const (
	OpenTitle      = "Set up your direct debit"
	DoneTitle      = "Bank details saved: one step left" // which is the provider's confirm
	ConfirmedTitle = "Your payment plan"
	ExpiredTitle   = "This link has expired"
	DisabledTitle  = "This page is not available"
	UnknownTitle   = "We cannot find this page"
	BankTitle      = "Bank details"
)

// Visit opens a page as a browser without script does.
func (s *Sandbox) Visit(t testing.TB, address string, headers ...string) Response {
	t.Helper()
	return s.Send(t, http.MethodGet, address, "", headers...)
}

// Submit sends a form. fields are names and values in turn.
func (s *Sandbox) Submit(t testing.TB, path string, fields []string, headers ...string) Response {
	t.Helper()
	form := url.Values{}
	for i := 0; i < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return s.Send(t, http.MethodPost, path, form.Encode(),
		append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
}

// Press sends the form of the setup page, as the page has it now.
func (s *Sandbox) Press(t testing.TB, created Response, headers ...string) Response {
	t.Helper()
	token := created.String("direct_debit.token")
	page := s.Visit(t, SetupPagePath+"?token="+url.QueryEscape(token))
	return s.Submit(t, SetupPagePath, []string{"token", token, "terms", ShownTerms(page)}, headers...)
}

// ShownTerms returns the name under which the form of a setup page records the terms that the page shows; "" for a page without the form.
func ShownTerms(page Response) string {
	parsed, err := apiclient.ParsePage(page.Body)
	if err != nil {
		return ""
	}
	return parsed.Form.Get("terms")
}

// ToBank sends the form of the setup page and returns the address of the fake processor's form, to which it redirects.
func (s *Sandbox) ToBank(t testing.TB, created Response) string {
	t.Helper()
	page := s.ToProcessor(t, created)
	if !strings.HasPrefix(page, s.URL+BankFormPath) {
		t.Fatalf("begin: to %q", page)
	}
	return page
}

// ToProcessor sends the form of the setup page and returns the address of the processor's page, to which it redirects.
func (s *Sandbox) ToProcessor(t testing.TB, created Response) string {
	t.Helper()
	r := s.Press(t, created)
	if page := r.Header.Get("Location"); r.Status != http.StatusSeeOther || strings.Contains(page, SetupPagePath) {
		t.Fatalf("begin: %d to %q", r.Status, page)
	}
	return r.Header.Get("Location")
}

// Elements parses a page and returns its elements in their order.
func Elements(t testing.TB, r Response) []*apiclient.Element {
	t.Helper()
	all, err := apiclient.ParseElements(r.Body)
	if err != nil {
		t.Fatalf("parse %s: %v", r.Body, err)
	}
	return all
}

// ReturnURL returns the address to which the processor sends the payer of a setup page back.
func ReturnURL(setupURL string) string {
	return strings.Replace(setupURL, SetupPagePath, SetupPagePath+"/return", 1)
}

// Back returns the page of a payer who comes back from the processor.
func (s *Sandbox) Back(t testing.TB, setupURL string) Response {
	t.Helper()
	page := s.Visit(t, ReturnURL(setupURL))
	if page.Status == http.StatusSeeOther {
		return s.Visit(t, setupURL)
	}
	return page
}

// Create opens a checkout of KOWHAI for the order.
func (s *Sandbox) Create(t testing.TB, id string) Response {
	t.Helper()
	r := s.Post(t, "KOWHAI", apiclient.CheckoutsPath, Order(CatalogueCreate, id))
	if r.Status != http.StatusCreated {
		t.Fatalf("create: %d %s", r.Status, r.Body)
	}
	return r
}

// Ready returns a checkout of KOWHAI whose bank setup is complete.
func (s *Sandbox) Ready(t testing.TB, id string) Response {
	t.Helper()
	created := s.Create(t, id)
	s.SetUp(t, created)
	return created
}

// Replay sends the create of KOWHAI for the order once more.
func (s *Sandbox) Replay(t testing.TB, id string) Response {
	t.Helper()
	r := s.Post(t, "KOWHAI", apiclient.CheckoutsPath, Order(CatalogueCreate, id))
	if r.Status != http.StatusOK || r.At("idempotent_replay") != true {
		t.Fatalf("replay: %d %s", r.Status, r.Body)
	}
	return r
}

// Payer returns a payer's browser.
func (s *Sandbox) Payer() *apiclient.Browser {
	return apiclient.NewBrowser(&http.Client{Transport: s.carrier()})
}

// carrier returns the transport of requests; of a sandbox that another process serves, the default one.
func (s *Sandbox) carrier() http.RoundTripper {
	if s.transport == nil {
		return http.DefaultTransport
	}
	return s.transport
}

// SetUp has the payer complete the bank setup through the pages' forms. A payer whose return came while the processor did not
// answer in time is shown the form again, and presses its button.
func (s *Sandbox) SetUp(t testing.TB, created Response) {
	t.Helper()
	payer := s.Payer()
	err := payer.SetUp(t.Context(), created.SetupURL())
	for tries := 0; errors.Is(err, apiclient.ErrOpenAgain) && tries < 5; tries++ {
		var p apiclient.Page
		p, err = payer.Open(t.Context(), http.MethodGet, created.SetupURL(), nil)
		if err == nil && p.Form != nil {
			p, err = payer.Submit(t.Context(), p)
		}
		if err == nil && p.Form != nil {
			err = apiclient.ErrOpenAgain
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Settle(t)
}

// Confirm sends the valid confirm for a create's answer, with the key of its provider.
func (s *Sandbox) Confirm(t testing.TB, created Response) Response {
	t.Helper()
	return s.Post(t, created.Provider(), created.CheckoutPath()+apiclient.ConfirmSuffix, created.ConfirmBody())
}

// Records returns everything on record about checkouts, in the order in which they were created, but for what may be stored beside
// a call: the moments of refusals, which change nothing else, and of the payer's pages, and the attempts at looks at the processor.
func (s *Sandbox) Records(t testing.TB) (all []checkout.CheckoutRecord) {
	t.Helper()
	err := s.Store.Export(context.WithoutCancel(t.Context()), "", checkout.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Checkout: func(r checkout.CheckoutRecord) error {
			r.Moments = slices.DeleteFunc(r.Moments, func(m checkout.Moment) bool {
				return m.Kind == checkout.MomentRefused || m.Kind == checkout.MomentOpened || m.Kind == checkout.MomentReturned
			})
			for i, j := range r.Jobs {
				if j.Job.Kind == checkout.JobLook {
					r.Jobs[i] = checkout.JobRecord{Job: checkout.Job{ID: j.ID, Kind: j.Kind}}
				}
			}
			all = append(all, r)
			return nil
		},
		Unreadable: func(id string, err error) error { return fmt.Errorf("checkout %s: %w", id, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// DocumentText returns the text of an agreement's PDF without white space. The stored PDF must have the bytes that the
// agreement on record renders to; the tests of package pdf hold that such a PDF shows the agreement's whole text.
func DocumentText(t testing.TB, store ports.Store, number string) string {
	t.Helper()
	of, err := store.FindCheckout(t.Context(), checkout.Reference{AgreementNumber: number})
	if err != nil {
		t.Fatal(err)
	}
	doc, err := store.Document(t.Context(), of.ID)
	if err != nil {
		t.Fatal(err)
	}
	a, err := store.Agreement(t.Context(), of.ID)
	if err != nil {
		t.Fatal(err)
	}
	printer, err := printer()
	if err != nil {
		t.Fatal(err)
	}
	if rendered, err := printer.Print(t.Context(), a); err != nil || !bytes.Equal(rendered, doc.Bytes) {
		t.Fatalf("the PDF of %s, %d bytes, is not that of the agreement on record, %d bytes, %v", number, len(doc.Bytes), len(rendered), err)
	}
	zone, err := service.NewZealand()
	if err != nil {
		t.Fatal(err)
	}
	sections, err := a.Text(zone)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, s := range sections {
		text.WriteString(s.Heading() + strings.Join(s.Paragraphs, ""))
		for i, row := range s.Rows {
			text.WriteString(s.Label(i) + row.Value)
		}
		for _, cells := range append(s.Table.Rows, s.Table.Foot) {
			text.WriteString(strings.Join(cells, ""))
		}
	}
	return WithoutSpace(text.String())
}

// WithoutSpace removes all white space from a text.
func WithoutSpace(text string) string { return strings.Join(strings.Fields(text), "") }
