package main

import (
	"net/http"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Production is served over GoCardless, which nothing is asked of here: its address leads nowhere.
func TestServeProductionOverGoCardless(t *testing.T) {
	t.Parallel()
	const oldest, older, newer = "the first webhook secret", "the webhook secret before", "the present webhook secret"
	const secret = "0123456789abcdef0123456789abcdef"
	env := []string{secretVariable + "=" + secret, signing(t), tokenVariable + "=live_hunter2",
		webhookVariable + "_FILE=" + proc.TempFile(t, newer+"\n"+older+", "+oldest+"\n")}
	s := startedWith(t, env, "--environment", "production", "--processor", "gocardless", "--base-url", "https://pay.example",
		"--terms", "demo-terms.json", "--smtp", "none", "--gocardless-url", "https://127.0.0.1:1", "--ops-addr", "127.0.0.1:0")
	for signature, want := range map[string]int{
		gocardlesstest.Sign([]byte(`{"events":[]}`), newer):   http.StatusNoContent,
		gocardlesstest.Sign([]byte(`{"events":[]}`), older):   http.StatusNoContent,
		gocardlesstest.Sign([]byte(`{"events":[]}`), oldest):  http.StatusNoContent,
		gocardlesstest.Sign([]byte(`{"events":[]}`), "other"): 498,
	} {
		notified := new(sandbox.Sandbox).Send(t, http.MethodPost, s.base+gocardless.WebhookPath, `{"events":[]}`, "Webhook-Signature", signature)
		if notified.Status != want {
			t.Errorf("a notification is answered %d, want %d", notified.Status, want)
		}
	}
	if got := sandbox.Fetch(t, s.ops+"/readyz"); got.Status != http.StatusServiceUnavailable {
		t.Errorf("without GoCardless /readyz answers %d, want 503", got.Status)
	}
	if got := sandbox.Fetch(t, s.base+"/sandbox/processor/billing-requests/BR1"); got.Status != http.StatusNotFound {
		t.Errorf("the fake processor's pages answer %d in production, want 404", got.Status)
	}
	code, _, stderr := s.stop()
	if code != 0 {
		t.Errorf("status %d:\n%s", code, stderr)
	}
	saysNot(t, stderr, "hunter2", oldest, older, newer, secret)
}
