package faults

// Wire is a fault in a request to the control path.
type Wire struct {
	Kind        string  `json:"kind"`
	Method      string  `json:"method"`
	Path        string  `json:"path"`
	Object      string  `json:"object"`
	Times       int     `json:"times"`
	Probability float64 `json:"probability"`
	Hang        string  `json:"hang"`
	Conflict    string  `json:"conflict"`
}
