package agreement

import (
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
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
func (a Agreement) Title() string { return "Payment Plan Agreement " + a.Number }

// Text returns the whole text of the agreement in sections, the first of which has the
// document's title. Every rendering (PDF, page, e-mail) takes its text and the numbers of its sections from here. The wording is that of
// the agreement's version, and times are written in zone. It returns an error if that version has no wording here,
// because a payer must not be shown words that were not accepted.
func (a Agreement) Text(zone *time.Location) ([]Section, error) {
	words, known := wordings[a.Version]
	if !known {
		return nil, fmt.Errorf("agreement %s was accepted in the words of version %q, which are not at hand", a.Number, a.Version)
	}
	sections, n := words.Sections(facts{a, a.DebitTerms(), zone}), 0
	for i := range sections {
		if i > 0 && !sections[i].AtAGlance { // after the opening and the summary
			n++
			sections[i].Number = n
		}
	}
	return sections, nil
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

// facts are the values that stand in a wording. Before there is an agreement, its fields are zero.
type facts struct {
	Agreement
	Debit DebitTerms
	zone  *time.Location
}

// Part implements [Facts].
func (f facts) Part(name string) (s Section, known bool) {
	switch name {
	case "steps":
		for _, step := range Steps(f.Payments(), f.Plan.Frequency) {
			s.Rows = append(s.Rows, Row{step.Label, step.String()})
		}
	case "payments":
		s.Table = f.table()
	case "terms of the plan": // the operator's
		s.Rows = rowsOf(f.Terms.Blocks)
	case "conditions of the authority":
		s.Rows = rowsOf(f.Debit.Authority.Conditions)
	default:
		return s, false
	}
	return s, true
}

func rowsOf(blocks []Block) (rows []Row) {
	for _, b := range blocks {
		rows = append(rows, Row{b.Title, b.Text})
	}
	return rows
}

func (f facts) table() Table {
	table := Table{
		Header: []string{"No.", "Planned date", "Payment", "Amount"},
		Foot:   []string{"", "", "Total to pay", f.Pricing.Price.Dollars()},
	}
	for _, p := range f.Payments() {
		table.Rows = append(table.Rows, []string{strconv.Itoa(p.Sequence), p.Taken.Long(), p.Type.Label(), p.Amount.Dollars()})
		table.Notes = append(table.Notes, p.Moved())
	}
	return table
}

// Moved reports whether a payment is taken on another day than the planned one.
func (f facts) Moved() bool {
	return slices.ContainsFunc(f.Payments(), func(p money.Payment) bool { return p.Moved() != "" })
}

// Deferred says that the payments start later than planned; "" where they do not.
func (f facts) Deferred() string {
	if first := f.firstPayment(); first != f.Plan.First {
		return Deferred(f.Plan.First, first)
	}
	return ""
}

// Authority returns the authority in the payer's words, close to the form of the scheme.
func (f facts) Authority() string { return wordings[f.Debit.version()].Paragraph("authority", f) }

// AtStart writes a party at the start of a sentence.
func (facts) AtStart(who string) string { return sentence(who) }

// Time formats a time in the zone: "Friday 20 November 2026, 4:12:05 pm NZDT".
func (f facts) Time(t time.Time) string {
	t = t.In(f.zone)
	return money.DateOf(t).Long() + ", " + t.Format("3:04:05 pm MST")
}

// Section is a part of the agreement's text. It is read in the order of its fields,
// each of which may be empty: the paragraphs, then the labelled values, then the table.
type Section struct {
	Title      string
	Number     int  // by which it is cited, from 1; 0 for the opening and the summary
	Clauses    bool // its rows are terms, and are cited by numbers of their own
	AtAGlance  bool // a summary: it is shown so that it is read first
	Paragraphs []string
	Rows       []Row
	Table      Table
}

// Heading returns the title with the section's number: "5. Direct debit terms".
func (s Section) Heading() string {
	if s.Number == 0 {
		return s.Title
	}
	return strconv.Itoa(s.Number) + ". " + s.Title
}

// Label returns the label of the row with this index: "5.1 Notice" in a section of clauses.
func (s Section) Label(row int) string {
	label := s.Rows[row].Label
	if s.Number == 0 || !s.Clauses {
		return label
	}
	return strconv.Itoa(s.Number) + "." + strconv.Itoa(row+1) + " " + label
}

// Row is a labelled value. A value of several lines has a paragraph on each: see Lines.
type Row struct{ Label, Value string }

// Lines returns the paragraphs of a text, which has one on each line that is not empty. A text of one line is a paragraph as it stands: it
// may be a name or an identifier.
func Lines(text string) (paragraphs []string) {
	if text != "" && !strings.Contains(text, "\n") {
		return []string{text}
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			paragraphs = append(paragraphs, line)
		}
	}
	return paragraphs
}

// Table is a list of charges as text. Header, Foot and every row have the same number of
// cells, each short enough for one line; the last cell is an amount.
type Table struct {
	Header []string
	Rows   [][]string
	Notes  []string // for each row a line below its second cell, or ""; nil for a table without notes
	Foot   []string
}

// Note returns the note of the row with this index, or "".
func (t Table) Note(row int) string {
	if 0 <= row && row < len(t.Notes) {
		return t.Notes[row]
	}
	return ""
}

// IsZero reports whether there is no table.
func (t Table) IsZero() bool { return len(t.Header) == 0 }

// Step is an amount with the day or the days on which it is paid, in a payer's words.
type Step struct {
	Label  string // "First payment", "Then", or "Payment" for the only one
	Amount string // "$53.65 a week"
	When   string // "until Monday 6 December 2027; the last payment is $53.85"
	Moved  string // the reason for each day in When that is not the planned one; "" where all are
}

// String returns the step as a sentence has it.
func (s Step) String() string {
	text := s.Amount + " " + s.When
	if s.Moved != "" {
		text += " (" + s.Moved + ")"
	}
	return text
}

// Steps summarises a plan for the payer, in the same words on pages and documents: the first payment and its date, then the regular
// amount and its end date. All dates are days of collection.
func Steps(payments []money.Payment, f money.Frequency) []Step {
	on := func(label string, p money.Payment) Step {
		return Step{label, p.Amount.Dollars(), "on " + p.Taken.Long(), p.Moved()}
	}
	switch len(payments) {
	case 0:
		return nil
	case 1:
		return []Step{on("Payment", payments[0])}
	}
	rest := payments[1:]
	next, last := rest[0], rest[len(rest)-1]
	then := on("Then", next)
	switch {
	case len(rest) == 1:
	case len(rest) == 2 && next.Amount != last.Amount:
		then.When += ", and " + last.Amount.Dollars() + " on " + last.Taken.Long()
		then.Moved = strings.Trim(then.Moved+"; "+last.Moved(), "; ")
	default:
		then = Step{then.Label, next.Amount.Dollars() + " " + f.Period(), "until " + last.Taken.Long(), last.Moved()}
		if next.Amount != last.Amount {
			then.When += "; the last payment is " + last.Amount.Dollars()
		}
	}
	return []Step{on("First payment", payments[0]), then}
}

// InAll returns the price with the interest and the fees, as far as the terms state them: "$2,990.00 in all. No interest."
func (t Terms) InAll(price money.Cents) string {
	return strings.TrimSpace(price.Dollars() + " in all. No interest. " + t.FeesInShort())
}

// Deferred says that the payments of a plan start on the day start, because the notice of the first payment does not allow the
// planned day.
func Deferred(planned, start money.Date) string {
	return "The first payment was planned for " + planned.Long() + ", which is too soon: the payer must get notice of a payment some days before it. " +
		"The payments start on " + start.Long() + " instead."
}
