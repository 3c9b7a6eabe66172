package golive

import (
	"time"

	"github.com/provider-checkout/provider-checkout/events"
)

// requestWire is a request in the answer.
type requestWire struct {
	RequestID string `json:"request_id"`
	At        string `json:"at"`
	Method    string `json:"method"`
	Path      string `json:"path"`
	Status    int    `json:"status"`
	Code      string `json:"error_code,omitempty"`
	Note      string `json:"note,omitempty"`
}

type requestsWire struct {
	Success  bool          `json:"success"`
	Requests []requestWire `json:"requests"`
	Next     string        `json:"next"`
}

func (c call) toWire(note string) requestWire {
	return requestWire{c.RequestID, events.Timestamp(c.At), c.Method, c.Path, c.Status, c.Code, note}
}

// call is a request of a provider that was answered, as the store has it.
type call struct {
	RequestID string        `json:"request_id"`
	At        time.Time     `json:"at"` // of the answer
	Method    string        `json:"method"`
	Route     string        `json:"route"` // with {names} for its variables
	Path      string        `json:"path"`
	Status    int           `json:"status"` // 0: the answer was lost
	Code      string        `json:"code,omitempty"`
	Checkout  string        `json:"checkout,omitempty"` // that it was about
	NextPoll  time.Duration `json:"next_poll,omitempty"`
	Complete  bool          `json:"setup_complete,omitempty"`
	Shown     string        `json:"checkout_status,omitempty"`
	Ours      bool          `json:"ours,omitempty"` // this program sent it, and no integration
}

// Proof says when a step was done, and in which request.
type Proof struct {
	At        time.Time `json:"at"`
	RequestID string    `json:"request_id,omitempty"` // "" where no request did it
}

type stepWire struct {
	Step      string `json:"step"`
	Done      bool   `json:"done"`
	At        string `json:"at,omitempty"`
	RequestID string `json:"request_id,omitempty"`
	Help      string `json:"help"`
	Missing   string `json:"missing,omitempty"`
}

type checkWire struct {
	Success bool       `json:"success"`
	Ready   bool       `json:"ready"`
	Steps   []stepWire `json:"steps"`
}

// Answer returns the check as the body of the answer to a provider.
func (c Check) Answer() any {
	w := checkWire{Success: true, Ready: c.Ready()}
	for _, s := range c.Steps {
		step := stepWire{Step: s.Name, Done: s.Done(), Help: s.Help}
		if s.Done() {
			step.At, step.RequestID = events.Timestamp(s.At), s.RequestID
		} else {
			step.Missing = s.Todo()
		}
		w.Steps = append(w.Steps, step)
	}
	return w
}
