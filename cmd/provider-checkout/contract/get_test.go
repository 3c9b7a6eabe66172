package contract_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// progress is the answer to a get, with STATUS and DIRECT_DEBIT to be replaced.
const progress = `{"success": true, "checkout": {"checkout_id": "CHECKOUT", "status": "STATUS"},
	"direct_debit": {DIRECT_DEBIT, "dda_id": "DDA"}}`

func TestContract23AGetTellsHowFarTheSetupIsAndNothingElse(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Create(t, "ORDER-1")
		const open, confirmed = "direct_debit_setup_required", "confirmed"
		const pending = `"setup_complete": false, "billing_request_status": "pending",
			"authorisation_status": "Customer In Progress", "authorised": false, "expires_at": "?", "next_poll_after": 2`
		const submitted = `"setup_complete": true, "billing_request_status": "fulfilled", "mandate_status": "submitted",
			"authorisation_status": "Customer In Progress", "authorised": false`
		const expires = `, "expires_at": "?"`
		const active = `"setup_complete": true, "billing_request_status": "fulfilled", "mandate_status": "active",
			"authorisation_status": "Authorised", "authorised": true`
		for _, tt := range []struct {
			name   string
			do     func()
			status string
			want   string
		}{
			{"before the page was opened", func() {}, open, pending},
			{"once the payer has opened the page", func() { s.page(t, created) }, open, pending},
			{"once the payer has gone on to the processor", func() { goOn(t, s.Payer(), created) }, open, pending},
			{"once the setup is complete, which is not the same as authorised", func() { s.SetUp(t, created) }, open,
				strings.Replace(submitted, "submitted", "pending_submission", 1) + expires},
			{"once the bank has the mandate", func() { s.MoveMandate(t, created, "submitted") }, open, submitted + expires},
			{"once it is confirmed", func() { s.Confirm(t, created) }, confirmed, submitted},
			{"once the mandate is active", func() { s.MoveMandate(t, created, "active") }, confirmed, active},
			{"years later", func() { s.Clock.Forward(1000 * day) }, confirmed, active},
		} {
			tt.do()
			t.Run(tt.name, func(t *testing.T) {
				r := s.Get(t, "KOWHAI", created.CheckoutPath())
				exactly(t, r, http.StatusOK, progress, "CHECKOUT", created.String("checkout.checkout_id"),
					"STATUS", tt.status, "DIRECT_DEBIT", tt.want, "DDA", created.String("records.dda_id"))
				before := s.Records(t)
				if again := s.Get(t, "KOWHAI", created.CheckoutPath()); again.Body != r.Body {
					t.Errorf("asked again it answers %s, not %s", again.Body, r.Body)
				}
				unchanged(t, s, before)
			})
		}
	})
}

// goOn sends the form of the setup page, which leads to the processor's form; that one is not sent.
func goOn(t *testing.T, payer *apiclient.Browser, created response) {
	t.Helper()
	p, err := payer.Open(t.Context(), http.MethodGet, created.String("direct_debit.setup_url"), nil)
	if err == nil {
		p, err = payer.Open(t.Context(), http.MethodPost, p.Action, p.Form)
	}
	if err != nil || p.Heading == sandbox.OpenTitle || p.Form == nil {
		t.Fatalf("the way on leads to %q, %v; want the bank form", p.Heading, err)
	}
}

func TestContract3AnUnauthorisedMandateCanBeConfirmed(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		moves := []string{"submitted", "active"}
		for n, name := range append([]string{"pending_submission"}, moves...) {
			created := s.Create(t, name)
			s.SetUp(t, created)
			for _, status := range moves[:n] {
				s.MoveMandate(t, created, status)
			}
			if r := s.Confirm(t, created); r.Status != http.StatusOK || r.String("direct_debit.mandate_status") != name {
				t.Errorf("%s: %d %s", name, r.Status, r.Body)
			}
		}
	})
}

func TestContract7AnUnknownCheckoutAndAnotherProvidersAreTheSame404(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created := s.Ready(t, "ORDER-1")
		id := created.String("checkout.checkout_id")
		said := map[string]bool{}
		for _, tt := range []struct{ provider, id string }{
			{"TUI", id}, {"KOWHAI", id + "a"}, {"KOWHAI", id[:len(id)-1]}, {"KOWHAI", strings.ToLower(id)}, {"KOWHAI", "x"},
			{"KOWHAI", strings.Replace(id, "KOWHAI", "TUI", 1)}, {"KOWHAI", strings.Repeat("a", 4000)},
			{"KOWHAI", "%20"}, {"KOWHAI", "%00"}, {"KOWHAI", "a%0Ab"}, {"KOWHAI", "K%C5%8DWHAI-1-a"}, {"KOWHAI", "%FF"}, {"KOWHAI", "%25"}, // no id
		} {
			path := createPath + "/" + tt.id
			r := s.Get(t, tt.provider, path)
			refused(t, r, http.StatusNotFound, "CHECKOUT_NOT_FOUND")
			if tt.provider == "KOWHAI" {
				refused(t, s.Post(t, "KOWHAI", path+"/confirm", created.ConfirmBody()), http.StatusNotFound, "CHECKOUT_NOT_FOUND")
			}
			refused(t, s.Send(t, http.MethodGet, path, ""), http.StatusUnauthorized, "MISSING_API_KEY")
			said[strings.Replace(r.Body, r.String("request_id"), "", 1)] = true
		}
		if len(said) != 1 {
			t.Errorf("the answers differ: %v", said)
		}
		// A slash, escaped or not, separates path segments.
		refused(t, s.Get(t, "KOWHAI", createPath+"/a%2Fb"), http.StatusNotFound, "NOT_FOUND")
	})
}

func TestContract4AnybodyMayAskWhatTheServiceIs(t *testing.T) {
	const about = `{"success": true, "service": "provider-checkout", "version": "v1", "environment": "sandbox", "base_url": "BASE"}`
	contract(t, func(t *testing.T, s *suite) {
		for _, headers := range [][]string{nil, {"Authorization", "Bearer nobody's"}, {"Authorization", "Bearer " + s.Keys["TUI"]}} {
			exactly(t, s.Send(t, http.MethodGet, "/v1", "", headers...), http.StatusOK, about, "BASE", s.URL)
			exactly(t, s.Send(t, http.MethodGet, "/v1/environment", "", headers...), http.StatusOK, readiness, "PROCESSOR", s.Config.Processor.Info().Name, "BASE", s.URL, "HOOKED", "true")
		}
	})
}

const readiness = `{"success": true, "environment": "sandbox", "api_base_url": "BASE", "payment_processor": "PROCESSOR",
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
	contract(t, func(t *testing.T, s *suite) {
		for _, tt := range []struct{ name, file, want string }{
			{"both", file, "true"},
			{"one", alone, "true"},
			{"none", none, "false"},
			{"one that is not active", strings.Replace(alone, `"active": true`, `"active": false`, 1), "false"},
			{"one that is not API-enabled", strings.Replace(alone, `"api_enabled": true`, `"api_enabled": false`, 1), "false"},
			{"one without an account", strings.Replace(alone, `"acc-kowhai"`, `""`, 1), "false"},
			{"one of production", strings.NewReplacer(`"acc-kowhai",`+"\n\t"+`"environment": "sandbox"`, `"acc-kowhai",`+"\n\t"+`"environment": "production"`,
				"HOOKS/KOWHAI", "https://hooks.kowhai.example/checkout").Replace(alone), "false"},
			{"no provider", `{"providers": []}`, "false"},
		} {
			t.Run(tt.name, func(t *testing.T) {
				s.Configure(t, tt.file)
				exactly(t, s.Send(t, http.MethodGet, "/v1/environment", ""), http.StatusOK, readiness, "PROCESSOR", s.Config.Processor.Info().Name, "BASE", s.URL, "HOOKED", tt.want)
			})
		}
		s.Configure(t, none)
		created := s.Create(t, "ORDER-1")
		s.SetUp(t, created)
		if r := s.Confirm(t, created); r.Status != http.StatusOK || r.At("agreement.pdf_generated") != true || len(s.Receiver.Deliveries()) != 0 {
			t.Errorf("without a destination a confirm answers %d %s, with %d events sent", r.Status, r.Body, len(s.Receiver.Deliveries()))
		}
	})
}

func TestContract4EventsCarryTheRequestIDOfTheAnswer(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		created, confirmed := s.enrolled(t, "ORDER-1")
		var made []string
		for _, h := range s.Receiver.Deliveries() {
			made = append(made, h.JSON.Text("event")+" "+h.JSON.Text("request_id"))
			if h.Header.Get("X-Request-Id") != h.JSON.Text("request_id") {
				t.Errorf("%s was sent with the request id %q", made[len(made)-1], h.Header.Get("X-Request-Id"))
			}
		}
		first, second := created.Header.Get("X-Request-Id"), confirmed.Header.Get("X-Request-Id")
		sameList(t, "events", made, "checkout.created "+first, "checkout.confirmed "+second, "agreement.generated "+second)
	})
}
