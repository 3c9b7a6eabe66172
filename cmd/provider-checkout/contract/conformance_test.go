package contract_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/conformance"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
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

// Of every store, processor and CRM the conformance run holds, with a catalogue and without it.
func TestConformance(t *testing.T) {
	_, signed := sealing(t, 1)
	contract(t, func(t *testing.T, s *suite) {
		url := s.directed(t)
		for provider, course := range map[string]string{"KOWHAI": "NZDIP", "TUI": ""} {
			report, err := conformance.Run(t.Context(), conformance.Config{BaseURL: url, Key: s.Keys[provider], Provider: provider, Course: course,
				Transport: http.DefaultTransport, Patience: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if failed, skipped := report.Count(conformance.Failed), report.Count(conformance.Skipped); failed > 0 || skipped > 0 {
				t.Errorf("%s: %d checks failed, and %d were skipped", provider, failed, skipped)
				if err := report.Write(t.Output()); err != nil {
					t.Error(err)
				}
			}
		}
	}, signed)
}
