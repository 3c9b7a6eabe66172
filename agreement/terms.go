package agreement

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/checkout/text"
)

// Terms are the operator's own part of an agreement: who the lender is, and what the law or a scheme requires a
// lender to tell the payer. The zero Terms are empty.
type Terms struct {
	Lender Lender
	Blocks []Block // in the order in which they are read
}

// Lender is who gives the credit. The zero Lender means that the operator names none.
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

// Limits of Terms.
const (
	maxBlocks    = 40
	maxTermLine  = text.Max // characters of a name, address, registration or title
	maxBlockText = 5000
)

// IsZero reports whether t is empty.
func (t Terms) IsZero() bool { return t.Lender == Lender{} && len(t.Blocks) == 0 }

// Check returns nil, or an error that lists everything wrong with t, each with its place.
func (t Terms) Check() error {
	var faults []error
	check := func(place, value string, limit int, required bool) {
		if fault := textFault(value, limit, required); fault != "" {
			faults = append(faults, errors.New(place+" "+fault))
		}
	}
	named := t.Lender != Lender{}
	check("lender.name", t.Lender.Name, maxTermLine, named)
	check("lender.address", t.Lender.Address, maxTermLine, named)
	check("lender.registration", t.Lender.Registration, maxTermLine, false)
	if len(t.Blocks) > maxBlocks {
		faults = append(faults, fmt.Errorf("terms must be at most %d", maxBlocks))
	}
	for i, b := range t.Blocks {
		check(fmt.Sprintf("terms[%d].title", i), b.Title, maxTermLine, true)
		check(fmt.Sprintf("terms[%d].text", i), b.Text, maxBlockText, true)
	}
	return errors.Join(faults...)
}

// Agency is who collects the students' personal data and holds it, as information privacy principle 3A of the Privacy Act
// 2020 has them told. The zero Agency is none.
type Agency struct {
	Name    string
	Address string
	Contact string // an e-mail address or a telephone number
}

// Check returns nil for the zero Agency, or for one that says everything, and otherwise what is wrong with it.
func (a Agency) Check() error {
	if a == (Agency{}) {
		return nil
	}
	var faults []error
	for _, field := range []struct{ place, value string }{{"name", a.Name}, {"address", a.Address}, {"contact", a.Contact}} {
		if fault := textFault(field.value, maxTermLine, true); fault != "" {
			faults = append(faults, errors.New("privacy.agency."+field.place+" "+fault))
		}
	}
	return errors.Join(faults...)
}

// textFault returns what is wrong with a text, or "".
func textFault(value string, limit int, required bool) string {
	switch {
	case value == "" && required:
		return "must be given"
	case !utf8.ValidString(value):
		return "must be valid UTF-8"
	case utf8.RuneCountInString(value) > limit:
		return fmt.Sprintf("must have at most %d characters", limit)
	}
	return text.CheckReadable(value)
}
