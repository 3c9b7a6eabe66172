package golive

import (
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/events"
)

// ReportKind is the first line of a report, under which the evidence key signs it.
const ReportKind = "provider-checkout go-live report v1"

// Report returns the check as lines of text, signed: the provider, the time, whether it is ready, and each step with its proof.
func (c Check) Report(keys evidence.Keys) ([]byte, error) {
	ready := "no"
	if c.Ready() {
		ready = "yes"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "provider %s\nenvironment sandbox\nchecked %s\nready %s\n", c.Provider, events.Timestamp(c.At), ready)
	for _, s := range c.Steps {
		if s.Done() {
			fmt.Fprintln(&text, strings.TrimSpace(fmt.Sprintf("done %s %s %s", s.Name, events.Timestamp(s.At), s.RequestID)))
		} else {
			fmt.Fprintln(&text, "missing", s.Name)
		}
	}
	return keys.SignStatement(ReportKind, text.String())
}
