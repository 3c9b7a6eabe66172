package agreement

import (
	"embed"
	"fmt"
	"slices"
	"time"
)

// Version identifies the wording of the agreements that are concluded now (contract, section 9).
const Version = "2026-11-29"

//go:embed wording
var files embed.FS

// wordings has the words of each version. Once a release has concluded agreements in them they never change: a new wording is a file of
// its own, a line here, Version, and its text in testdata.
var wordings = map[string]Prose{
	"2026-11-29": MustProse(files, "wording/2026-11-29.txt"),
}

// Title returns the title of the document.
func (a Agreement) Title() string { return title + " " + a.Number }

const title = "Payment Plan Agreement"

// Text returns the whole text of the agreement in sections, the first of which has the
// document's title. Every rendering (PDF, page, e-mail) takes its text and the numbers of its sections from here. The wording is that of
// the agreement's version, and times are written in zone. It returns an error if that version has no wording here,
// because a payer must not be shown words that were not accepted.
func (a Agreement) Text(zone *time.Location) ([]Section, error) {
	words, known := wordings[a.Version]
	if !known {
		return nil, fmt.Errorf("agreement %s was accepted in the words of version %q, which are not at hand", a.Number, a.Version)
	}
	return number(words.Sections(facts{a, a.DebitTerms(), zone})), nil
}

// Foot returns the footer of every page of the agreement, short enough for the page's number beside it; "" if its version has no wording
// here.
func (a Agreement) Foot() string {
	return wordings[a.Version].Paragraph("foot", facts{Agreement: a})
}

// Rights returns what the terms give the payer besides the plan, as it is told before there is an agreement: the right to cancel has a
// number of days and no date.
func (t Terms) Rights() []Row { return Agreement{Version: Version, Terms: t}.Rights() }

// Rights returns what the terms of the agreement give the payer besides the plan; nil if its version has no wording here.
func (a Agreement) Rights() []Row {
	return wordings[a.Version].Part("rights", facts{Agreement: a}).Rows
}

// Parts returns the text of the terms, before the payer accepts them as in the agreement: who debits, the authority in the payer's
// own words, and its conditions. All are empty if their version has no wording here.
func (t DebitTerms) Parts() (debits []Row, authority string, conditions []Row) {
	words, f := wordings[t.version()], facts{Debit: t}
	return words.Part("debits", f).Rows, f.Authority(), words.Part("conditions", f).Rows
}

// Rows returns the parts as one text; nil if their version has no wording here.
func (t DebitTerms) Rows() []Row {
	debits, authority, conditions := t.Parts()
	if authority == "" {
		return nil
	}
	return slices.Concat(debits, []Row{{"Authority", authority}}, conditions)
}
