package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

// Production is served over GoCardless, which nothing is asked of here: its address leads nowhere.
func TestServeProductionOverGoCardless(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "webhook.secret")
	const oldest, older, newer = "the first webhook secret", "the webhook secret before", "the present webhook secret"
	if err := os.WriteFile(file, []byte(newer+"\n"+older+", "+oldest+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{evidenceVariable: privateKey(t), secretVariable: "0123456789abcdef0123456789abcdef", tokenVariable: "live_hunter2",
		webhookVariable + "_FILE": file}
	s := startedWith(t, env, "--environment", "production", "--processor", "gocardless", "--base-url", "https://pay.example",
		"--terms", "demo-terms.json", "--gocardless-url", "https://127.0.0.1:1", "--gocardless-pages", "https://pay.gocardless.com", "--ops-addr", "127.0.0.1:0")
	post := func(signature string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+gocardless.WebhookPath, strings.NewReader(`{"events":[]}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Webhook-Signature", signature)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	for signature, want := range map[string]int{
		gocardlesstest.Sign([]byte(`{"events":[]}`), newer):   http.StatusNoContent,
		gocardlesstest.Sign([]byte(`{"events":[]}`), older):   http.StatusNoContent,
		gocardlesstest.Sign([]byte(`{"events":[]}`), oldest):  http.StatusNoContent,
		gocardlesstest.Sign([]byte(`{"events":[]}`), "other"): 498,
	} {
		if got := post(signature); got != want {
			t.Errorf("a notification is answered %d, want %d", got, want)
		}
	}
	resp, err := http.Get(s.ops + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("without GoCardless /readyz answers %d, want 503", resp.StatusCode)
	}
	if resp, err = http.Get(s.base + "/sandbox/processor/billing-requests/BR1"); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Errorf("the fake processor's pages answer %d in production, want 404", resp.StatusCode)
	}
	code, _, stderr := s.stop()
	if code != 0 {
		t.Errorf("status %d:\n%s", code, stderr)
	}
	for _, secret := range []string{"hunter2", oldest, older, newer, env[secretVariable]} {
		if strings.Contains(stderr, secret) {
			t.Errorf("the log has %q:\n%s", secret, stderr)
		}
	}
}

func TestSimulatorPrintsHowToServeWithIt(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := make(lines, 16)
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"simulate", "gocardless", "--addr", "127.0.0.1:0", "--base-url", "http://127.0.0.1:8180"}, func(string) string { return "" }, nil, out, out)
	}()
	text := <-out
	for _, want := range []string{"GoCardless is simulated at http://127.0.0.1:", tokenVariable + "=", webhookVariable + "=", "PROVIDER_CHECKOUT_GOCARDLESS_URL=http://127.0.0.1:",
		"\n./provider-checkout serve --addr 127.0.0.1:8180 --processor gocardless", "\n./provider-checkout apply --processor gocardless", "/simulator/mandates/"} {
		if !strings.Contains(text, want) {
			t.Errorf("it prints %q, without %q", text, want)
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("status %d", code)
	}
}

// What the simulator of Salesforce prints signs a client in, and has the program check it.
func TestSimulateSalesforcePrintsHowToUseIt(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := make(lines, 16)
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"simulate", "salesforce", "--addr", "127.0.0.1:0"}, func(string) string { return "" }, nil, out, out)
	}()
	text := <-out
	form := url.Values{}
	var address string
	var env []string
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
	resp, err := http.PostForm(address, form)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var token struct {
		Instance string `json:"instance_url"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&token); err != nil || resp.StatusCode != http.StatusOK || token.Instance+"/services/oauth2/token" != address {
		t.Errorf("the command that is printed gets %d, %+v, %v:\n%s", resp.StatusCode, token, err, text)
	}
	env = append(env, "PROVIDER_CHECKOUT_STORE=sqlite:"+filepath.Join(t.TempDir(), "records.db"))
	for _, command := range []string{"crm check", "providers pull"} {
		if got := try(t, env, "", strings.Fields(command)...); got.code != 0 || !strings.Contains(text, "\n./provider-checkout "+command+"\n") {
			t.Errorf("%s with what is printed = %+v:\n%s", command, got, text)
		}
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("status %d", code)
	}
}

// lines has what is written sent, one write at a time.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}
