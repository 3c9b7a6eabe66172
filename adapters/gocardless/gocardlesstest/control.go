package gocardlesstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"time"
)

// The control path moves everything that the methods of Simulator move. Bodies and answers are JSON; a mistake is 400 or
// 404 with {"error":"…"}. It asks for no secret, so it belongs on a listener that only its owner reaches.
//
//	GET    /simulator/clock                              {"now":"2027-02-01T00:00:00.000Z"}
//	POST   /simulator/clock                              {"advance":"1m30s"}
//	GET    /simulator/statistics
//	POST   /simulator/faults                             {"kind":"timeout_after","method":"POST","path":"/billing_requests","times":1}
//	DELETE /simulator/faults
//	POST   /simulator/webhooks                           {"url":"…","secret":"…"}
//	POST   /simulator/webhooks/faults                    {"drop":0.1,"duplicate":0.1,"late":0.1,"shuffle":true,"delay":"1s"}
//	POST   /simulator/mandates/{id}                      {"status":"failed","reason_code":"DISHONOUR-AC04"}
//	GET    /simulator/mandates/{id}                      what the bank gets of it
//	POST   /simulator/billing_requests/{id}/cancel       also /fulfil and /block
//	POST   /simulator/flows/{id}/complete                {"given_name":"Ana",…,"account_number":"01-0902-0068389-00"}
//	POST   /simulator/creditors/{id}                     {"scheme_status":"pending","minimum_advance_notice":10}
func (s *Simulator) serveControl(w http.ResponseWriter, r *http.Request) {
	status, body := http.StatusOK, any(struct{}{})
	handle, id := s.controlRoute(r)
	if handle == nil {
		status, body = http.StatusNotFound, controlErrorWire{"there is no " + r.Method + " " + r.URL.Path}
	} else if answer, err := handle(r, id); err != nil {
		status, body = http.StatusBadRequest, controlErrorWire{err.Error()}
	} else if answer != nil {
		body = answer
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(encode(body)) // a client that went away is no fault
}

// control carries out one request of the control path; nil as the answer is an empty object.
type control func(r *http.Request, id string) (answer any, err error)

func (s *Simulator) controlRoute(r *http.Request) (control, string) {
	for pattern, handle := range map[string]control{
		"GET clock":                         s.controlTime,
		"POST clock":                        s.controlClock,
		"GET statistics":                    s.controlStatistics,
		"POST faults":                       s.controlFaults,
		"DELETE faults":                     s.controlDisarm,
		"POST webhooks":                     s.controlWebhook,
		"POST webhooks/faults":              s.controlWebhookFaults,
		"POST mandates/{id}":                s.controlMandate,
		"GET mandates/{id}":                 s.controlSubmission,
		"POST billing_requests/{id}/cancel": named(s.CancelRequest),
		"POST billing_requests/{id}/fulfil": named(s.FulfilRequest),
		"POST billing_requests/{id}/block":  named(s.BlockPayer),
		"POST flows/{id}/complete":          s.controlComplete,
		"POST creditors/{id}":               s.controlCreditor,
	} {
		if id, ok := matchPath(pattern, r.Method+" "+r.URL.Path[len(controlPath):]); ok {
			return handle, id
		}
	}
	return nil, ""
}

// named is a control without a body.
func named(do func(id string) error) control {
	return func(_ *http.Request, id string) (any, error) { return nil, do(id) }
}

// readControl reads the body of a request of the control path. That it must be JSON keeps out the forms of other pages.
func readControl(r *http.Request, into any) error {
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return errors.New("Content-Type must be application/json")
	}
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("read the body: %w", err)
	}
	return nil
}

func (s *Simulator) controlTime(*http.Request, string) (any, error) {
	return clockWire{Now: stamp(s.Now())}, nil
}

func (s *Simulator) controlClock(r *http.Request, id string) (any, error) {
	var w clockMoveWire
	if err := readControl(r, &w); err != nil {
		return nil, err
	}
	by, err := time.ParseDuration(w.Advance)
	if err != nil || by < 0 {
		return nil, errors.New("advance must be a duration, such as 1m30s")
	}
	s.Advance(by)
	return s.controlTime(r, id)
}

func (s *Simulator) controlStatistics(*http.Request, string) (any, error) {
	return s.Statistics().toWire(), nil
}

func (s *Simulator) controlFaults(r *http.Request, _ string) (any, error) {
	var w armWire
	if err := readControl(r, &w); err != nil {
		return nil, err
	}
	f, err := w.toFault()
	if err != nil {
		return nil, err
	}
	s.Arm(f)
	return nil, nil
}

func (w armWire) toFault() (Fault, error) {
	hang, err := duration(w.Hang)
	_, badPath := path.Match(w.Path, "")
	switch {
	case !slices.Contains(FaultKinds(), FaultKind(w.Kind)):
		return Fault{}, fmt.Errorf("kind must be one of %v", FaultKinds())
	case err != nil:
		return Fault{}, fmt.Errorf("hang: %w", err)
	case badPath != nil:
		return Fault{}, fmt.Errorf("path: %w", badPath)
	}
	return Fault{Kind: FaultKind(w.Kind), Method: w.Method, Path: w.Path, Times: w.Times, Probability: w.Probability,
		Hang: hang, Conflict: w.Conflict}, nil
}

// duration reads a duration, which may be left out.
func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	return time.ParseDuration(text)
}

func (s *Simulator) controlDisarm(*http.Request, string) (any, error) {
	s.Disarm()
	return nil, nil
}

func (s *Simulator) controlWebhook(r *http.Request, _ string) (any, error) {
	var w endpointWire
	if err := readControl(r, &w); err != nil {
		return nil, err
	}
	s.SetWebhook(w.URL, w.Secret)
	return nil, nil
}

func (s *Simulator) controlWebhookFaults(r *http.Request, _ string) (any, error) {
	var w webhookFaultsWire
	if err := readControl(r, &w); err != nil {
		return nil, err
	}
	delay, err := duration(w.Delay)
	if err != nil {
		return nil, fmt.Errorf("delay: %w", err)
	}
	s.SetWebhookFaults(WebhookFaults{w.Drop, w.Duplicate, w.Late, w.Shuffle, delay})
	return nil, nil
}

func (s *Simulator) controlMandate(r *http.Request, id string) (any, error) {
	var w mandateMoveWire
	if err := readControl(r, &w); err != nil {
		return nil, err
	}
	return nil, s.MoveMandate(id, w.Status, w.ReasonCode)
}

func (s *Simulator) controlSubmission(_ *http.Request, id string) (a any, err error) {
	err = errors.New("there is no mandate " + id)
	s.do(func(state *state, _ time.Time) {
		if m, ok := state.mandates[id]; ok {
			a, err = submissionWire{m.id, m.status, m.request, m.submission}, nil
		}
	})
	return a, err
}

func (s *Simulator) controlComplete(r *http.Request, id string) (any, error) {
	var w payerWire
	if err := readControl(r, &w); err != nil {
		return nil, err
	}
	to, err := s.Complete(id, Payer(w))
	return redirectWire{to}, err
}

func (s *Simulator) controlCreditor(r *http.Request, id string) (any, error) {
	var w schemeMoveWire
	if err := readControl(r, &w); err != nil {
		return nil, err
	}
	return nil, s.SetSchemeStatus(id, w.Status, w.Notice)
}
