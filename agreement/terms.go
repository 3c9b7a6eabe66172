package agreement

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// Terms are the operator's own part of an agreement: who lends, and what the law or a scheme has a
// lender tell the payer. The zero Terms say nothing.
type Terms struct {
	Lender Lender
	Blocks []Block // in the order in which they are read
}

// Lender is who gives the credit. The zero Lender is one that the operator does not name.
type Lender struct {
	Name         string
	Address      string
	Registration string // such as a financial service provider number
}

// Block is one term: the right to cancel, hardship, a dispute scheme.
type Block struct {
	Title string
	Text  string
}

// What Terms may hold.
const (
	maxBlocks    = 40
	maxTermLine  = 255 // characters of a name, address, registration or title
	maxBlockText = 5000
)

// IsZero tells whether t says nothing.
func (t Terms) IsZero() bool { return t.Lender == Lender{} && len(t.Blocks) == 0 }

// Check returns nil, or an error with everything that is wrong with t, each with its place.
func (t Terms) Check() error {
	var faults []error
	text := func(place, value string, limit int, required bool) {
		if fault := textFault(value, limit, required); fault != "" {
			faults = append(faults, errors.New(place+" "+fault))
		}
	}
	named := t.Lender != Lender{}
	text("lender.name", t.Lender.Name, maxTermLine, named)
	text("lender.address", t.Lender.Address, maxTermLine, named)
	text("lender.registration", t.Lender.Registration, maxTermLine, false)
	if len(t.Blocks) > maxBlocks {
		faults = append(faults, fmt.Errorf("terms must be at most %d", maxBlocks))
	}
	for i, b := range t.Blocks {
		text(fmt.Sprintf("terms[%d].title", i), b.Title, maxTermLine, true)
		text(fmt.Sprintf("terms[%d].text", i), b.Text, maxBlockText, true)
	}
	return errors.Join(faults...)
}

// textFault says what is wrong with a text, or nothing.
func textFault(text string, limit int, required bool) string {
	switch {
	case text == "" && required:
		return "must be given"
	case !utf8.ValidString(text):
		return "must be valid UTF-8"
	case utf8.RuneCountInString(text) > limit:
		return fmt.Sprintf("must have at most %d characters", limit)
	}
	for _, r := range text {
		if unicode.IsControl(r) {
			return "must not hold control characters: a block is one paragraph"
		}
	}
	return ""
}
