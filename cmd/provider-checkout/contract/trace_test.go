package contract_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const (
	traceOfCreate  = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	traceOfConfirm = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"
)

// passesOn reports whether a delivery has the trace of a call, as a span of its own.
func passesOn(call string, d delivery) bool {
	got := d.Header.Get("Traceparent")
	return len(got) == len(call) && got[:36] == call[:36] && got[52:] == call[52:] && got[36:52] != call[36:52]
}

// traced takes an order from create to confirm, each call with a trace of its own, and with a poll between that has another.
func (s *suite) traced(t *testing.T, id string) {
	t.Helper()
	created := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, id), "Traceparent", traceOfCreate)
	s.SetUp(t, created)
	if r := s.Send(t, http.MethodGet, created.CheckoutPath(), "", "Authorization", "Bearer "+s.Keys["KOWHAI"],
		"Traceparent", strings.Replace(traceOfCreate, "4bf9", "5555", 1)); r.Status != http.StatusOK {
		t.Fatalf("poll: %d %s", r.Status, r.Body)
	}
	confirmed := s.Post(t, "KOWHAI", created.CheckoutPath()+"/confirm", created.ConfirmBody(), "Traceparent", traceOfConfirm)
	if created.Status != http.StatusCreated || confirmed.Status != http.StatusOK {
		t.Fatalf("create %d, confirm %d %s", created.Status, confirmed.Status, confirmed.Body)
	}
}

func (s *suite) wantTraces(t *testing.T, calls ...string) {
	t.Helper()
	got, seen := s.Receiver.Deliveries(), map[string]bool{}
	if len(got) != len(calls) {
		t.Fatalf("%d deliveries, want %d", len(got), len(calls))
	}
	for i, d := range got {
		parent := d.Header.Get("Traceparent")
		if !passesOn(calls[i], d) || seen[parent] {
			t.Errorf("%s has the trace %q, want that of %q with a parent of its own", d.JSON.Text("event"), parent, calls[i])
		}
		seen[parent] = true
	}
}

func TestTheTraceOfACallIsPassedOnToItsEvents(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		s.traced(t, "ORDER-1")
		s.wantTraces(t, traceOfCreate, traceOfConfirm, traceOfConfirm)
		if log := s.Log.String(); !strings.Contains(log, traceOfConfirm[3:35]) || strings.Contains(log, traceOfConfirm[36:52]) {
			t.Errorf("the log has not the trace id alone:\n%s", log)
		}
	})
}

func TestTheTraceOfACallOutlivesACrash(t *testing.T) {
	contractWith(t, crashes, func(t *testing.T, s *suite, store *faulty) {
		store.fail(beforeSend)
		s.traced(t, "ORDER-1")
		s.Clock.Forward(time.Minute)
		s.restart(t, 3)
		s.wantTraces(t, traceOfCreate, traceOfConfirm, traceOfConfirm)
	})
}

func TestAnEventOfACallWithoutATraceHasNone(t *testing.T) {
	contract(t, func(t *testing.T, s *suite) {
		for i, sent := range []string{
			"", strings.ToUpper(traceOfCreate), "01" + traceOfCreate[2:], "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		} {
			r := s.Post(t, "KOWHAI", createPath, order(catalogueCreate, "ORDER-"+string(rune('1'+i))), "Traceparent", sent)
			if r.Status != http.StatusCreated {
				t.Fatalf("traceparent %q is answered %d %s", sent, r.Status, r.Body)
			}
		}
		for _, d := range s.Receiver.Deliveries() {
			if got, present := d.Header["Traceparent"]; present {
				t.Errorf("a delivery has the trace %q", got)
			}
		}
		if strings.Contains(s.Log.String(), "trace_id") {
			t.Errorf("the log has a trace:\n%s", s.Log.String())
		}
	})
}
