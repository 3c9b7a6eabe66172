package agreement

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/money/text"
)

// Terms are the operator's own part of an agreement: who the lender is, and what the law or a scheme requires a
// lender to tell the payer. The zero Terms are empty.
type Terms struct {
	Lender      Lender
	Fees        FeeList // for the plan
	DefaultFees FeeList // for payments that fail or come late
	Authority   Authority
	Blocks      []Block // in the order in which they are read
}

// Lender is the company that gives the credit. The zero Lender means that the operator names no lender.
type Lender struct {
	Name         string
	Address      string
	Registration string // such as a financial service provider number
}

// Block is one term: the right to cancel, hardship, a dispute scheme.
type Block struct {
	Title string
	Text  string // a line for each paragraph or item of a list; see Paragraphs
}

// check calls fault for everything that is wrong with b, which stands at this place.
func (b Block) check(place string, fault func(error)) {
	if message := textFault(b.Title, maxTermLine, true); message != "" {
		fault(errors.New(place + ".title " + message))
	}
	// Line feeds make paragraphs. No other control character is text.
	message := textFault(strings.ReplaceAll(b.Text, "\n", " "), maxBlockText, true)
	if message == "" && len(Paragraphs(b.Text)) == 0 {
		message = "must hold a visible character"
	}
	if message != "" {
		fault(errors.New(place + ".text " + message))
	}
}

// Limits of Terms.
const (
	maxBlocks    = 40
	maxTermLine  = text.Max // characters of a name, address, registration or title
	maxBlockText = 5000
	maxFees      = 20 // of each kind
)

// IsZero reports whether t is empty.
func (t Terms) IsZero() bool {
	return t.Lender == Lender{} && !t.Fees.Stated && !t.DefaultFees.Stated && t.Authority.IsZero() && len(t.Blocks) == 0
}

// Check returns nil, or an error that lists everything wrong with t, each with its place.
func (t Terms) Check() error {
	var faults []error
	fault := func(err error) { faults = append(faults, err) }
	check := func(place, value string, limit int, required bool) {
		if message := textFault(value, limit, required); message != "" {
			fault(errors.New(place + " " + message))
		}
	}
	named := t.Lender != Lender{}
	check("lender.name", t.Lender.Name, maxTermLine, named)
	check("lender.address", t.Lender.Address, maxTermLine, named)
	check("lender.registration", t.Lender.Registration, maxTermLine, false)
	t.Fees.check("fees", fault)
	t.DefaultFees.check("default_fees", fault)
	t.Authority.check(fault)
	if len(t.Blocks) > maxBlocks {
		fault(fmt.Errorf("terms must be at most %d", maxBlocks))
	}
	for i, b := range t.Blocks {
		b.check(fmt.Sprintf("terms[%d]", i), fault)
		if t.Fees.None() && t.DefaultFees.None() && namesFee.MatchString(b.Text) && strings.Contains(strings.ToLower(b.Title), "fee") {
			fault(fmt.Errorf("terms[%d] names a fee, where fees and default_fees say that there is none", i))
		}
	}
	return errors.Join(faults...)
}

// namesFee matches an amount above zero.
var namesFee = regexp.MustCompile(`\$\s?[0-9.,]*[1-9]`)

// Lacks returns what the law wants a lender to say to a payer and no block's title is about, in the words of a list: "right to
// cancel", "hardship", "disputes"; and "fees" and "default fees" that are not stated.
func (t Terms) Lacks() (missing []string) {
	about := func(words ...string) bool {
		return slices.ContainsFunc(t.Blocks, func(b Block) bool {
			return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(strings.ToLower(b.Title), word) })
		})
	}
	for _, subject := range []struct {
		name string
		said bool
	}{
		{"right to cancel", about("cancel")},
		{"hardship", about("hardship", "cannot pay", "difficult")},
		{"disputes", about("dispute", "complain")},
		{"fees", t.Fees.Stated},
		{"default fees", t.DefaultFees.Stated},
	} {
		if !subject.said {
			missing = append(missing, subject.name)
		}
	}
	return missing
}

// Agency is the agency that collects and holds the students' personal data, as information privacy principle 3A of the
// Privacy Act 2020 has them told. The zero Agency means that the operator names no agency.
type Agency struct {
	Name    string
	Address string
	Contact string // an e-mail address or a telephone number
}

// Check returns nil for the zero Agency and for a complete Agency, and otherwise an error with each fault.
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
