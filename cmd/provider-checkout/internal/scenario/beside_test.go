package scenario_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

func TestNothingChangesOfOtherCheckouts(t *testing.T) {
	everywhere(t, testNothingChangesOfOtherCheckouts)
}

func testNothingChangesOfOtherCheckouts(t *testing.T, w *world) {
	var others []sandbox.Response
	for n := range testlevel.Of(30, 1000) {
		others = append(others, w.Create(t, fmt.Sprint("other-", n)))
		switch {
		case n%20 == 0:
			w.agree(t, others[n])
		case n%10 == 0:
			w.play(t, others[n], "setup_succeeds")
		}
	}
	state := func() (all []string) {
		for _, o := range others {
			all = append(all, w.Get(t, "KOWHAI", o.CheckoutPath()).Body,
				w.Get(t, "KOWHAI", "/v1/events?provider_order_id="+o.String("provider.provider_order_id")).Body)
		}
		for _, r := range w.Records(t) {
			if !strings.HasPrefix(r.Checkout.OrderID, "order-1-") {
				text, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, string(text))
			}
		}
		return all
	}
	w.settled(t)
	before := state()
	for n, s := range scenario.All() {
		created := w.Create(t, fmt.Sprint("order-1-", n))
		after := n%2 == 1 && strings.HasPrefix(string(s), "mandate_") // some mandates change after the confirm
		if after || s == scenario.OperatorWithdraws {
			w.agree(t, created)
		}
		w.play(t, created, string(s))
		if s == scenario.NextAnswerLost {
			_, _ = apiclient.New(w.URL, w.Keys).Poll(t.Context(), created)
		}
		w.Get(t, "KOWHAI", created.CheckoutPath())
		if w.post(t, created.String("checkout.checkout_id"), "setup_succeeds").Status == http.StatusOK {
			w.Confirm(t, created)
		}
		for _, by := range []string{"P1D", "P10D", "P400D"} {
			w.advance(t, created, by)
		}
	}
	w.settled(t)
	for i, after := range state() {
		if after != before[i] {
			t.Fatalf("of another checkout was\n%s\nand is\n%s", before[i], after)
		}
	}
}

// agree confirms a checkout.
func (w *world) agree(t *testing.T, created sandbox.Response) {
	t.Helper()
	w.play(t, created, "setup_succeeds")
	if r := w.Confirm(t, created); r.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
}

// settled waits until no event of a checkout beside order-1- is to be delivered, and no enrolment waits for the CRM.
func (w *world) settled(t *testing.T) {
	t.Helper()
	for {
		pending, err := w.Store.Jobs(t.Context(), checkout.JobFilter{State: checkout.JobPending, Kinds: []checkout.JobKind{
			checkout.JobDeliver, checkout.JobOpen, checkout.JobComplete}}, 10)
		if err != nil {
			t.Fatal(err)
		}
		waits := false
		for _, j := range pending {
			waits = waits || !strings.HasPrefix(j.Job.OrderID, "order-1-")
		}
		if !waits {
			return
		}
	}
}

func TestEveryProcessKeepsToTheScript(t *testing.T) { everywhere(t, testEveryProcessKeepsToTheScript) }

func testEveryProcessKeepsToTheScript(t *testing.T, w *world) {
	created := w.Create(t, "order-1")
	w.play(t, created, "mandate_active")
	w.advance(t, created, "P3D")
	for _, s := range []string{"crm_away", "pdf_fails", "event_lost", "next_answer_503"} {
		w.play(t, created, s)
	}

	w.serve(t)
	w.within(t, "the clock in another process", moment(t, w.advance(t, created, "PT1S"), "clock"), 3*day)
	for _, why := range []string{"the script says so", "the CRM is away"} {
		if r := w.Confirm(t, created); r.Status != http.StatusServiceUnavailable {
			t.Errorf("confirm where %s: %d %s", why, r.Status, r.Body)
		}
	}
	w.play(t, created, "crm_back")
	w.Receiver.Forget()
	r := w.Confirm(t, created)
	if r.Status != http.StatusOK || r.At("agreement.pdf_generated") != false || r.At("direct_debit.mandate_status") != "active" {
		t.Errorf("confirm: %d %s", r.Status, r.Body)
	}
	if got := w.received(); len(got) != 0 {
		t.Errorf("received %q, want nothing of the event that is lost", got)
	}
}

func TestProductionHasNoSandbox(t *testing.T) {
	processor, err := gocardless.New(gocardless.Options{Environment: catalogue.Production, Token: "live_token"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.New(site.Config{Store: memory.New(), Secrets: [][]byte{bytes.Repeat([]byte("s"), checkout.MinSecret)},
		GoCardless: &site.GoCardless{Processor: processor, WebhookSecrets: [][]byte{[]byte(sandbox.WebhookSecret)}}, Log: slog.New(slog.DiscardHandler),
		Service: service.Config{Environment: catalogue.Production, BaseURL: "https://pay.example.nz", Agency: agreement.Agency{Name: "Lender",
			Address: "1 Street", Contact: "privacy@lender.example"}}})
	if err != nil {
		t.Fatal(err)
	}
	answers := make(map[string]bool)
	for path, method := range map[string]string{"checkouts/x/scenarios": "POST", "checkouts/x/clock": "POST", "golive": "GET", "requests": "GET",
		"nothing": "GET"} {
		w := httptest.NewRecorder()
		s.Handler.ServeHTTP(w, httptest.NewRequest(method, "https://pay.example.nz/sandbox/v1/"+path, strings.NewReader("{}")))
		answers[fmt.Sprint(w.Code, strings.Split(w.Body.String(), `"request_id"`)[0])] = true
	}
	if len(answers) != 1 {
		t.Errorf("production answers %v, want one answer for every path", answers)
	}
	for text := range answers {
		if !strings.HasPrefix(text, "404") {
			t.Errorf("production answers %s, want 404", text)
		}
	}
}
