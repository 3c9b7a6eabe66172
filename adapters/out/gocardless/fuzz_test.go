package gocardless_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// answering is a transport that always gets the same answer.
type answering struct {
	status int
	body   []byte
}

func (a answering) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewReader(a.body))}, nil
}

func newAnswered(t testing.TB, a answering) *gocardless.Processor {
	t.Helper()
	p, err := gocardless.New(gocardless.Options{Environment: catalogue.Sandbox, Token: token, URL: "http://127.0.0.1:1", Transport: a})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Whatever an answer holds, an observation has only the processor's known words and an account that belongs to a mandate.
func FuzzAnswer(f *testing.F) {
	f.Add(200, []byte(`{"billing_requests":{"id":"BRQ1","status":"fulfilled","mandate_request":{"scheme":"becs_nz"},
		"links":{"mandate_request_mandate":"MD1"},"resources":{"customer_bank_account":{"account_holder_name":"A","account_number_ending":"8900"}}},
		"mandates":{"id":"MD1","status":"active","scheme":"becs_nz"},"events":[]}`))
	f.Add(200, []byte(`{"billing_requests":{"id":"BRQ1","status":"pending"}}`))
	f.Add(200, []byte(`{"billing_requests":null}`))
	f.Add(200, []byte(`{"billing_requests":[]}`))
	f.Add(409, []byte(`{"error":{"type":"invalid_state","errors":[{"reason":"idempotent_creation_conflict","links":{"conflicting_resource_id":"BRQ2"}}]}}`))
	f.Add(422, []byte(`{"error":"bank_authorisation_expired"}`))
	f.Add(404, []byte(`<html>`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 || status == http.StatusTooManyRequests || status >= 500 {
			return // the adapter asks again after such an answer and a pause
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		p := newAnswered(t, answering{status, body})
		seen, err := p.Observe(ctx, checkout.SetupQuery{Account: account, Setup: checkout.Setup{BillingRequestID: "BRQ1"}})
		if err == nil && (!seen.BillingRequest.Known() || seen.MandateID == "" && seen.Mandate != "") {
			t.Errorf("Observe = %+v", seen)
		}
		begun, err := p.Begin(ctx, start("a"))
		if err == nil && !strings.HasPrefix(begun.ID, "BRQ") {
			t.Errorf("Begin = %+v", begun)
		}
	})
}

// Whatever a notification with a good signature holds, it is kept whole or refused, and leads to no panic.
func FuzzNotification(f *testing.F) {
	f.Add([]byte(fulfilled("EV1", "EV2")))
	f.Add([]byte(`{"events":[{"id":"EV1","resource_type":"mandates","action":"failed","links":{"mandate":"MD1"}}]}`))
	f.Add([]byte(`{"events":[{}]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		kept := 0
		r, err := gocardless.NewReceiver(gocardless.ReceiverOptions{Processor: newAnswered(t, answering{404, nil}),
			Secrets:  [][]byte{[]byte(secret)},
			Notified: func(_ context.Context, all []checkout.Notification) error { kept += len(all); return nil },
			Report:   func(context.Context, error) {}})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		req := httptest.NewRequest(http.MethodPost, gocardless.WebhookPath, bytes.NewReader(body))
		req.Header.Set("Webhook-Signature", gocardlesstest.Sign(body, secret))
		r.ServeHTTP(w, req)
		switch w.Code {
		case http.StatusNoContent:
		case http.StatusBadRequest:
			if kept > 0 {
				t.Errorf("%d events of a refused notification are kept", kept)
			}
		default:
			t.Errorf("answered %d", w.Code)
		}
	})
}
