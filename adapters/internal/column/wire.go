package column

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// particularsWire is what stands of an agreement in its column of particulars. A field that is added
// is left alone by the program of the version before it, which reads and never writes over it.
type particularsWire struct {
	Sandbox bool        `json:"sandbox,omitempty"`
	Colour  string      `json:"colour,omitempty"`
	Lender  lenderWire  `json:"lender,omitzero"`
	Terms   []blockWire `json:"terms,omitempty"`
	Consent consentWire `json:"consent,omitzero"`
}

// consentWire is a consent, in the column of a checkout and among the particulars of an agreement.
type consentWire struct {
	At         int64  `json:"at_ms"`
	From       string `json:"from,omitempty"`
	Version    string `json:"terms_version,omitempty"`
	NoticeDays int    `json:"notice_days,omitempty"`
}

func wireConsent(c agreement.Consent) consentWire {
	if c.IsZero() {
		return consentWire{}
	}
	return consentWire{c.At.UnixMilli(), c.From, c.Terms.Version, c.Terms.NoticeDays}
}

func (w consentWire) toDomain() agreement.Consent {
	if w == (consentWire{}) {
		return agreement.Consent{}
	}
	return agreement.Consent{At: time.UnixMilli(w.At).UTC(), From: w.From,
		Terms: agreement.DebitTerms{Version: w.Version, NoticeDays: w.NoticeDays}}
}

// ConsentText writes a consent as JSON; none is empty.
func ConsentText(c agreement.Consent) string {
	if c.IsZero() {
		return ""
	}
	text, _ := json.Marshal(wireConsent(c)) // texts and numbers cannot fail
	return string(text)
}

// Consent reads what ConsentText wrote.
func Consent(into *agreement.Consent) sql.Scanner {
	return scanner(func(v any) error {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%T is no text of a consent", v)
		}
		var w consentWire
		if text != "" {
			if err := json.Unmarshal([]byte(text), &w); err != nil {
				return fmt.Errorf("consent: %w", err)
			}
		}
		*into = w.toDomain()
		return nil
	})
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
	w := particularsWire{Sandbox: a.Sandbox, Colour: a.Provider.Colour, Lender: lenderWire(a.Terms.Lender),
		Consent: wireConsent(a.DirectDebit.Consent)}
	for _, b := range a.Terms.Blocks {
		w.Terms = append(w.Terms, blockWire(b))
	}
	text, err := json.Marshal(w)
	if string(text) == "{}" {
		return "", nil
	}
	return string(text), err
}

// Particulars reads what ParticularsText wrote.
func Particulars(into *agreement.Agreement) sql.Scanner {
	return scanner(func(v any) error {
		text, ok := v.(string)
		if !ok {
			return fmt.Errorf("%T is no text of particulars", v)
		}
		var w particularsWire
		if text != "" {
			if err := json.Unmarshal([]byte(text), &w); err != nil {
				return fmt.Errorf("particulars: %w", err)
			}
		}
		into.Sandbox, into.Provider.Colour = w.Sandbox, w.Colour
		into.Terms = agreement.Terms{Lender: agreement.Lender(w.Lender)}
		into.DirectDebit.Consent = w.Consent.toDomain()
		for _, b := range w.Terms {
			into.Terms.Blocks = append(into.Terms.Blocks, agreement.Block(b))
		}
		return nil
	})
}
