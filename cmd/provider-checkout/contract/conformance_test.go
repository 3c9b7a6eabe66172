package contract_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/conformance"
)

// The conformance run passes on every store, processor and CRM, with a catalogue and without one.
func TestConformancePasses(t *testing.T) {
	_, signed := sealing(t, 1)
	contract(t, func(t *testing.T, s *suite) {
		for provider, course := range map[string]string{"KOWHAI": "NZDIP", "TUI": ""} {
			report, err := conformance.Run(t.Context(), conformance.Config{BaseURL: s.URL, Key: s.Keys[provider], Provider: provider, Course: course,
				Transport: &playing{s: s, t: t}, Patience: 10 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if err := report.Write(t.Output()); err != nil {
				t.Error(err)
			}
			if failed, skipped := report.Count(conformance.Failed), report.Count(conformance.Skipped); failed > 0 || skipped > 0 {
				t.Errorf("%s: %d checks failed, and %d were skipped", provider, failed, skipped)
			}
		}
	}, signed)
}

// playing has a payer set up the checkouts for which a scenario is asked.
type playing struct {
	s     *suite
	t     *testing.T
	mu    sync.Mutex
	links map[string]response
}

func (p *playing) RoundTrip(req *http.Request) (*http.Response, error) {
	id, scenario := strings.CutPrefix(req.URL.Path, "/sandbox/v1/checkouts/")
	if scenario {
		p.s.SetUp(p.t, p.links[strings.TrimSuffix(id, "/scenarios")])
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusCreated {
		return resp, err
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	created := response{}
	if err := json.Unmarshal(text, &created.JSON); err != nil {
		return nil, err
	}
	if p.links == nil {
		p.links = map[string]response{}
	}
	p.links[created.String("checkout.checkout_id")] = created
	resp.Body = io.NopCloser(strings.NewReader(string(text)))
	return resp, nil
}
