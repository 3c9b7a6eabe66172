package httpapi

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

// wantBody compares an answer's body with JSON to the letter, white space aside: the names
// and their order are the contract's, and an amount has two decimals.
func wantBody(t *testing.T, got []byte, want string) {
	t.Helper()
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(want)); err != nil {
		t.Fatal(err)
	}
	if got := string(bytes.TrimSpace(got)); got != compact.String() {
		t.Errorf("answer %s\nwant   %s", got, &compact)
	}
}

// open is a checkout as a create of wholeCreate leaves it.
func open() checkout.Checkout {
	return checkout.Checkout{
		ID: "KOWHAI-1795000000000-abcdefgh23456722", ProviderCode: "KOWHAI", OrderID: "ENR/<1>&",
		Status: checkout.SetupRequired,
		Intent: checkout.Intent{
			CourseName: "Diploma in Business",
			Pricing:    money.Pricing{Price: 2990_00, Upfront: 200_00, Principal: 2790_00},
			Plan: money.Plan{Frequency: money.Weekly, First: money.Date{Year: 2027, Month: 2, Day: 1},
				Instalments: money.Instalments{Number: 52, Regular: 53_65, Final: 53_85}},
		},
		Tokens: []checkout.Token{{Epoch: 1, Expires: time.Date(2026, time.November, 30, 0, 0, 0, 0, time.UTC)}},
	}
}

// records are the ids in an answer of the service.
var records = checkout.Records{ContactID: "c", OpportunityID: "o", DDAID: "d"}

// confirmed is the same checkout when all is done.
func confirmed() checkout.Checkout {
	c := open()
	c.Status = checkout.Confirmed
	c.Setup.Observation = checkout.Observation{BillingRequest: checkout.BillingFulfilled,
		Mandate: checkout.MandateActive, Authorisation: checkout.Authorised}
	c.Confirmation = checkout.Confirmation{AgreementNumber: "PPA-2027-000001", DocumentSHA256: [32]byte{1}}
	return c
}

func TestFirstCreateIsAnsweredInTheContractsWords(t *testing.T) {
	app := &stub{opened: service.Opened{Checkout: open(), Records: records, SetupURL: "http://h/api/dd-setup?token=t", Token: "t"}}
	w := do(handler(app), request("POST", checkoutsPath, wholeCreate))
	if got := w.Header().Get("Location"); w.Code != http.StatusCreated || got != checkoutsPath+"/"+open().ID {
		t.Errorf("answer %d, Location %q; want 201 and the checkout's path", w.Code, got)
	}
	wantBody(t, w.Body.Bytes(), `{"success": true, "idempotent_replay": false,
	  "provider": {"provider_code": "KOWHAI", "provider_order_id": "ENR/<1>&"},
	  "records": {"contact_id": "c", "opportunity_id": "o", "dda_id": "d"},
	  "checkout": {"checkout_id": "KOWHAI-1795000000000-abcdefgh23456722", "status": "direct_debit_setup_required",
	    "requires_direct_debit": true},
	  "direct_debit": {"setup_complete": false, "dda_id": "d", "setup_url": "http://h/api/dd-setup?token=t", "token": "t",
	    "expires_at": "2026-11-30T00:00:00.000Z", "next_poll_after": 900},
	  "plan": {"payment_type": "interest_free_payment_plan", "payment_frequency": "Weekly", "number_of_instalments": 52,
	    "instalment_amount": 53.65, "final_instalment_amount": 53.85, "first_payment_date": "2027-02-01"},
	  "pricing": {"course_price": 2990.00, "amount_to_finance": 2790.00, "upfront_payment": 200.00}}`)
}

func TestReplayOfAConfirmedCheckoutHasNoSetupPair(t *testing.T) {
	app := &stub{opened: service.Opened{Checkout: confirmed(), Records: records, Replay: true, IdempotencyKey: "KOWHAI:ENR-1"}}
	w := do(handler(app), request("POST", checkoutsPath, wholeCreate))
	if got := w.Header().Get("Location"); w.Code != http.StatusOK || got != "" {
		t.Errorf("answer %d, Location %q; want 200 without one", w.Code, got)
	}
	const want = `"idempotent_replay":true,"idempotency_key":"KOWHAI:ENR-1",`
	if got := w.Body.String(); !strings.Contains(got, want) || !strings.Contains(got, `"direct_debit":{"setup_complete":true,"dda_id":"d"},`) {
		t.Errorf("answer %s, want it with %s and without a setup pair", got, want)
	}
}

func TestGetAndConfirmAreAnsweredInTheContractsWords(t *testing.T) {
	withdrawn := confirmed()
	withdrawn.End = checkout.End{At: time.Date(2027, time.March, 1, 0, 0, 0, 0, time.UTC)}
	dda := open().Records(catalogue.Sandbox).DDAID
	app := &stub{found: withdrawn, confirm: service.Confirmed{Checkout: confirmed(), AgreementID: "a"}}
	w := do(handler(app), request("GET", checkoutsPath+"/KOWHAI-1-a", ""))
	wantBody(t, w.Body.Bytes(), `{"success": true,
	  "checkout": {"checkout_id": "KOWHAI-1795000000000-abcdefgh23456722", "status": "confirmed"},
	  "direct_debit": {"setup_complete": true, "billing_request_status": "fulfilled", "mandate_status": "active",
	    "authorisation_status": "Authorised", "authorised": true, "dda_id": "`+dda+`"},
	  "agreement": {"withdrawn_at": "2027-03-01T00:00:00.000Z"}}`)
	app.found = open()
	w = do(handler(app), request("GET", checkoutsPath+"/KOWHAI-1-a", ""))
	wantBody(t, w.Body.Bytes(), `{"success": true,
	  "checkout": {"checkout_id": "KOWHAI-1795000000000-abcdefgh23456722", "status": "direct_debit_setup_required"},
	  "direct_debit": {"setup_complete": false, "billing_request_status": "pending",
	    "authorisation_status": "Customer In Progress", "authorised": false, "dda_id": "`+dda+`",
	    "expires_at": "2026-11-30T00:00:00.000Z", "next_poll_after": 900}}`)
	w = do(handler(app), request("POST", checkoutsPath+"/KOWHAI-1-a/confirm", wholeConfirm))
	wantBody(t, w.Body.Bytes(), `{"success": true,
	  "checkout": {"status": "confirmed", "id": "KOWHAI-1795000000000-abcdefgh23456722"}, "enrolment": {"status": "complete"},
	  "direct_debit": {"setup_complete": true, "mandate_status": "active"},
	  "agreement": {"id": "a", "number": "PPA-2027-000001", "pdf_generated": true}, "already_confirmed": false}`)
	if app.asked != "KOWHAI-1-a" || app.confirmed != "KOWHAI-1-a" {
		t.Errorf("asked about %q and %q, want KOWHAI-1-a", app.asked, app.confirmed)
	}
}

func TestAnybodyMayAskWhatTheServiceIs(t *testing.T) {
	app := &stub{ready: service.Readiness{Environment: catalogue.Sandbox, BaseURL: "https://pay.example", Processor: "fake",
		ReadyForAPICalls: true}}
	for path, want := range map[string]string{
		"/v1": `{"success": true, "service": "provider-checkout", "version": "v1", "environment": "sandbox", "base_url": "https://pay.example"}`,
		"/v1/environment": `{"success": true, "environment": "sandbox", "api_base_url": "https://pay.example",
		  "payment_processor": "fake", "payment_processor_status": "configured",
		  "readiness": {"ready_for_api_calls": true, "webhook_destinations_configured": false}}`,
	} {
		w := do(handler(app), request("GET", path, "", header("Authorization")))
		if w.Code != http.StatusOK {
			t.Errorf("GET %s without a key: %d, want 200", path, w.Code)
		}
		wantBody(t, w.Body.Bytes(), want)
	}
}
