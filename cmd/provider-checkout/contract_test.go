package main

// The tests named TestContract… hold the program to the contract with the provider, from outside:
// each talks HTTP to the handler that the binary serves, once over every store. Their names
// are a table of contents of the contract; the number after "Contract" is the section.

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/adapters/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/memory"
	"github.com/provider-checkout/provider-checkout/adapters/postgres"
	"github.com/provider-checkout/provider-checkout/adapters/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/sqlite"
	"github.com/provider-checkout/provider-checkout/adapters/webhook"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

// stores opens an empty store of each kind.
var stores = []struct {
	name string
	open func(t *testing.T) ports.Store
}{
	{"memory", func(t *testing.T) ports.Store { return memory.New() }},
	{"sqlite", func(t *testing.T) ports.Store {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"),
			sqlite.Options{Environment: catalogue.Sandbox, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}},
	{"postgres", func(t *testing.T) ports.Store {
		db, err := postgres.Open(t.Context(), postgrestest.URL(t),
			postgres.Options{Environment: catalogue.Sandbox, Rand: rand.Reader})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}},
}

// contract runs a test of the contract over every store.
func contract(t *testing.T, test func(t *testing.T, s *sandbox), changes ...func(*service.Config, *httpapi.Options)) {
	for _, store := range stores {
		t.Run(store.name, func(t *testing.T) {
			t.Parallel()
			test(t, newSandbox(t, store.open(t), changes...))
		})
	}
}

// sandbox is a running service with two providers: KOWHAI, which has a catalogue, and TUI, which has
// none. Both have their events delivered to hooks.
type sandbox struct {
	url     string
	store   ports.Store
	config  service.Config // of the running service; another may be run beside it or after it
	options httpapi.Options
	clock   *clock
	hooks   *hooks
	logs    *logs
	keys    map[string]string // by provider code
}

func newSandbox(t *testing.T, store ports.Store, changes ...func(*service.Config, *httpapi.Options)) *sandbox {
	t.Helper()
	s := &sandbox{store: store, clock: &clock{}, logs: &logs{}, keys: make(map[string]string)}
	s.hooks = newHooks(t)
	server := httptest.NewUnstartedServer(nil)
	s.url = "http://" + server.Listener.Addr().String()
	keyring, err := checkout.NewKeyring([]byte(strings.Repeat("s", 32)))
	if err != nil {
		t.Fatal(err)
	}
	printer, err := site.NewPrinter(2)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewJSONHandler(s.logs, nil))
	c := service.Config{Environment: catalogue.Sandbox, BaseURL: s.url, Keyring: keyring, Store: store,
		Processor: fakeprocessor.Processor{}, Printer: printer, Sender: webhook.New(webhook.Options{AllowPrivate: true}),
		Now: s.clock.now, Rand: rand.Reader,
		Report: func(ctx context.Context, err error) {
			log.ErrorContext(ctx, "failure", slog.String("request_id", httpapi.RequestID(ctx)), slog.Any("error", err))
		}}
	o := httpapi.Options{Log: log, Now: s.clock.now, Rand: rand.Reader}
	for _, change := range changes {
		change(&c, &o)
	}
	s.config, s.options = c, o
	svc, err := service.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.configure(t, providers)
	for _, code := range []string{"KOWHAI", "TUI"} {
		s.keys[code] = s.issue(t, code, catalogue.Sandbox)
	}
	server.Config.Handler = site.Handler(svc, o)
	server.Start()
	t.Cleanup(server.Close)
	return s
}

const providers = `{"providers": [{
	"provider_code": "KOWHAI", "name": "Kōwhai Institute", "account_id": "acc-kowhai",
	"environment": "sandbox", "active": true, "api_enabled": true,
	"enrolment_origins": ["https://enrol.kowhai.example"],
	"success_url": "https://enrol.kowhai.example/done", "cancel_url": "https://enrol.kowhai.example/cancelled",
	"branding": {"display_name": "Kōwhai Institute", "primary_colour": "#1f6f54", "support_email": "help@kowhai.example"},
	"webhook": {"url": "HOOKS/KOWHAI", "signing_secret": "whsec_kowhai_0123456789abcdef"},
	"courses": [
		{"course_code": "NZDIP", "course_name": "Diploma in Business", "course_price": 2990.00, "upfront_payment": 200.00,
		 "active": true, "environment": "sandbox", "plans": [
			{"payment_frequency": "Weekly", "number_of_instalments": 52},
			{"payment_frequency": "Fortnightly", "instalment_amount": 120.00}]},
		{"course_code": "RETIRED", "course_name": "Retired", "course_price": 100.00, "upfront_payment": 0,
		 "active": false, "environment": "sandbox", "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 10}]},
		{"course_code": "ELSEWHERE", "course_name": "Elsewhere", "course_price": 100.00, "upfront_payment": 0,
		 "active": true, "environment": "production", "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 10}]}]},
	{"provider_code": "TUI", "name": "Tūī Trades Academy", "account_id": "acc-tui",
	"environment": "sandbox", "active": true, "api_enabled": true,
	"webhook": {"url": "HOOKS/TUI", "signing_secret": "whsec_tui_0123456789abcdefgh"}}]}`

// configure replaces the providers by those of a provider file, in which HOOKS is the address of s.hooks.
func (s *sandbox) configure(t *testing.T, file string) {
	t.Helper()
	if len(s.keys) > 0 {
		s.clock.forward(5 * time.Second) // within which a running server sees it
	}
	all, err := providerfile.Parse([]byte(strings.ReplaceAll(file, "HOOKS", s.hooks.url)))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.ReplaceProviders(t.Context(),
		func([]catalogue.Configuration) ([]catalogue.Configuration, error) { return all, nil }); err != nil {
		t.Fatal(err)
	}
}

// issue makes an API key.
func (s *sandbox) issue(t *testing.T, provider string, env catalogue.Environment) string {
	t.Helper()
	var entropy [32]byte
	rand.Read(entropy[:])
	text, key := catalogue.NewKey(provider, env, time.Now().UTC().Truncate(time.Millisecond), entropy)
	if err := s.store.AddKey(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	return text
}

// catalogueCreate and legacyCreate are create bodies of one order; order takes its place as ORDER.
const (
	catalogueCreate = `{"provider": {"provider_code": "KOWHAI", "provider_order_id": "ORDER"},
		"student": {"first_name": "Aroha", "last_name": "Ngata", "email": "aroha.ngata@students.example.ac.nz"},
		"course": {"course_code": "NZDIP"},
		"plan": {"payment_frequency": "Weekly", "first_payment_date": "2027-02-01"}}`
	legacyCreate = `{"provider": {"provider_code": "TUI", "provider_order_id": "ORDER"},
		"student": {"first_name": "Hemi", "last_name": "Tūhoe", "email": "hemi@students.example.ac.nz"},
		"course": {"course_name": "Certificate in Joinery"},
		"pricing": {"course_price": 1250.00, "amount_to_finance": 1000.00, "upfront_payment": 250.00},
		"plan": {"payment_type": "interest_free_payment_plan", "payment_frequency": "Weekly", "number_of_instalments": 3,
			"instalment_amount": 333.33, "final_instalment_amount": 333.34, "first_payment_date": "2027-02-01"}}`
)

func order(body, id string) string { return strings.ReplaceAll(body, "ORDER", id) }

// set returns body with the value at a dotted path replaced by raw JSON, or removed where raw is "".
func set(t *testing.T, body, path, raw string) string {
	t.Helper()
	var tree map[string]map[string]json.RawMessage
	if err := json.Unmarshal([]byte(body), &tree); err != nil {
		t.Fatal(err)
	}
	section, field, _ := strings.Cut(path, ".")
	if tree[section] == nil {
		tree[section] = make(map[string]json.RawMessage)
	}
	if raw == "" {
		delete(tree[section], field)
	} else {
		tree[section][field] = json.RawMessage(raw)
	}
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// response is an answer of the service, read to its end.
type response struct {
	status int
	header http.Header
	text   string
	body   demo.Object // numbers keep their text
}

// at returns the value at a dotted path of the JSON body; nil where there is none.
func (r response) at(path string) any { return r.body.At(path) }

// string returns that value as text; "" where there is none.
func (r response) string(path string) string {
	if v := r.at(path); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// post sends a JSON body with a provider's key. headers are names and values in turn.
func (s *sandbox) post(t *testing.T, provider, path, body string, headers ...string) response {
	t.Helper()
	return s.send(t, http.MethodPost, path, body, append([]string{
		"Authorization", "Bearer " + s.keys[provider], "Content-Type", "application/json"}, headers...)...)
}

func (s *sandbox) get(t *testing.T, provider, path string) response {
	t.Helper()
	return s.send(t, http.MethodGet, path, "", "Authorization", "Bearer "+s.keys[provider])
}

// send sends any request and reads the answer. It follows no redirect. A header that is named again is sent again.
func (s *sandbox) send(t *testing.T, method, path, body string, headers ...string) response {
	t.Helper()
	url := path
	if !strings.HasPrefix(path, "http") {
		url = s.url + path
	}
	req, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return response{}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
	r := response{status: res.StatusCode, header: res.Header, text: string(text)}
	if method != http.MethodHead && strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		if r.body, err = demo.ParseObject(text); err != nil {
			t.Errorf("%s %s answers %q: %v", method, path, text, err)
		}
	}
	if err := documented().check(method, strings.TrimPrefix(path, s.url), body, r); err != nil {
		t.Errorf("%s %s answers %d %s, which is not in the document: %v", method, path, r.status, text, err)
	}
	return r
}

// create opens a checkout of KOWHAI for the order.
func (s *sandbox) create(t *testing.T, id string) response {
	t.Helper()
	r := s.post(t, "KOWHAI", "/v1/provider-checkouts", order(catalogueCreate, id))
	if r.status != http.StatusCreated {
		t.Fatalf("create: %d %s", r.status, r.text)
	}
	return r
}

// setUp has the payer complete the bank setup through the pages' forms.
func (s *sandbox) setUp(t *testing.T, created response) {
	t.Helper()
	payer := demo.NewBrowser(&http.Client{})
	if err := payer.SetUp(t.Context(), created.string("direct_debit.setup_url")); err != nil {
		t.Fatal(err)
	}
}

// confirmBody returns the confirm that fits a create's answer.
func confirmBody(created response) string {
	body, err := json.Marshal(map[string]any{
		"provider": created.at("provider"),
		"checkout": map[string]any{"checkout_id": created.at("checkout.checkout_id"),
			"checkout_token": created.at("direct_debit.token"), "opportunity_id": created.at("records.opportunity_id"),
			"dda_id": created.at("direct_debit.dda_id")},
		"payment": map[string]any{"payment_method": "service_payment_plan", "first_payment_date": "2027-02-01",
			"deposit_confirmed": true},
		"declarations": map[string]any{"payment_plan_accepted": true, "information_confirmed": true,
			"privacy_consent_accepted": true},
	})
	if err != nil {
		panic(err) // strings and booleans always marshal
	}
	return string(body)
}

func checkoutPath(created response) string {
	return "/v1/provider-checkouts/" + created.string("checkout.checkout_id")
}

// confirm sends the confirm that fits a create's answer, with the key of its provider.
func (s *sandbox) confirm(t *testing.T, created response) response {
	t.Helper()
	return s.post(t, created.string("provider.provider_code"), checkoutPath(created)+"/confirm", confirmBody(created))
}

// dossiers returns everything on record about checkouts, in the order of their making.
func (s *sandbox) dossiers(t *testing.T) (all []ports.Dossier) {
	t.Helper()
	err := s.store.Export(context.WithoutCancel(t.Context()), ports.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Checkout:      func(d ports.Dossier) error { all = append(all, d); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// refused checks that an answer is the error envelope with this status, code and these fields.
func refused(t *testing.T, r response, status int, code string, fields ...string) {
	t.Helper()
	var got []string
	details, _ := r.at("error.details").([]any)
	for _, d := range details {
		m, _ := d.(map[string]any)
		got = append(got, fmt.Sprint(m["field"]))
		if m["message"] == nil || m["message"] == "" {
			t.Errorf("the detail of %v has no message", m["field"])
		}
	}
	if r.status != status || r.string("error.code") != code || r.at("success") != false ||
		r.string("error.message") == "" || r.string("request_id") != r.header.Get("X-Request-Id") ||
		fmt.Sprint(got) != fmt.Sprint(fields) {
		t.Errorf("answer %d %s\nwant %d %s in %q", r.status, r.text, status, code, fields)
	}
}
