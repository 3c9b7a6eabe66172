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
	Notice  noticeWire  `json:"notice,omitzero"`
}

type noticeWire struct {
	Days      int    `json:"days"`
	NotBefore string `json:"not_before"`
}

// consentWire is a consent, in the column of a checkout and among the particulars of an agreement.
type consentWire struct {
	At         int64  `json:"at_ms"`
	From       string `json:"from,omitempty"`
	Terms      string `json:"terms,omitempty"`
	NoticeDays int    `json:"notice_days,omitempty"`
}

func wireConsent(c agreement.Consent) consentWire {
	if c.IsZero() {
		return consentWire{}
	}
	return consentWire{c.At.UnixMilli(), c.From, c.Terms, c.NoticeDays}
}

func (w consentWire) toDomain() agreement.Consent {
	if w == (consentWire{}) {
		return agreement.Consent{}
	}
	return agreement.Consent{At: time.UnixMilli(w.At).UTC(), From: w.From, Terms: w.Terms, NoticeDays: w.NoticeDays}
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
	if a.Notice != (agreement.Notice{}) {
		w.Notice = noticeWire{a.Notice.Days, Day(a.Notice.NotBefore)}
	}
	for _, b := range a.Terms.Blocks {
		w.Terms = append(w.Terms, blockWire(b))
	}
	text, err := json.Marshal(w)
	if err != nil || string(text) == "{}" {
		return "", err
	}
	return string(text), nil
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
		return w.read(into)
	})
}

// read puts the particulars into their places.
func (w particularsWire) read(into *agreement.Agreement) (err error) {
	into.Sandbox, into.Provider.Colour = w.Sandbox, w.Colour
	into.DirectDebit.Consent = w.Consent.toDomain()
	into.Terms = agreement.Terms{Lender: agreement.Lender(w.Lender)}
	for _, b := range w.Terms {
		into.Terms.Blocks = append(into.Terms.Blocks, agreement.Block(b))
	}
	into.Notice.Days = w.Notice.Days
	if into.Notice.NotBefore, err = date(w.Notice.NotBefore); err != nil {
		return fmt.Errorf("particulars: notice: %w", err)
	}
	return nil
}
