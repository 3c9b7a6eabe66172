package rehearsal

// Report has the outcome of each situation, once for each of its checkouts, as JSON has it too.
type Report struct {
	Situations []Outcome `json:"situations"`
}

// Outcome is the outcome of a checkout in a situation, or of a situation without a checkout.
type Outcome struct {
	Situation string  `json:"situation"`
	About     string  `json:"about"`
	State     state   `json:"state"` // waiting, running, passed, failed or skipped
	Order     string  `json:"provider_order_id,omitempty"`
	Checkout  string  `json:"checkout_id,omitempty"`
	Seconds   float64 `json:"seconds,omitempty"` // from the first call until it had ended
	Faults    []Fault `json:"faults,omitempty"`
}

// Fault is something that an integration got wrong.
type Fault struct {
	Rule    string `json:"rule"`                 // its name
	Wrong   string `json:"wrong"`                // in words
	Says    string `json:"says"`                 // the sentence of the documentation
	Page    string `json:"page"`                 // the address of that sentence
	Request string `json:"request_id,omitempty"` // X-Request-Id of the answer before
	Times   int    `json:"times"`
}
