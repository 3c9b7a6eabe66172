package column

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// particularsWire is what stands of an agreement in its column of particulars. A field that is added
// is left alone by the program of the version before it, which reads and never writes over it.
type particularsWire struct {
	Colour string      `json:"colour,omitempty"`
	Lender lenderWire  `json:"lender,omitzero"`
	Terms  []blockWire `json:"terms,omitempty"`
}

type lenderWire struct {
	Name         string `json:"name"`
	Address      string `json:"address"`
	Registration string `json:"registration,omitempty"`
}

type blockWire struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// ParticularsText writes what an agreement holds beside its figures as JSON; nothing is empty.
func ParticularsText(a agreement.Agreement) (string, error) {
	if a.Provider.Colour == "" && a.Terms.IsZero() {
		return "", nil
	}
	w := particularsWire{Colour: a.Provider.Colour, Lender: lenderWire(a.Terms.Lender)}
	for _, b := range a.Terms.Blocks {
		w.Terms = append(w.Terms, blockWire(b))
	}
	text, err := json.Marshal(w)
	return string(text), err
}

// Particulars reads what ParticularsText wrote.
func Particulars(into *agreement.Agreement) sql.Scanner {
	return scanner(func(v any) error {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%T is no text of particulars", v)
		}
		into.Provider.Colour, into.Terms = "", agreement.Terms{}
		if text == "" {
			return nil
		}
		var w particularsWire
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			return fmt.Errorf("particulars: %w", err)
		}
		into.Provider.Colour, into.Terms.Lender = w.Colour, agreement.Lender(w.Lender)
		for _, b := range w.Terms {
			into.Terms.Blocks = append(into.Terms.Blocks, agreement.Block(b))
		}
		return nil
	})
}
