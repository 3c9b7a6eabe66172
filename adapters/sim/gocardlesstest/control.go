package gocardlesstest

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/control"
	"github.com/provider-checkout/provider-checkout/adapters/sim/faults"
)

// newControl returns the handler of the control path, which moves everything that the methods of Simulator move; its
// paths are in the documentation of the package.
func newControl(s *Simulator) http.Handler {
	return control.New(controlPath, map[string]control.Handle{
		"GET clock":                         control.Time(s),
		"POST clock":                        control.Advance(s),
		"GET statistics":                    func(*http.Request, string) (any, error) { return s.Statistics(), nil },
		"POST faults":                       control.Arm(toFault, s.Arm),
		"DELETE faults":                     control.Do(func(string) error { s.Disarm(); return nil }),
		"POST webhooks":                     s.controlWebhook,
		"POST webhooks/faults":              s.controlWebhookFaults,
		"POST mandates/{id}":                s.controlMandate,
		"GET mandates/{id}":                 s.controlSubmission,
		"POST billing_requests/{id}/cancel": control.Do(s.CancelRequest),
		"POST billing_requests/{id}/fulfil": control.Do(s.FulfilRequest),
		"POST billing_requests/{id}/block":  control.Do(s.BlockPayer),
		"POST flows/{id}/complete":          s.controlComplete,
		"POST creditors/{id}":               s.controlCreditor,
	})
}

func (s *Simulator) controlWebhook(r *http.Request, _ string) (any, error) {
	var w endpointWire
	if err := control.Read(r, &w); err != nil {
		return nil, err
	}
	s.SetWebhook(w.URL, w.Secret)
	return nil, nil
}

func (s *Simulator) controlWebhookFaults(r *http.Request, _ string) (any, error) {
	var w webhookFaultsWire
	if err := control.Read(r, &w); err != nil {
		return nil, err
	}
	delay, err := time.ParseDuration(cmp.Or(w.Delay, "0s"))
	if err != nil {
		return nil, fmt.Errorf("delay: %w", err)
	}
	s.SetWebhookFaults(WebhookFaults{w.Drop, w.Duplicate, w.Late, w.Shuffle, delay})
	return nil, nil
}

func (s *Simulator) controlMandate(r *http.Request, id string) (any, error) {
	var w mandateMoveWire
	if err := control.Read(r, &w); err != nil {
		return nil, err
	}
	return nil, s.MoveMandate(id, w.Status, w.ReasonCode)
}

func (s *Simulator) controlSubmission(_ *http.Request, id string) (a any, err error) {
	err = errors.New("there is no mandate " + id)
	s.do(func(state *state, _ time.Time) {
		if m, ok := state.mandates[id]; ok {
			a, err = object{"id": m.id, "status": m.status, "billing_request": m.request, "submitted_name": m.submission}, nil
		}
	})
	return a, err
}

func (s *Simulator) controlComplete(r *http.Request, id string) (any, error) {
	var w payerWire
	if err := control.Read(r, &w); err != nil {
		return nil, err
	}
	to, err := s.Complete(id, Payer(w))
	return object{"redirect_uri": to}, err
}

func (s *Simulator) controlCreditor(r *http.Request, id string) (any, error) {
	var w schemeMoveWire
	if err := control.Read(r, &w); err != nil {
		return nil, err
	}
	return nil, s.SetSchemeStatus(id, w.Status, w.Notice)
}

func toFault(w faults.Wire) (Fault, error) {
	if w.Object != "" {
		return Fault{}, errors.New("unknown field object")
	}
	return faults.FromWire(w, FaultKinds())
}
