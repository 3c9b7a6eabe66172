package agreement

import (
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// Version identifies the wording of the agreements that are concluded now (contract, section 9).
const Version = "2026-11-24"

// wording is the words of one version. Once a release has concluded agreements in them they never change: a new wording is
// a type in a file of its own, a line in wordingOf, Version, and its text in testdata.
type wording interface {
	// sections returns the whole text in the order in which it is read; the first section has the document's title.
	sections(a Agreement, zone *time.Location) []Section
	// debits, authority and conditions return the parts of the direct debit terms, before the payer accepts them as in the agreement.
	debits(t DebitTerms) []Row
	authority(t DebitTerms) string
	conditions(t DebitTerms) []Row
	// rights returns what the terms give the payer besides the plan. until is the last day on which the payer can cancel, or
	// zero before there is an agreement.
	rights(t Terms, until money.Date) []Row
	// foot returns the footer of every page.
	foot(a Agreement) string
}

// wordingOf returns the wording of a version, or nil for an unknown version.
func wordingOf(version string) wording {
	switch version {
	case "2026-11-24":
		return wording20261124{}
	}
	return nil
}

// Title returns the title of the document.
func (a Agreement) Title() string { return title + " " + a.Number }

const title = "Payment Plan Agreement"

// Text returns the whole text of the agreement in sections, the first of which has the
// document's title. Every rendering (PDF, page, e-mail) takes its text and the numbers of its sections from here. The wording is that of
// the agreement's version, and times are written in zone. It returns an error if that version has no wording here,
// because a payer must not be shown words that were not accepted.
func (a Agreement) Text(zone *time.Location) ([]Section, error) {
	words := wordingOf(a.Version)
	if words == nil {
		return nil, fmt.Errorf("agreement %s was accepted in the words of version %q, which are not at hand", a.Number, a.Version)
	}
	return number(words.sections(a, zone)), nil
}

// Foot returns the footer of every page of the agreement; "" if its version has no wording here.
func (a Agreement) Foot() string {
	if words := wordingOf(a.Version); words != nil {
		return words.foot(a)
	}
	return ""
}

// Parts returns the text of the terms, before the payer accepts them as in the agreement: who debits, the authority in the payer's
// own words, and its conditions. All are empty if their version has no wording here.
func (t DebitTerms) Parts() (debits []Row, authority string, conditions []Row) {
	if words := wordingOf(t.version()); words != nil {
		return words.debits(t), words.authority(t), words.conditions(t)
	}
	return nil, "", nil
}

// Rows returns the parts as one text; nil if their version has no wording here.
func (t DebitTerms) Rows() []Row {
	debits, authority, conditions := t.Parts()
	if authority == "" {
		return nil
	}
	return slices.Concat(debits, []Row{{"Authority", authority}}, conditions)
}
