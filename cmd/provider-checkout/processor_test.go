package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Production is served over GoCardless, which nothing is asked of here: its address leads nowhere.
func TestServeProductionOverGoCardless(t *testing.T) {
	t.Parallel()
	const oldest, older, newer = "the first webhook secret", "the webhook secret before", "the present webhook secret"
	const secret = "0123456789abcdef0123456789abcdef"
	env := []string{evidenceVariable + "=" + privateKey(t), secretVariable + "=" + secret, tokenVariable + "=live_hunter2",
		webhookVariable + "_FILE=" + proc.TempFile(t, newer+"\n"+older+", "+oldest+"\n")}
	s := startedWith(t, env, "--environment", "production", "--processor", "gocardless", "--base-url", "https://pay.example",
		"--terms", "demo-terms.json", "--gocardless-url", "https://127.0.0.1:1", "--gocardless-pages", "https://pay.gocardless.com", "--ops-addr", "127.0.0.1:0")
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
	if got.code != cli.ExitFailed || got.stderr != want {
		t.Errorf("serve = %d\n%s\nwant %d\n%s", got.code, got.stderr, cli.ExitFailed, want)
	}
	for _, same := range []string{"", `"initiator": "Rimu College", "authorisation_code": "0200001", "collection_days": "business_days"`} {
		if got := serve(same); got.code != cli.ExitDone || !strings.Contains(got.stderr, `"msg":"listening"`) {
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

// simulated runs a simulator until the test ends, and returns what it prints first.
func simulated(t *testing.T, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, ended := make(lines, 16), make(chan int, 1)
	go func() {
		ended <- run(ctx, append([]string{"simulate"}, args...), variables(nil), nil, out, out)
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != cli.ExitDone {
			t.Errorf("status %d", code)
		}
	})
	return <-out
}

// lines has what is written sent, one write at a time.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func TestSimulatorPrintsHowToServeWithIt(t *testing.T) {
	says(t, simulated(t, "gocardless", "--addr", "127.0.0.1:0", "--base-url", "http://127.0.0.1:8180"),
		"GoCardless is simulated at http://127.0.0.1:", tokenVariable+"=", webhookVariable+"=", "PROVIDER_CHECKOUT_GOCARDLESS_URL=http://127.0.0.1:",
		"\n./provider-checkout serve --addr 127.0.0.1:8180 --processor gocardless", "\n./provider-checkout apply --processor gocardless", "/simulator/mandates/")
}

// What the simulator of Salesforce prints signs a client in, and has the program check it.
func TestSimulateSalesforcePrintsHowToUseIt(t *testing.T) {
	text := simulated(t, "salesforce", "--addr", "127.0.0.1:0")
	form := url.Values{}
	var address string
	env := []string{"PROVIDER_CHECKOUT_STORE=sqlite:" + filepath.Join(t.TempDir(), "records.db")}
	for word := range strings.FieldsSeq(text) {
		if name, value, ok := strings.Cut(word, "="); ok && name == strings.ToUpper(name) {
			env = append(env, word)
		} else if ok {
			form.Set(name, value)
		}
		if strings.HasSuffix(word, "/services/oauth2/token") {
			address = word
		}
	}
	token := new(sandbox.Sandbox).Submit(t, address, strings.FieldsFunc(form.Encode(), func(r rune) bool { return r == '&' || r == '=' }))
	if token.Status != http.StatusOK || token.String("instance_url")+"/services/oauth2/token" != address {
		t.Errorf("the command that is printed gets %d %s:\n%s", token.Status, token.Body, text)
	}
	for _, command := range []string{"crm check", "providers pull"} {
		if got := try(t, env, "", strings.Fields(command)...); got.code != cli.ExitDone || !strings.Contains(text, "\n./provider-checkout "+command+"\n") {
			t.Errorf("%s with what is printed = %+v:\n%s", command, got, text)
		}
	}
}
