package listen

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/events"
)

// entry is an event of the list, with its place there.
type entry struct {
	Cursor string       `json:"cursor"`
	Body   string       `json:"body"`
	event  events.Event // of the body
}

// page is a page of the list.
type page struct {
	Events []entry `json:"events"`
	Next   string  `json:"next"`
}

// place is the place of a listener in a provider's list of events, as the file keeps it.
type place struct {
	BaseURL  string  `json:"base_url"`
	Provider string  `json:"provider_code,omitempty"`  // of the events, once there was one
	Secret   string  `json:"signing_secret,omitempty"` // that the listener made
	Next     string  `json:"next"`                     // every event up to it was taken or left out, or waits
	Waiting  []entry `json:"waiting,omitempty"`        // refused events and the later events of their checkouts, in their order
}

// UnmarshalJSON reads an entry, and verifies its event: the id of an event follows from its body.
func (e *entry) UnmarshalJSON(text []byte) error {
	type wire entry
	err := json.Unmarshal(text, (*wire)(e))
	if err == nil && e.Cursor == "" {
		err = errors.New("that is no cursor")
	}
	if err == nil {
		e.event, err = events.Read([]byte(e.Body))
	}
	if err != nil {
		return fmt.Errorf("the event with the cursor %q: %w", e.Cursor, err)
	}
	return nil
}
