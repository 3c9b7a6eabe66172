package main

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/demo"
)

// progress is the answer to a get. STATUS and DIRECT_DEBIT are its own.
const progress = `{"success": true, "checkout": {"checkout_id": "CHECKOUT", "status": "STATUS"},
	"direct_debit": {DIRECT_DEBIT, "dda_id": "DDA"}}`

func TestContract23AGetTellsHowFarTheSetupIsAndNothingElse(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		const open, confirmed = "direct_debit_setup_required", "confirmed"
		const pending = `"setup_complete": false, "billing_request_status": "pending",
			"authorisation_status": "Customer In Progress", "authorised": false`
		const submitted = `"setup_complete": true, "billing_request_status": "fulfilled", "mandate_status": "submitted",
			"authorisation_status": "Customer In Progress", "authorised": false`
		const active = `"setup_complete": true, "billing_request_status": "fulfilled", "mandate_status": "active",
			"authorisation_status": "Authorised", "authorised": true`
		for _, tt := range []struct {
			name   string
			do     func()
			status string
			want   string
		}{
			{"before anybody opened the page", func() {}, open, pending},
			{"once the payer has opened the page", func() { s.page(t, created) }, open, pending},
			{"once the payer has gone on to the processor", func() { goOn(t, created) }, open, pending},
			{"once the setup is complete, which is not the same as authorised", func() { s.setUp(t, created) }, open,
				strings.Replace(submitted, "submitted", "pending_submission", 1)},
			{"a minute later", func() { s.clock.forward(time.Minute) }, open, submitted},
			{"once it is confirmed", func() { s.confirm(t, created) }, confirmed, submitted},
			{"two minutes after the setup", func() { s.clock.forward(time.Minute) }, confirmed, active},
			{"years later", func() { s.clock.forward(1000 * day) }, confirmed, active},
		} {
			tt.do()
			t.Run(tt.name, func(t *testing.T) {
				r := s.get(t, "KOWHAI", checkoutPath(created))
				exactly(t, r, http.StatusOK, progress, "CHECKOUT", created.string("checkout.checkout_id"),
					"STATUS", tt.status, "DIRECT_DEBIT", tt.want, "DDA", created.string("records.dda_id"))
				before := s.dossiers(t)
				if again := s.get(t, "KOWHAI", checkoutPath(created)); again.text != r.text {
					t.Errorf("asked again it answers %s, not %s", again.text, r.text)
				}
				unchanged(t, s, before)
			})
		}
	})
}

// goOn has the payer leave the setup page for the processor's form, which is not sent.
func goOn(t *testing.T, created response) {
	t.Helper()
	payer := demo.NewBrowser(&http.Client{})
	p, err := payer.Open(t.Context(), http.MethodGet, created.string("direct_debit.setup_url"), nil)
	if err == nil {
		p, err = payer.Open(t.Context(), http.MethodPost, p.Action, p.Form)
	}
	if err != nil || !p.Form.Has("account_number") {
		t.Fatalf("the way on leads to %q, %v; want the bank form", p.Heading, err)
	}
}

func TestContract3AnUnauthorisedMandateCanBeConfirmed(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		for name, later := range map[string]time.Duration{"pending_submission": 0, "submitted": time.Minute, "active": 2 * time.Minute} {
			created := s.create(t, name)
			s.setUp(t, created)
			s.clock.forward(later)
			if r := s.confirm(t, created); r.status != http.StatusOK || r.string("direct_debit.mandate_status") != name {
				t.Errorf("%s: %d %s", name, r.status, r.text)
			}
		}
	})
}

func TestContract7AnIDThatCannotBeOneIsUnknownToo(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.ready(t, "ORDER-1")
		for _, id := range []string{"%20", "%00", "a%0Ab", "K%C5%8DWHAI-1-a", "%FF", "%25", "a%7Fb", strings.Repeat("x", 300)} {
			path := "/v1/provider-checkouts/" + id
			refused(t, s.get(t, "KOWHAI", path), http.StatusNotFound, "CHECKOUT_NOT_FOUND")
			refused(t, s.post(t, "KOWHAI", path+"/confirm", confirmBody(created)), http.StatusNotFound, "CHECKOUT_NOT_FOUND")
			refused(t, s.send(t, http.MethodGet, path, ""), http.StatusUnauthorized, "MISSING_API_KEY")
		}
		// A slash, escaped or not, begins another part of the path.
		refused(t, s.get(t, "KOWHAI", "/v1/provider-checkouts/a%2Fb"), http.StatusNotFound, "NOT_FOUND")
	})
}

func TestContract7AnUnknownCheckoutAndAnotherProvidersAreTheSame404(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		id := s.create(t, "ORDER-1").string("checkout.checkout_id")
		said := map[string]bool{}
		for _, tt := range []struct{ provider, id string }{
			{"TUI", id}, {"KOWHAI", id + "a"}, {"KOWHAI", id[:len(id)-1]}, {"KOWHAI", strings.ToLower(id)}, {"KOWHAI", "x"},
			{"KOWHAI", strings.Replace(id, "KOWHAI", "TUI", 1)}, {"KOWHAI", strings.Repeat("a", 4000)},
		} {
			r := s.get(t, tt.provider, createPath+"/"+tt.id)
			refused(t, r, http.StatusNotFound, "CHECKOUT_NOT_FOUND")
			said[strings.Replace(r.text, r.string("request_id"), "", 1)] = true
		}
		if len(said) != 1 {
			t.Errorf("a stranger can tell them apart: %v", said)
		}
	})
}

func TestContract1ThereIsNoPublicDownloadOfTheAgreementAndNoDemonstration(t *testing.T) {
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		s.setUp(t, created)
		number := s.confirm(t, created).string("agreement.number")
		for _, path := range []string{checkoutPath(created) + "/agreement", checkoutPath(created) + "/agreement.pdf", "/v1/agreements/" + number,
			"/v1/agreements", "/v1/documents", createPath + "/", "/v1/", "/v2", "/api/demos/", "/api/demos/checkout", "/debug/pprof/", "/metrics"} {
			refused(t, s.get(t, "KOWHAI", path), http.StatusNotFound, "NOT_FOUND")
		}
	})
}

func TestContract4AnybodyMayAskWhatTheServiceIs(t *testing.T) {
	const about = `{"success": true, "service": "provider-checkout", "version": "v1", "environment": "sandbox", "base_url": "BASE"}`
	contract(t, func(t *testing.T, s *sandbox) {
		for _, headers := range [][]string{nil, {"Authorization", "Bearer nobody's"}, {"Authorization", "Bearer " + s.keys["TUI"]}} {
			exactly(t, s.send(t, http.MethodGet, "/v1", "", headers...), http.StatusOK, about, "BASE", s.url)
			exactly(t, s.send(t, http.MethodGet, "/v1/environment", "", headers...), http.StatusOK, readiness, "BASE", s.url, "HOOKED", "true")
		}
	})
}

const readiness = `{"success": true, "environment": "sandbox", "api_base_url": "BASE", "payment_processor": "fake",
	"payment_processor_status": "configured",
	"readiness": {"ready_for_api_calls": true, "webhook_destinations_configured": HOOKED}}`

func TestContract4WebhookDestinationsAreConfiguredOnceAUsableProviderHasOne(t *testing.T) {
	webhook := regexp.MustCompile(`"webhook": \{[^}]*\}`)
	without := func(file, provider string) string { // the provider's destination
		before, after, _ := strings.Cut(file, `"provider_code": "`+provider+`"`)
		at := webhook.FindStringIndex(after)
		return before + `"provider_code": "` + provider + `"` + after[:at[0]] + `"enrolment_origins": []` + after[at[1]:]
	}
	file := strings.Replace(providers, `"enrolment_origins": ["https://enrol.kowhai.example"],`, "", 1)
	none := without(without(file, "TUI"), "KOWHAI")
	alone := without(file, "TUI") // only KOWHAI has one
	contract(t, func(t *testing.T, s *sandbox) {
		for _, tt := range []struct{ name, file, want string }{
			{"both", file, "true"},
			{"one", alone, "true"},
			{"none", none, "false"},
			{"one that is not active", strings.Replace(alone, `"active": true`, `"active": false`, 1), "false"},
			{"one that is not API-enabled", strings.Replace(alone, `"api_enabled": true`, `"api_enabled": false`, 1), "false"},
			{"one without an account", strings.Replace(alone, `"acc-kowhai"`, `""`, 1), "false"},
			{"one of production", strings.NewReplacer(`"acc-kowhai",`+"\n\t"+`"environment": "sandbox"`, `"acc-kowhai",`+"\n\t"+`"environment": "production"`,
				"HOOKS/KOWHAI", "https://hooks.kowhai.example/checkout").Replace(alone), "false"},
			{"nobody", `{"providers": []}`, "false"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s.configure(t, tt.file)
				exactly(t, s.send(t, http.MethodGet, "/v1/environment", ""), http.StatusOK, readiness, "BASE", s.url, "HOOKED", tt.want)
			})
		}
		s.configure(t, none)
		created := s.create(t, "ORDER-1")
		s.setUp(t, created)
		if r := s.confirm(t, created); r.status != http.StatusOK || r.at("agreement.pdf_generated") != true || len(s.hooks.all()) != 0 {
			t.Errorf("without a destination a confirm answers %d %s, with %d events sent", r.status, r.text, len(s.hooks.all()))
		}
	})
}

func TestContract4EveryAnswerHasARequestIDOfItsOwnThatItsEventsCarry(t *testing.T) {
	shape := regexp.MustCompile(`^req_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	contract(t, func(t *testing.T, s *sandbox) {
		created := s.create(t, "ORDER-1")
		s.setUp(t, created)
		confirmed := s.confirm(t, created)
		seen := map[string]bool{}
		for name, r := range map[string]response{
			"create": created, "replay": s.post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-1")), "get": s.get(t, "KOWHAI", checkoutPath(created)),
			"confirm": confirmed, "repeat": s.confirm(t, created),
			"conflict":  s.post(t, "KOWHAI", createPath, set(t, order(catalogueCreate, "ORDER-1"), "course.course_code", `"X"`)),
			"no key":    s.send(t, http.MethodGet, checkoutPath(created), ""),
			"not found": s.get(t, "KOWHAI", "/nowhere"), "about": s.send(t, http.MethodGet, "/v1", ""),
			"environment": s.send(t, http.MethodGet, "/v1/environment", ""),
			"one sent":    s.send(t, http.MethodGet, "/v1", "", "X-Request-Id", "req_00000000-0000-0000-0000-000000000000"),
		} {
			id := r.header.Get("X-Request-Id")
			if len(r.header.Values("X-Request-Id")) != 1 || !shape.MatchString(id) || strings.HasPrefix(id, "req_0000") || seen[id] {
				t.Errorf("%s: X-Request-Id %q, want a new req_<uuid>", name, r.header.Values("X-Request-Id"))
			}
			seen[id] = true
			if r.header.Get("X-Content-Type-Options") != "nosniff" || r.header.Get("Content-Type") != "application/json" {
				t.Errorf("%s: headers %v", name, r.header)
			}
			if r.at("checkout") != nil && r.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: Cache-Control %q, want no-store", name, r.header.Get("Cache-Control"))
			}
		}
		var made []string
		for _, h := range s.hooks.all() {
			made = append(made, h.body.Text("event")+" "+h.body.Text("request_id"))
			if h.header.Get("X-Request-Id") != h.body.Text("request_id") {
				t.Errorf("%s was sent with the request id %q", made[len(made)-1], h.header.Get("X-Request-Id"))
			}
		}
		first, second := created.header.Get("X-Request-Id"), confirmed.header.Get("X-Request-Id")
		want := "checkout.created " + first + "\ncheckout.confirmed " + second + "\nagreement.generated " + second
		if got := strings.Join(made, "\n"); got != want {
			t.Errorf("events\n%s\nwant\n%s", got, want)
		}
	})
}
