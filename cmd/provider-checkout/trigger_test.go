package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
)

func TestTriggerLeadsToEveryScenario(t *testing.T) {
	inEmptyTemp(t)
	d := startDemo(t, "--addr", "127.0.0.1:0")
	for _, s := range scenario.All() {
		name := string(s)
		got := try(t, []string{keyVariable + "=" + d.says("KEY=")}, "", "trigger", name, "--base-url", d.says("BASE="), "--course", "NZDIP-BUS", "--order", "ORDER-"+name)
		if got.code != cli.ExitDone || got.stderr != "" || !strings.Contains(got.stdout, `/scenarios {"scenario":"`+name+`"}: 200 OK, request req_`) ||
			!strings.Contains(got.stdout, "\n  order ORDER-"+name+", checkout KOWHAI-") {
			t.Errorf("trigger %s = %+v", name, got)
		}
		confirmed := strings.Contains(got.stdout, "checkout.status: confirmed")
		fails := strings.HasPrefix(name, "setup_") ||
			slices.Contains([]scenario.Scenario{scenario.CRMAway, scenario.CRMRefuses, scenario.LinkExpires, scenario.OperatorCancels}, s)
		if fails == confirmed {
			t.Errorf("trigger %s confirms the checkout: %v\n%s", name, confirmed, got.stdout)
		}
		if status, ok := strings.CutPrefix(name, "mandate_"); ok && !strings.Contains(got.stdout, "mandate_status: "+status+"\n") {
			t.Errorf("trigger %s ends in\n%s", name, got.stdout)
		}
		if name == "setup_fails" && !strings.Contains(got.stdout, "billing_request_status: cancelled\n") {
			t.Errorf("trigger %s ends in\n%s", name, got.stdout)
		}
		if strings.HasPrefix(name, "next_answer_") && (strings.Count(got.stdout, "/confirm: ") != 2 || strings.Count(got.stdout, "/confirm: 200 OK") != 1) {
			t.Errorf("trigger %s shows no failure and its repeat:\n%s", name, got.stdout)
		}
	}
	legacy := try(t, []string{keyVariable + "=" + d.says("TUI_KEY=")}, "", "trigger", "mandate_active", "--base-url", d.says("BASE="))
	if legacy.code != cli.ExitDone || !strings.Contains(legacy.stdout, "order TRIGGER-") {
		t.Errorf("a provider without a catalogue: %+v", legacy)
	}
	d.stop()
	d.end() // it has logged the failures
}

func TestTriggerRefusesMistakes(t *testing.T) {
	t.Parallel()
	s := sandbox.New(t, memory.New())
	production := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if w.Header().Set("Content-Type", "application/json"); r.Method != http.MethodGet {
			t.Error("a checkout is made in production")
		}
		fmt.Fprint(w, `{"environment": "production"}`)
	}))
	defer production.Close()
	for _, tt := range []struct {
		name string
		code int
		want string
		args []string
	}{
		{"an unknown scenario", cli.ExitUsage, "is no scenario; there are [link_expires setup_succeeds ", []string{"everything", "--base-url", s.URL}},
		{"a provider without a checkout", cli.ExitUsage, "name it with --provider", []string{"setup_fails", "--base-url", s.URL}},
		{"another provider", cli.ExitFailed, "PROVIDER_KEY_MISMATCH", []string{"setup_fails", "--base-url", s.URL, "--provider", "TUI"}},
		{"no course", cli.ExitFailed, "this provider has a catalogue: give --course", []string{"setup_fails", "--base-url", s.URL, "--provider", "KOWHAI"}},
		{"production", cli.ExitFailed, "is no sandbox", []string{"setup_fails", "--base-url", production.URL}},
	} {
		got := try(t, []string{keyVariable + "=" + s.Keys["KOWHAI"]}, "", append([]string{"trigger"}, tt.args...)...)
		if got.code != tt.code || !strings.Contains(got.stderr, tt.want) || !isLine(got.stderr) {
			t.Errorf("%s: %+v, want status %d and %q", tt.name, got, tt.code, tt.want)
		}
	}
}
