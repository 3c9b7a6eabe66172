package golive

import (
	"encoding/json"
	"errors"
	"fmt"
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

func toCheckWire(c Check) checkWire {
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

// ParseCheck reads the answer to a check.
func ParseCheck(data []byte) (c Check, err error) {
	var w checkWire
	if err := json.Unmarshal(data, &w); err != nil {
		return c, fmt.Errorf("read the steps: %w", err)
	}
	if len(w.Steps) == 0 {
		return c, errors.New("the answer has no steps")
	}
	for _, step := range w.Steps {
		s := Step{Name: step.Step, Words: step.Missing, Help: step.Help, Proof: Proof{RequestID: step.RequestID}}
		if step.Done {
			if s.At, err = time.Parse(time.RFC3339, step.At); err != nil {
				return c, fmt.Errorf("read step %s: %w", s.Name, err)
			}
		}
		c.Steps = append(c.Steps, s)
	}
	return c, nil
}
