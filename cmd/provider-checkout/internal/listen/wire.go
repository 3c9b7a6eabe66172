package listen

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// entryWire is an event of the list, and of a kept place.
type entryWire struct {
	Cursor string `json:"cursor"`
	Body   string `json:"body"`
}

// pageWire is a page of the list.
type pageWire struct {
	Events []entryWire `json:"events"`
	Next   string      `json:"next"`
}

// placeWire is a kept place.
type placeWire struct {
	BaseURL string      `json:"base_url"`
	Secret  string      `json:"signing_secret,omitempty"`
	Next    string      `json:"next"`
	Waiting []entryWire `json:"waiting,omitempty"`
}

// toEntries verifies events, and reads the cursor behind them.
func toEntries(wire []entryWire, next string) (entries []Entry, behind checkout.Cursor, err error) {
	behind, ok := checkout.ParseCursor(next)
	if !ok {
		return nil, 0, fmt.Errorf("%q is no cursor", next)
	}
	for _, w := range wire {
		c, ok := checkout.ParseCursor(w.Cursor)
		e, err := events.Read([]byte(w.Body))
		if err == nil && !ok {
			err = errors.New("that is no cursor")
		}
		if err != nil {
			return nil, 0, fmt.Errorf("the event with the cursor %q: %w", w.Cursor, err)
		}
		entries = append(entries, Entry{c, e})
	}
	return entries, behind, nil
}

// parsePlace reads a kept place.
func parsePlace(text []byte) (p Place, err error) {
	var w placeWire
	if err := json.Unmarshal(text, &w); err != nil {
		return p, err
	}
	p.BaseURL, p.Secret = w.BaseURL, w.Secret
	p.Waiting, p.Next, err = toEntries(w.Waiting, w.Next)
	return p, err
}

// encode returns the text of a place, as parsePlace reads it.
func (p Place) encode() ([]byte, error) {
	w := placeWire{BaseURL: p.BaseURL, Secret: p.Secret, Next: p.Next.String()}
	for _, e := range p.Waiting {
		w.Waiting = append(w.Waiting, entryWire{e.Cursor.String(), string(e.Event.Body)})
	}
	text, err := json.Marshal(w)
	return append(text, '\n'), err
}
