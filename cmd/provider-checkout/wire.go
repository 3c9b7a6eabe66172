package main

import "time"

// trailLine is an entry as evidence list prints it.
type trailLine struct {
	at time.Time

	Position   *int64   `json:"position,omitempty"` // none until it is sealed
	EntryID    string   `json:"entry_id"`
	RecordedAt string   `json:"recorded_at"`
	Kind       string   `json:"kind"` // "unknown" if this version cannot read it
	Forged     bool     `json:"forged,omitempty"`
	Agreement  string   `json:"agreement_number,omitempty"`
	Operator   string   `json:"operator,omitempty"`
	Operation  string   `json:"operation,omitempty"`
	Subject    string   `json:"subject,omitempty"`
	Reason     string   `json:"reason,omitempty"`
	Changes    []string `json:"changes,omitempty"`
}
