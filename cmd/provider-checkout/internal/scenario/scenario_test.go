package scenario_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

func TestSetupAndMandate(t *testing.T) { everywhere(t, testSetupAndMandate) }

func testSetupAndMandate(t *testing.T, w *world) {
	for _, tt := range []struct {
		name      string
		scenarios []string
		complete  bool
		request   string
		mandate   any
		confirm   int
	}{
		{"no scenario", nil, false, "pending", nil, 409},
		{"the setup succeeds", []string{"setup_succeeds"}, true, "fulfilled", "pending_submission", 200},
		{"the setup succeeds twice", []string{"setup_succeeds", "setup_succeeds"}, true, "fulfilled", "pending_submission", 200},
		{"the setup fails", []string{"setup_fails"}, false, "cancelled", nil, 409},
		{"the setup fails, and another try succeeds", []string{"setup_fails", "setup_succeeds"}, true, "fulfilled", "pending_submission", 200},
		{"the payer leaves the setup", []string{"setup_abandoned"}, false, "pending", nil, 409},
		{"the payer leaves, and comes back", []string{"setup_abandoned", "setup_succeeds"}, true, "fulfilled", "pending_submission", 200},
		{"the processor makes the mandate", []string{"setup_ready_to_fulfil", "setup_fulfilling"}, false, "fulfilling", nil, 409},
		{"the processor has made the mandate", []string{"setup_fulfilling", "setup_succeeds"}, true, "fulfilled", "pending_submission", 200},
		{"the mandate is submitted", []string{"mandate_submitted"}, true, "fulfilled", "submitted", 200},
		{"the mandate becomes active", []string{"setup_succeeds", "mandate_active"}, true, "fulfilled", "active", 200},
		{"the mandate fails", []string{"mandate_failed"}, false, "fulfilled", "failed", 409},
		{"the mandate is cancelled", []string{"setup_succeeds", "mandate_cancelled"}, false, "fulfilled", "cancelled", 409},
		{"the mandate expires", []string{"mandate_active", "mandate_expired"}, false, "fulfilled", "expired", 409},
		{"the mandate is blocked", []string{"mandate_blocked"}, false, "fulfilled", "blocked", 409},
		{"the payer suspends the mandate", []string{"mandate_suspended_by_payer"}, true, "fulfilled", "suspended_by_payer", 409},
		{"a mandate is set up after another has failed", []string{"mandate_failed", "mandate_active"}, true, "fulfilled", "active", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			created := w.Create(t, tt.name)
			for _, s := range tt.scenarios {
				w.play(t, created, s)
			}
			got := w.Get(t, "KOWHAI", created.CheckoutPath())
			if got.At("direct_debit.setup_complete") != tt.complete || got.At("direct_debit.billing_request_status") != tt.request ||
				got.At("direct_debit.mandate_status") != tt.mandate ||
				got.At("direct_debit.authorised") != (tt.mandate == "active") {
				t.Errorf("GET: %s", got.Body)
			}
			if ready := got.At("direct_debit.next_poll_after") == nil; ready != (tt.confirm == 200) {
				t.Errorf("GET asks for no other poll: %t, and the confirm is %d", ready, tt.confirm)
			}
			if r := w.Confirm(t, created); r.Status != tt.confirm || tt.confirm == 409 && r.String("error.code") != "DIRECT_DEBIT_SETUP_INCOMPLETE" {
				t.Errorf("confirm: %d %s, want %d", r.Status, r.Body, tt.confirm)
			}
		})
	}
}

func TestMandateAfterTheConfirm(t *testing.T) { everywhere(t, testMandateAfterTheConfirm) }

func testMandateAfterTheConfirm(t *testing.T, w *world) {
	created := w.Create(t, "order-1")
	w.play(t, created, "setup_succeeds")
	if r := w.Confirm(t, created); r.Status != http.StatusOK {
		t.Fatalf("confirm: %d %s", r.Status, r.Body)
	}
	r := w.play(t, created, "mandate_cancelled", "reason_code", "BANK-AC04")
	if r.At("direct_debit.mandate_status") != "cancelled" || r.At("direct_debit.mandate_reason_code") != "BANK-AC04" ||
		r.At("direct_debit.setup_complete") != true {
		t.Errorf("after the cancel of the mandate: %s", r.Body)
	}
	if r := w.play(t, created, "mandate_active"); r.At("direct_debit.authorisation_status") != "Authorised" {
		t.Errorf("after the mandate is reinstated: %s", r.Body)
	}
}

func TestMandateOfARealSetup(t *testing.T) {
	w := newWorld(t, memory.New())
	created := w.Create(t, "order-1")
	if err := w.Payer().SetUp(t.Context(), created.SetupURL()); err != nil {
		t.Fatal(err)
	}
	if r := w.play(t, created, "mandate_failed"); r.At("direct_debit.setup_complete") != false {
		t.Errorf("after the failure: %s", r.Body)
	}
	if err := w.Payer().SetUp(t.Context(), created.SetupURL()); err != nil {
		t.Fatal(err)
	}
	if r := w.Confirm(t, created); r.Status != http.StatusOK {
		t.Errorf("confirm of another try: %d %s", r.Status, r.Body)
	}
}

func TestNextAnswer(t *testing.T) { everywhere(t, testNextAnswer) }

func testNextAnswer(t *testing.T, w *world) {
	created := w.Create(t, "order-1")
	w.play(t, created, "setup_succeeds")
	for scenario, want := range map[string]string{"next_answer_403": "403 PROVIDER_NOT_ENABLED", "next_answer_404": "404 PROVIDER_NOT_FOUND",
		"next_answer_410": "410 CHECKOUT_ERASED", "next_answer_500": "500 INTERNAL_ERROR"} {
		w.play(t, created, scenario)
		if r := w.Get(t, "KOWHAI", created.CheckoutPath()); fmt.Sprint(r.Status, " ", r.String("error.code")) != want {
			t.Errorf("GET after %s: %d %s, want %s", scenario, r.Status, r.Body, want)
		}
		if r := w.Get(t, "KOWHAI", created.CheckoutPath()); r.Status != http.StatusOK {
			t.Errorf("the GET after that: %d %s", r.Status, r.Body)
		}
	}
	w.play(t, created, "next_answer_500")
	if r := w.Confirm(t, created); r.Status != http.StatusInternalServerError || r.Header.Get("Retry-After") != "" {
		t.Fatalf("the next confirm: %d %s, want 500", r.Status, r.Body)
	}
	if r := w.Get(t, "KOWHAI", created.CheckoutPath()); r.At("checkout.status") != "direct_debit_setup_required" {
		t.Errorf("after a confirm that was answered 500: %s", r.Body)
	}
	w.play(t, created, "next_answer_503")
	if r := w.Confirm(t, created); r.Status != http.StatusServiceUnavailable || r.String("error.code") != "INTERNAL_ERROR" || r.Header.Get("Retry-After") == "" {
		t.Fatalf("the next confirm: %d %s, want 503", r.Status, r.Body)
	}
	w.play(t, created, "next_answer_lost")
	if r, err := apiclient.New(w.URL, w.Keys).Confirm(t.Context(), created, created.ConfirmBody()); err == nil {
		t.Fatalf("the confirm is answered %d %s, want no answer", r.Status, r.Body)
	}
	if r := w.Confirm(t, created); r.Status != http.StatusOK || r.At("already_confirmed") != true {
		t.Errorf("the confirm sent again: %d %s", r.Status, r.Body)
	}

	if r := w.Post(t, "KOWHAI", apiclient.CheckoutsPath, sandbox.Order(sandbox.CatalogueCreate, "o+next_answer_503")); r.Status != 503 {
		t.Errorf("a create with the suffix: %d %s, want 503", r.Status, r.Body)
	}
	w.Create(t, "o+next_answer_503")
	if r := w.Post(t, "KOWHAI", apiclient.CheckoutsPath, sandbox.Order(sandbox.CatalogueCreate, "o+next_answer_410")); r.Status != http.StatusGone {
		t.Errorf("a create with the suffix: %d %s, want 410", r.Status, r.Body)
	}
	if r, err := apiclient.New(w.URL, w.Keys).Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, "o+next_answer_lost")); err == nil {
		t.Errorf("a create whose answer is lost is answered %d %s", r.Status, r.Body)
	}
	w.Replay(t, "o+next_answer_lost")
}

// A list that asks for one order, and a redelivery, are calls for a checkout too: of their caller's own.
func TestNextAnswerOfListsAndRedeliveries(t *testing.T) {
	everywhere(t, testNextAnswerOfListsAndRedeliveries)
}

func testNextAnswerOfListsAndRedeliveries(t *testing.T, w *world) {
	created := w.Create(t, "order 1+x")
	w.Post(t, "TUI", apiclient.CheckoutsPath, sandbox.Order(sandbox.LegacyCreate, "order 1+x"))
	list := w.Get(t, "KOWHAI", "/v1/events")
	for _, call := range []struct{ method, path string }{
		{http.MethodGet, "/v1/events?limit=1&provider_order_id=order+1%2Bx"},
		{http.MethodGet, "/v1/enrolments?provider_order_id=order+1%2Bx&status=cancelled"},
		{http.MethodPost, "/v1/events/" + list.String("events.0.event_id") + "/redeliver"},
	} {
		for scenario, want := range map[string]string{"next_answer_403": "403 PROVIDER_NOT_ENABLED", "next_answer_404": "404 PROVIDER_NOT_FOUND",
			"next_answer_500": "500 INTERNAL_ERROR", "next_answer_503": "503 INTERNAL_ERROR"} {
			w.play(t, created, scenario)
			for _, other := range [][3]string{{"TUI", call.method, call.path}, {"KOWHAI", http.MethodGet, "/v1/events"},
				{"KOWHAI", http.MethodGet, "/v1/enrolments?provider_order_id=order+1"},
				{"KOWHAI", http.MethodGet, "/v1/enrolments?provider_order_id=%00"},
				{"KOWHAI", http.MethodPost, "/v1/events/none/redeliver"}} {
				if r := w.call(t, other[0], other[1], other[2], ""); strings.HasPrefix(r.String("error.code"), "PROVIDER_") || r.Status >= 500 {
					t.Errorf("%s of %s, which is not about the order, is answered %d %s", other[1:], other[0], r.Status, r.Body)
				}
			}
			if r := w.call(t, "KOWHAI", call.method, call.path, ""); fmt.Sprint(r.Status, " ", r.String("error.code")) != want {
				t.Errorf("%s after %s: %d %s, want %s", call.path, scenario, r.Status, r.Body, want)
			}
			w.Clock.Forward(2 * time.Second) // one redelivery a second is allowed
			if r := w.call(t, "KOWHAI", call.method, call.path, ""); r.Status > http.StatusAccepted {
				t.Errorf("%s after that: %d %s", call.path, r.Status, r.Body)
			}
		}
		w.Clock.Forward(2 * time.Second)
		w.play(t, created, "next_answer_410") // a list and a redelivery go on after an erasure
		if r := w.call(t, "KOWHAI", call.method, call.path, ""); r.Status == http.StatusGone {
			t.Errorf("%s is answered %s", call.path, r.Body)
		}
		if r := w.Get(t, "KOWHAI", created.CheckoutPath()); r.Status != http.StatusGone {
			t.Errorf("the get after it: %d %s, want 410", r.Status, r.Body)
		}
		w.Clock.Forward(2 * time.Second)
		w.play(t, created, "next_answer_lost")
		if r, err := apiclient.New(w.URL, w.Keys).Call(t.Context(), "KOWHAI", call.method, call.path, ""); err == nil {
			t.Errorf("%s is answered %d %s, want no answer", call.path, r.Status, r.Body)
		}
	}
}

func TestSuffixOfTheOrder(t *testing.T) { everywhere(t, testSuffixOfTheOrder) }

func testSuffixOfTheOrder(t *testing.T, w *world) {
	for suffix, mandate := range map[string]any{"setup_succeeds": "pending_submission", "setup_fails": nil, "mandate_active": "active", "unknown": nil} {
		created := w.Create(t, "order+"+suffix)
		if got := w.Get(t, "KOWHAI", created.CheckoutPath()); got.At("direct_debit.mandate_status") != mandate {
			t.Errorf("GET of …+%s: %s", suffix, got.Body)
		}
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, memory.New())
	created := w.Create(t, "order-1")
	path := "/sandbox/v1/checkouts/" + created.String("checkout.checkout_id") + "/scenarios"
	for _, tt := range []struct {
		name, provider, method, path, body string
		status                             int
		code, field                        string
	}{
		{"an unknown scenario", "KOWHAI", "POST", path, `{"scenario": "x"}`, 400, "VALIDATION_ERROR", "scenario"},
		{"no scenario", "KOWHAI", "POST", path, `{}`, 400, "VALIDATION_ERROR", "scenario"},
		{"a number", "KOWHAI", "POST", path, `{"scenario": 1}`, 400, "VALIDATION_ERROR", "scenario"},
		{"a reason of no mandate", "KOWHAI", "POST", path, `{"scenario": "setup_fails", "reason_code": "A"}`, 400, "VALIDATION_ERROR", "reason_code"},
		{"a reason in words", "KOWHAI", "POST", path, `{"scenario": "mandate_failed", "reason_code": "my reason"}`, 400, "VALIDATION_ERROR", "reason_code"},
		{"no body", "KOWHAI", "POST", path, ``, 400, "VALIDATION_ERROR", ""},
		{"another provider's checkout", "TUI", "POST", path, `{"scenario": "setup_fails"}`, 404, "CHECKOUT_NOT_FOUND", ""},
		{"no checkout", "KOWHAI", "POST", "/sandbox/v1/checkouts/x/scenarios", `{"scenario": "setup_fails"}`, 404, "CHECKOUT_NOT_FOUND", ""},
		{"no key", "", "POST", path, `{"scenario": "setup_fails"}`, 401, "MISSING_API_KEY", ""},
		{"another method", "KOWHAI", "GET", path, ``, 405, "METHOD_NOT_ALLOWED", ""},
	} {
		r := w.call(t, tt.provider, tt.method, tt.path, tt.body)
		if r.Status != tt.status || r.String("error.code") != tt.code || !strings.Contains(r.Body, `"field":"`+tt.field) && tt.field != "" {
			t.Errorf("%s: %d %s, want %d %s of %s", tt.name, r.Status, r.Body, tt.status, tt.code, tt.field)
		}
	}
	if got := w.Get(t, "KOWHAI", created.CheckoutPath()); got.At("direct_debit.billing_request_status") != "pending" {
		t.Errorf("after the refusals: %s", got.Body)
	}
}

// Both providers have an order of the same id: what is to happen to the caller's own checkout does not happen to a call that
// names the other provider's.
func TestACallForAnotherProvidersCheckoutTakesNoAnswer(t *testing.T) {
	everywhere(t, testACallForAnotherProvidersCheckout)
}

func testACallForAnotherProvidersCheckout(t *testing.T, w *world) {
	kowhais := w.Create(t, "order-1").CheckoutPath()
	created := w.Post(t, "TUI", apiclient.CheckoutsPath, sandbox.Order(sandbox.LegacyCreate, "order-1"))
	if created.Status != http.StatusCreated {
		t.Fatalf("create: %d %s", created.Status, created.Body)
	}
	path := "/sandbox/v1/checkouts/" + created.String("checkout.checkout_id") + "/scenarios"
	if r := w.call(t, "TUI", http.MethodPost, path, `{"scenario": "next_answer_410"}`); r.Status != http.StatusOK {
		t.Fatalf("scenario: %d %s", r.Status, r.Body)
	}
	for _, want := range []struct {
		path, code string
		status     int
	}{{kowhais, "CHECKOUT_NOT_FOUND", 404}, {created.CheckoutPath(), "CHECKOUT_ERASED", 410}, {created.CheckoutPath(), "", 200}} {
		if r := w.Get(t, "TUI", want.path); r.Status != want.status || r.String("error.code") != want.code {
			t.Errorf("GET %s: %d %s, want %d %s", want.path, r.Status, r.Body, want.status, want.code)
		}
	}
}

func TestAScriptHasAnEnd(t *testing.T) {
	w := newWorld(t, memory.New())
	created := w.Create(t, "order-1")
	for range 200 {
		w.play(t, created, "crm_away")
	}
	if r := w.post(t, created.String("checkout.checkout_id"), "crm_back"); r.Status != http.StatusConflict {
		t.Errorf("scenario 201: %d %s, want 409", r.Status, r.Body)
	}
	w.play(t, w.Create(t, "order-2"), "crm_back")
}

func TestPrinterAndCRM(t *testing.T) { everywhere(t, testPrinterAndCRM) }

func testPrinterAndCRM(t *testing.T, w *world) {
	created := w.Create(t, "order-1")
	w.play(t, created, "setup_succeeds")
	w.play(t, created, "pdf_fails")
	for _, s := range []string{"crm_away", "crm_refuses"} {
		w.play(t, created, s)
		if r := w.Confirm(t, created); r.Status != http.StatusServiceUnavailable || r.String("error.code") != "INTERNAL_ERROR" {
			t.Fatalf("confirm with %s: %d %s, want 503", s, r.Status, r.Body)
		}
		if other := w.Create(t, "beside "+s); w.play(t, other, "setup_succeeds").Status == 200 && w.Confirm(t, other).Status != 200 {
			t.Errorf("another checkout beside %s is not confirmed", s)
		}
	}
	w.play(t, created, "crm_back")
	w.Receiver.Forget()
	if r := w.Confirm(t, created); r.Status != http.StatusOK || r.At("agreement.pdf_generated") != false || r.At("already_confirmed") != false {
		t.Fatalf("confirm: %d %s, want it without a PDF", r.Status, r.Body)
	}
	if got := w.received(); !slices.Equal(got, []string{"checkout.confirmed 1"}) {
		t.Errorf("received %q, want no agreement.generated", got)
	}
	if r := w.Post(t, "KOWHAI", apiclient.CheckoutsPath, sandbox.Order(sandbox.CatalogueCreate, "o+crm_refuses")); r.Status != 500 {
		t.Errorf("a create that the CRM refuses: %d %s, want 500", r.Status, r.Body)
	}
}
