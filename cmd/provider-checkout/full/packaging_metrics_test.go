package full_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/oasdiff/yaml"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/provider-checkout/provider-checkout/adapters/in/ops"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// leftOut are metrics of Go and of the process that the board does without.
var leftOut = regexp.MustCompile(`^(go|process|promhttp)_`)

// metrics returns what the program measures: what a server says, and beside it what only one with an outside CRM says.
func metrics(t *testing.T, program proc.Binary) map[string]bool {
	t.Helper()
	p := serve(t, program.Command(serveArgs("sqlite:"+filepath.Join(t.TempDir(), "a.db"))...))
	sandbox.Fetch(t, p.base+"/v1") // the metrics of requests begin with the first
	var text string
	eventually(t, "the evidence log has a checkpoint", func() bool {
		text = sandbox.Fetch(t, p.ops+"/metrics").Body
		return strings.Contains(text, "\nprovider_checkout_evidence_checkpoint_age_seconds ")
	})
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`).FindAllStringSubmatch(text, -1) {
		known[m[1]] = true
	}
	registry := prometheus.NewRegistry()
	ops.NewMetrics(registry).ObserveCRMLimit(func() (int, int, bool) { return 1, 1, true })
	descriptions := make(chan *prometheus.Desc)
	go func() {
		registry.Describe(descriptions)
		close(descriptions)
	}()
	for d := range descriptions {
		known[regexp.MustCompile(`fqName: "([^"]*)"`).FindStringSubmatch(d.String())[1]] = true
	}
	if len(known) < 20 {
		t.Fatalf("only %d metrics: %v", len(known), known)
	}
	return known
}

// named returns the metrics that an expression is about.
func named(expression string) (names []string) {
	for _, name := range regexp.MustCompile(`\b(?:provider_checkout|process|go)_[a-z0-9_]+`).FindAllString(expression, -1) {
		for _, part := range []string{"_bucket", "_sum", "_count"} { // of a histogram
			if base, cut := strings.CutSuffix(name, part); cut && !strings.HasSuffix(base, "_total") {
				name = base
			}
		}
		names = append(names, name)
	}
	return names
}

func metricsExist(t *testing.T, program proc.Binary) {
	known := metrics(t, program)
	var rules struct {
		Groups []struct {
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	if _, err := yaml.Unmarshal([]byte(packaged(t, "alerts.yaml")), &rules, yaml.DecodeOpts{}); err != nil {
		t.Fatal(err)
	}
	for _, rule := range rules.Groups[0].Rules {
		names := named(rule.Expr)
		if len(names) == 0 && rule.Alert != "ProviderCheckoutDown" {
			t.Errorf("%s is about no metric: %s", rule.Alert, rule.Expr)
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s asks for %s, which there is not", rule.Alert, name)
			}
		}
		if s := rule.Labels["severity"]; s != "page" && s != "ticket" || rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s does not say how urgent it is, what it is, and what to do", rule.Alert)
		}
	}

	var board struct {
		Panels []struct {
			ID      int    `json:"id"`
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	if err := json.Unmarshal([]byte(packaged(t, "board.json")), &board); err != nil {
		t.Fatal(err)
	}
	shown, ids := map[string]bool{}, map[int]bool{}
	for _, panel := range board.Panels {
		if ids[panel.ID] || panel.Title == "" || len(panel.Targets) == 0 {
			t.Errorf("panel %d, %q, with %d targets", panel.ID, panel.Title, len(panel.Targets))
		}
		ids[panel.ID] = true
		for _, target := range panel.Targets {
			for _, name := range named(target.Expr) {
				shown[name] = true
				if !known[name] {
					t.Errorf("%q asks for %s, which there is not", panel.Title, name)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if !shown[name] && !leftOut.MatchString(name) {
			t.Errorf("no panel shows %s", name)
		}
	}
}

func TestRulesRaiseWhatTheyAreFor(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"check", "rules", "alerts.yaml"}, {"test", "rules", "alerts_test.yaml"}} {
		if said, err := judge(t, "promtool", args...); err != nil {
			t.Errorf("promtool %q: %v\n%s", args, err, said)
		}
	}
}
