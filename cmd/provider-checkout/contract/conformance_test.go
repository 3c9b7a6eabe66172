package contract_test

import (
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/conformance"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/events"
)

// directed returns the address of a server beside the suite's own, on the same store, which has the sandbox's scenarios.
func (s *suite) directed(t *testing.T) string {
	t.Helper()
	cfg, o := s.Config, s.Options
	director := scenario.Direct(&cfg, s.Store)
	svc, err := service.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	director.Serve(svc, &o)
	server := httptest.NewServer(site.Handler(svc, s.Mounted, o))
	t.Cleanup(server.Close)
	return server.URL
}

// conform runs the conformance against a server of the suite, and returns the report, in which no check has failed.
func (s *suite) conform(t *testing.T, url, provider, course string) conformance.Report {
	t.Helper()
	report, err := conformance.Run(t.Context(), conformance.Config{BaseURL: url, Key: s.Keys[provider], Provider: provider, Course: course})
	if err != nil {
		t.Fatal(err)
	}
	if report.Failed > 0 {
		if err := report.Write(t.Output()); err != nil {
			t.Error(err)
		}
		t.Errorf("%s: a check failed", provider)
	}
	return report
}

// courses has a course of each provider, "" for the provider without a catalogue.
var courses = map[string]string{"KOWHAI": "NZDIP", "TUI": ""}

// Of every store, processor and CRM the conformance run holds, with a catalogue and without it.
func TestConformance(t *testing.T) {
	_, signed := sealing(t, 1)
	contract(t, func(t *testing.T, s *suite) {
		url := s.directed(t)
		for provider, course := range courses {
			if report := s.conform(t, url, provider, course); report.Skipped > 0 {
				t.Errorf("%s: a check was skipped: %+v", provider, report.Checks)
			}
		}
	}, signed)
}

// A deployment without scenarios is tested without a payer.
func TestConformanceSkipsWhatNeedsAPayer(t *testing.T) {
	s := newSuite(t, memory.New())
	report := s.conform(t, s.URL, "KOWHAI", "NZDIP")
	for _, r := range report.Checks {
		if r.Status == conformance.Skipped && !strings.Contains(r.Reason, "this deployment has no scenarios") {
			t.Errorf("%s is skipped: %s", r.Sentence, r.Reason)
		}
	}
	if skipped := report.Skipped; skipped < 8 || skipped > 12 {
		t.Errorf("%d checks are skipped", skipped)
	}
}

// An event that the operator does not list for a provider does not exist: that is no fault, if the run is told which are listed.
func TestConformanceSkipsEventsThatAreNotListed(t *testing.T) {
	s := newSuite(t, memory.New())
	s.Configure(t, strings.ReplaceAll(providers, `"signing_secret"`, `"events": ["checkout.confirmed"], "signing_secret"`))
	server := s.directed(t)
	for status, listed := range map[conformance.Status][]events.Name{conformance.Failed: nil, conformance.Skipped: {events.CheckoutConfirmed}} {
		report, err := conformance.Run(t.Context(), conformance.Config{BaseURL: server, Key: s.Keys["KOWHAI"], Provider: "KOWHAI",
			Course: "NZDIP", Events: listed})
		if err != nil {
			t.Fatal(err)
		}
		var without []string
		for _, r := range report.Checks {
			if name, _, _ := strings.Cut(r.Sentence, ":"); r.Section == "6" && r.Status == status {
				without = append(without, name)
			}
		}
		if !slices.Equal(without, []string{"checkout.created", "agreement.generated"}) {
			t.Errorf("with --events %q, %s is %q: %+v", listed, status, without, report.Checks)
		}
	}
}

// In production nothing is left behind, and no create is sent that could leave anything.
func TestConformanceLeavesNothingBehindInProduction(t *testing.T) {
	s := newSuite(t, memory.New(), func(c *service.Config, _ *httpapi.Options) {
		c.Environment, c.BaseURL, c.Processor = catalogue.Production, "https://pay.example", movesMoney{c.Processor}
	})
	withoutWebhook := regexp.MustCompile(`,\s*"webhook": \{[^}]*\}`).ReplaceAllString(providers, "")
	s.Configure(t, strings.ReplaceAll(withoutWebhook, `"environment": "sandbox"`, `"environment": "production"`))
	for provider, course := range courses {
		s.Keys[provider] = sandbox.IssueKey(t, s.Store, provider, catalogue.Production)
		report := s.conform(t, s.URL, provider, course)
		if passed, skipped := report.Passed, report.Skipped; passed < 15 || skipped < 30 {
			t.Errorf("%d checks passed, and %d were skipped", passed, skipped)
		}
	}
	nothingStored(t, s)
}
