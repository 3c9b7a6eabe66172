package scenario

import (
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
)

// entry is an entry of a script.
type entry struct {
	Scenario Scenario  `json:"scenario"`
	Reason   string    `json:"reason_code,omitempty"` // of the mandate's status
	Try      int       `json:"try,omitempty"`         // of the bank setup; 0 for an entry that is not about it
	At       time.Time `json:"at"`                    // by the clock of the checkout

	// Advance is the time by which a clock is moved.
	Advance time.Duration `json:"advance,omitempty"`
	Nonce   string        `json:"nonce"`

	name string // of its record
}

// answerWire is the answer to a scenario, or to a move of the clock.
type answerWire struct {
	httpapi.Get
	Scenario string `json:"scenario,omitempty"`
	Clock    string `json:"clock,omitempty"`
}
