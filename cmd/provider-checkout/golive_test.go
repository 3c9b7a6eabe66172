package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// The operator asks the store and the provider asks the API, and both read the same; what is signed can be checked with the public key.
func TestGoLive(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.does(t, "apply", "-f", "demo.json")
	key := strings.TrimSpace(o.prints(t, "keys", "issue", "--provider", "KOWHAI"))
	s := started(t, "--store", "sqlite:"+o.path, "--rate-limit", "0")
	defer s.stop()
	asked := func(args ...string) result {
		return try(t, []string{keyVariable + "=" + key}, "", append([]string{"golive", "--base-url", s.base}, args...)...)
	}
	body := strings.Replace(sandbox.Order(sandbox.CatalogueCreate, "order-1"), "NZDIP", "NZDIP-BUS", 1)
	for range 2 {
		if _, err := apiclient.New(s.base, map[string]string{"KOWHAI": key}).Create(t.Context(), "KOWHAI", body, "User-Agent", "a provider's backend"); err != nil {
			t.Fatal(err)
		}
	}
	var byProvider result
	for range 1000 { // the log has a request a moment after its answer
		if byProvider = asked("--json"); strings.Contains(byProvider.stdout, `"step":"replay","done":true`) {
			break
		}
	}
	byOperator := o.try(t, "golive", "--provider", "KOWHAI", "--json")
	if got := strings.ReplaceAll(byProvider.stdout, s.base, ""); got != byOperator.stdout || byProvider.code != cli.ExitFailed || byOperator.code != cli.ExitFailed {
		t.Errorf("the provider is told %d\n%s\nand the operator %d\n%s", byProvider.code, got, byOperator.code, byOperator.stdout)
	}
	says(t, byOperator.stdout, `{"step":"create","done":true,"at":"`, `{"step":"setup","done":false,"help":"/docs#`)
	says(t, byOperator.stderr, "not ready: 10 of 12 steps are missing")
	people := o.try(t, "golive", "--provider", "KOWHAI")
	says(t, people.stdout, "STEP", "req_", "Have a payer set up the direct debit. See /docs#the-payers-browser")

	public, file := strings.TrimSpace(o.prints(t, "evidence", "key")), filepath.Join(t.TempDir(), "report")
	if got := o.try(t, "golive", "--provider", "KOWHAI", "--report", file); got.code != cli.ExitFailed || !strings.Contains(got.stderr, "not ready") {
		t.Errorf("the report: %+v", got)
	}
	verified := try(t, nil, "", "golive", "verify", file, "--key", public)
	if verified.code != cli.ExitFailed || !strings.Contains(verified.stderr, "not ready: the report is genuine") {
		t.Errorf("verify the report: %+v", verified)
	}
	says(t, verified.stdout, "provider KOWHAI\n", "ready no\n", "done replay 20", "missing setup\n")
	signed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(signed), "ready no", "ready yes", 1)
	try(t, nil, edited, "golive", "verify", "-", "--key", public).refuses(t, cli.ExitFailed, "standard input is refused: it is no such statement")
	mailed := strings.ReplaceAll(string(signed), "\n", "\r\n")
	try(t, nil, mailed, "golive", "verify", "-", "--key", public).refuses(t, cli.ExitFailed, "its line ends were changed")

	db := o.open(t)
	for line := range strings.Lines(byOperator.stdout) {
		step, err := apiclient.ParseObject([]byte(line))
		if err == nil {
			err = db.KeepSandboxRecord(t.Context(), "golive/KOWHAI/"+step.Text("step"), []byte(`{"at": "2026-11-20T04:00:00Z"}`))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, got := range map[string]result{"provider": asked(), "operator": o.try(t, "golive", "--provider", "KOWHAI")} {
		if got.code != cli.ExitDone || strings.Contains(got.stdout, "See ") || !strings.HasSuffix(got.stdout, "\nready: all 12 steps are done\n") {
			t.Errorf("the %s of an integration that is ready: %+v", name, got)
		}
	}
	o.does(t, "golive", "--provider", "KOWHAI", "--report", file)
	if got := try(t, nil, "", "golive", "verify", file, "--key", public); got.code != cli.ExitDone || !strings.Contains(got.stdout, "ready yes\n") {
		t.Errorf("verify the report of an integration that is ready: %+v", got)
	}
}

// A server that ends stores the requests that it has answered.
func TestGoLiveAfterTheServer(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.does(t, "apply", "-f", "demo.json")
	key := strings.TrimSpace(o.prints(t, "keys", "issue", "--provider", "TUI"))
	s := started(t, "--store", "sqlite:"+o.path)
	created, err := apiclient.New(s.base, map[string]string{"TUI": key}).Create(t.Context(), "TUI", sandbox.Order(sandbox.LegacyCreate, "order-1"),
		"User-Agent", "a provider's backend")
	if err != nil || created.Status != 201 {
		t.Fatalf("create: %d %s, %v", created.Status, created.Body, err)
	}
	s.stop()
	got := o.try(t, "golive", "--provider", "TUI", "--json")
	says(t, got.stdout, `{"step":"create","done":true`, created.Header.Get("X-Request-Id"))
}

func TestGoLiveIsRefused(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	o.does(t, "apply", "-f", proc.TempFile(t, `{"providers": [{"provider_code": "KOWHAI", "name": "Kōwhai", "account_id": "a",
		"environment": "production", "active": true, "api_enabled": true}]}`))
	s := started(t)
	defer s.stop()
	env := []string{keyVariable + "=pck_sandbox_hunter2"}
	for _, tt := range []refusal{
		{"neither side", cli.ExitUsage, nil, nil, []string{"--provider", "--base-url"}, nil},
		{"both sides", cli.ExitUsage, env, []string{"--provider", "KOWHAI", "--base-url", s.base}, []string{"--provider", "--base-url"}, nil},
		{"a report without the operator", cli.ExitUsage, env, []string{"--base-url", s.base, "--report", "x"}, []string{"--report needs --provider"}, nil},
		{"no key", cli.ExitUsage, nil, []string{"--base-url", s.base}, []string{keyVariable}, nil},
		{"a wrong key", cli.ExitFailed, env, []string{"--base-url", s.base}, []string{"answers 403"}, nil},
		{"no sandbox", cli.ExitFailed, env, []string{"--base-url", s.base + "/x"}, []string{"it is no sandbox"}, nil},
		{"no provider", cli.ExitFailed, nil, []string{"--provider", "NOBODY", "--store", "sqlite:" + o.path}, []string{`"NOBODY"`}, nil},
		{"a provider of production", cli.ExitFailed, nil, []string{"--provider", "KOWHAI", "--store", "sqlite:" + o.path}, []string{"not of the sandbox"}, nil},
		{"no report", cli.ExitFailed, nil, []string{"verify", proc.TempFile(t, "ready yes\n"), "--key", strings.TrimSpace(publicOf(t))}, []string{"no such statement"}, nil},
	} {
		tt.of(t, "golive")
	}
}

// The checkouts of the demonstration's week and website prove nothing for an integration, and no event does that no receiver of its
// developer has taken.
func TestOnlyTheDevelopersReceiverProvesEvents(t *testing.T) {
	inEmptyTemp(t)
	own := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer own.Close()
	for _, tt := range []struct {
		args    []string
		missing []string // after a create, of create and event
	}{{nil, []string{"event"}}, {[]string{"--webhook", own.URL}, nil}} {
		d := startDemo(t, append(tt.args, "--addr", "127.0.0.1:0")...)
		key := d.says("KEY=")
		api := apiclient.New(d.says("BASE="), map[string]string{"KOWHAI": key})
		as := []string{"User-Agent", "a provider's backend"}
		var rest string // of what is missing
		missing := func() (steps []string) {
			got := try(t, []string{keyVariable + "=" + key}, "", "golive", "--base-url", d.says("BASE="), "--json")
			rest = got.stderr
			for _, step := range []string{"create", "event"} {
				if strings.Contains(got.stdout, `"step":"`+step+`","done":false`) {
					steps = append(steps, step)
				}
			}
			return steps
		}
		list, err := api.Call(t.Context(), "KOWHAI", http.MethodGet, "/v1/enrolments", "", as...)
		if err != nil {
			t.Fatal(err)
		}
		polled := 0
		enrolments, _ := list.At("enrolments").([]any)
		for _, e := range enrolments {
			polled++
			path := apiclient.CheckoutsPath + "/" + fmt.Sprint(e.(map[string]any)["checkout_id"])
			if r, err := api.Call(t.Context(), "KOWHAI", http.MethodGet, path, "", as...); err != nil || r.Status != http.StatusOK {
				t.Fatalf("GET %s: %d, %v", path, r.Status, err)
			}
		}
		if got := missing(); polled != 7 || len(got) != 2 || !strings.Contains(rest, "12 of 12 steps are missing") {
			t.Errorf("demo %v: after polls of its %d checkouts only %v is missing: %s", tt.args, polled, got, rest)
		}
		body := strings.Replace(sandbox.Order(sandbox.CatalogueCreate, "order-1"), "NZDIP", "NZDIP-BUS", 1)
		if r, err := api.Create(t.Context(), "KOWHAI", body, as...); err != nil || r.Status != http.StatusCreated {
			t.Fatalf("create: %d %s, %v", r.Status, r.Body, err)
		}
		got := missing()
		for n := 0; n < 100 && len(got) != len(tt.missing); n++ {
			got = missing()
		}
		if !slices.Equal(got, tt.missing) {
			t.Errorf("demo %v: missing is %v, want %v", tt.args, got, tt.missing)
		}
		d.stop()
		d.ends("")
	}
}

// The guide of the demonstration has the lines with which its operator signs a report, and with which anybody checks it.
func TestTheDemonstrationsGuideLeadsToASignedReport(t *testing.T) {
	inEmptyTemp(t)
	d := startDemo(t, "--addr", "127.0.0.1:0")
	run := func(words string) result {
		return try(t, nil, "", strings.Fields(strings.ReplaceAll(words, "report.txt", filepath.Join(os.TempDir(), "report.txt")))...)
	}
	if got := run("golive --provider " + d.says("#    provider-checkout golive --provider ")); !strings.Contains(got.stderr, "not ready") {
		t.Errorf("the report: %+v", got)
	}
	verify, key, _ := strings.Cut(d.says("#    provider-checkout golive verify "), `"$(provider-checkout `)
	key = run(strings.TrimSuffix(key, `)"`)).stdout
	says(t, run("golive verify "+verify+key).stdout, "provider KOWHAI\n", "ready no\n")
	if err := os.Remove(filepath.Join(os.TempDir(), "report.txt")); err != nil {
		t.Error(err)
	}
	d.stop()
	d.ends("")
}

// publicOf returns the public half of a new key.
func publicOf(t *testing.T) string {
	private := try(t, nil, "", "evidence", "key", "--new").stdout
	return try(t, []string{evidenceVariable + "=" + strings.TrimSpace(private)}, "", "evidence", "key").stdout
}
