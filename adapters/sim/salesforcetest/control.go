package salesforcetest

import (
	"errors"
	"net/http"

	"github.com/provider-checkout/provider-checkout/adapters/sim/control"
	"github.com/provider-checkout/provider-checkout/adapters/sim/faults"
)

// The control path (see package control) moves everything that the methods of Simulator move, as the package's documentation
// says.
func newControl(s *Simulator) http.Handler {
	return control.New(controlPath, map[string]control.Handle{
		"GET clock":      control.Time(s),
		"POST clock":     control.Advance(s),
		"GET statistics": func(*http.Request, string) (any, error) { return s.Statistics(), nil },
		"GET journal":    func(*http.Request, string) (any, error) { return journalWire{s.Journal()}, nil },
		"POST faults":    control.Arm(toFault, s.Arm),
		"DELETE faults":  control.Do(func(string) error { s.Disarm(); return nil }),
		"DELETE tokens":  control.Do(func(string) error { s.ExpireTokens(); return nil }),
	})
}

func toFault(w faults.Wire) (Fault, error) {
	if w.Conflict != "" {
		return Fault{}, errors.New("unknown field conflict")
	}
	return faults.FromWire(w, FaultKinds())
}
