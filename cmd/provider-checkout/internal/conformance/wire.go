package conformance

import "time"

// Report is the outcome of a run. It is written as it is as JSON.
type Report struct {
	BaseURL     string    `json:"base_url"`
	Environment string    `json:"environment"`
	Provider    string    `json:"provider_code"`
	At          time.Time `json:"at"`
	Passed      int       `json:"passed"`
	Failed      int       `json:"failed"`
	Skipped     int       `json:"skipped"`
	Checks      []Result  `json:"checks"`
}

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Result is a check with its outcome.
type Result struct {
	Section  string  `json:"section"`
	Sentence string  `json:"sentence"`
	Status   Status  `json:"status"`
	Reason   string  `json:"reason,omitempty"` // of a check that was skipped
	Seconds  float64 `json:"seconds"`
	Faults   []Fault `json:"faults,omitempty"` // of a check that failed
}

// Fault is an answer that breaks the sentence of a check. Secrets are masked in it.
type Fault struct {
	Want    string `json:"want"`
	Request string `json:"request"`
	Answer  string `json:"answer"`
}
