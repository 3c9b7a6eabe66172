package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
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

// Terms that name another initiator, code, statement or collection days than GoCardless are refused, a line each; terms that say the
// same, or leave it to GoCardless, are served.
func TestServeRefusesTermsThatContradictTheProcessor(t *testing.T) {
	t.Parallel()
	sim := gocardlesstest.New(gocardlesstest.Options{Token: "sandbox_hunter2", Creditors: []gocardlesstest.Creditor{{ID: "CR1", Name: "Rimu College"}}})
	server := httptest.NewServer(sim)
	t.Cleanup(func() { sim.Close(); server.Close() })
	o := newOperator(t)
	o.does(t, "apply", "-f", proc.TempFile(t, `{"providers": [{"provider_code": "RIMU", "name": "Rimu College", "account_id": "CR1",
		"environment": "sandbox", "active": true, "api_enabled": true}]}`))
	serve := func(authority string) result {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var stdout bytes.Buffer
		stderr := untilListening{stop: cancel}
		code := run(ctx, []string{"serve", "--addr", "127.0.0.1:0", "--store", "sqlite:" + o.path, "--processor", "gocardless",
			"--gocardless-url", server.URL, "--terms", proc.TempFile(t, `{"authority": {`+authority+`}}`)},
			variables([]string{tokenVariable + "=sandbox_hunter2", webhookVariable + "=0123456789abcdef"}), nil, &stdout, &stderr)
		return result{code, stdout.String(), stderr.String()}
	}
	got := serve(`"initiator": "Pūtea", "authorisation_code": "0123456", "particulars": "PUTEA", "collection_days": "every_day"`)
	want := `authority.authorisation_code: the terms say "0123456", and the processor "0200001"
authority.collection_days: the terms say "every_day", and the processor "business_days"
authority.initiator: the terms say "Pūtea", and the processor "Rimu College"
authority.particulars, code and reference: the terms say "particulars PUTEA", and the processor "Rimu College"
provider-checkout serve: the processor says otherwise than --terms who debits: leave these fields out, or mend them
`
	if got.code != exitFailed || got.stderr != want {
		t.Errorf("serve = %d\n%s\nwant %d\n%s", got.code, got.stderr, exitFailed, want)
	}
	for _, same := range []string{"", `"initiator": "Rimu College", "authorisation_code": "0200001", "collection_days": "business_days"`} {
		if got := serve(same); got.code != exitDone || !strings.Contains(got.stderr, `"msg":"listening"`) {
			t.Errorf("serve with %q = %+v, want it served", same, got)
		}
	}
}

// untilListening is the log of a server that it stops once that listens.
type untilListening struct {
	bytes.Buffer
	stop func()
}

func (l *untilListening) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(`"msg":"listening"`)) {
		l.stop()
	}
	return l.Buffer.Write(p)
}
