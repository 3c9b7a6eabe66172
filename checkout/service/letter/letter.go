// Package letter writes the messages to payers, as plain text and as a page of HTML. The words of each letter are in a file of the
// folder words; the words of an agreement and of the direct debit terms come from package agreement.
package letter

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// Facts are the values that the words of a letter may name. A value that a kind of letter does not name may be zero.
type Facts struct {
	Kind     checkout.NoticeKind
	Provider agreement.Party // by the name by which the payer knows it
	Sandbox  bool
	Student  agreement.Student
	Course   string
	Checkout checkout.Checkout
	Page     string               // the address of the payer's page; "" without a page
	Payments []money.Payment      // as they are agreed or, before the confirm, planned
	Terms    agreement.DebitTerms // that the payer accepted
	At       time.Time            // of the matter of the letter
	Today    money.Date           // in New Zealand

	Agreement agreement.Agreement
	Attached  bool // its PDF goes with the letter

	whole []agreement.Section // the text of the agreement
}

// OfAgreement returns the facts of a letter about the agreement of a checkout.
func OfAgreement(kind checkout.NoticeKind, c checkout.Checkout, a agreement.Agreement) Facts {
	return Facts{Kind: kind, Provider: a.Provider, Sandbox: a.Sandbox, Student: a.Student, Course: a.Course.Name, Checkout: c,
		Payments: a.Payments(), Terms: a.DebitTerms(), Agreement: a}
}

//go:embed words page.html
var files embed.FS

// words has the words of each kind of letter: the letter itself in the first section, the subject and the text of its button in parts. A
// new letter is a file and a line here.
var words = map[checkout.NoticeKind]agreement.Prose{
	checkout.NoticeOfSetup:      agreement.MustProse(files, "words/setup.txt"),
	checkout.NoticeOfAgreement:  agreement.MustProse(files, "words/agreement.txt"),
	checkout.NoticeOfLink:       agreement.MustProse(files, "words/link.txt"),
	checkout.NoticeOfCancel:     agreement.MustProse(files, "words/cancelled.txt"),
	checkout.NoticeOfWithdrawal: agreement.MustProse(files, "words/withdrawn.txt"),
	checkout.NoticeOfMandateEnd: agreement.MustProse(files, "words/mandate_ended.txt"),
}

// every has the words that stand in every letter.
var every = agreement.MustProse(files, "words/every.txt")

// Write writes the subject, the text and the HTML of a notice, with times in zone. Where no PDF goes with it, the letter of
// an agreement has the whole text. It returns an error for a kind without words, and the error of Agreement.Text.
func Write(f Facts, zone *time.Location) (n checkout.PayerNotice, err error) {
	prose, known := words[f.Kind]
	if !known {
		return n, fmt.Errorf("there are no words for a letter of the kind %q", f.Kind)
	}
	if f.Kind == checkout.NoticeOfAgreement {
		if f.whole, err = f.Agreement.Text(zone); err != nil {
			return n, err
		}
	}
	f.At = f.At.In(zone)
	sections := prose.Sections(f)
	s := sheet{Facts: f, Subject: every.Paragraph("subject", f) + " " + prose.Paragraph("subject", f), Head: sections[0],
		Button: prose.Paragraph("button", f), Sections: append(every.Sections(f), sections[1:]...)}
	s.Head.Paragraphs = append(every.Part("first", f).Paragraphs, s.Head.Paragraphs...)
	if !f.Attached {
		s.Sections = append(s.Sections, f.whole...)
	}
	n.Subject, n.Text = s.Subject, s.text()
	n.HTML, err = s.page()
	return n, err
}

// Part implements [agreement.Facts].
func (f Facts) Part(name string) (s agreement.Section, known bool) {
	switch name {
	case "steps":
		for _, step := range agreement.Steps(f.Payments, cmp.Or(f.Agreement.Plan.Frequency, f.Checkout.Intent.Plan.Frequency)) {
			s.Rows = append(s.Rows, agreement.Row{Label: step.Label, Value: step.String()})
		}
	case "terms":
		s.Rows = f.Terms.Rows()
	case "planned payments":
		for _, section := range f.whole {
			if !section.Table.IsZero() {
				s = section
			}
		}
	case "debits":
		s.Rows, _, _ = f.Terms.Parts()
	case "rights":
		s.Rows = f.Agreement.Rights()
	default:
		return s, false
	}
	return s, true
}

// names returns the values from outside that stand in the words of the letter.
func (f Facts) names() []string {
	return append(f.Agreement.Names(), f.Provider.Name, f.Student.Name(), f.Course, f.Checkout.Setup.AccountHolder, f.Terms.Lender.Name,
		f.Terms.Authority.Initiator)
}

// Day returns the day of At.
func (f Facts) Day() money.Date { return money.DateOf(f.At) }

// Moment formats At: "Friday 20 November 2026, 4:12 pm NZDT".
func (f Facts) Moment() string { return f.Day().Long() + ", " + f.At.Format("3:04 pm MST") }

// Next returns the next payment of the plan, or nil.
func (f Facts) Next() *money.Payment {
	for _, p := range f.Payments {
		if !p.Taken.Before(f.Today) {
			return &p
		}
	}
	return nil
}

// StopEmail returns the e-mail address of the party that the account holder tells to stop the payments, or "".
func (f Facts) StopEmail() string {
	name, email := agreement.Terms{Lender: f.Terms.Lender}.Ask(f.Terms.Provider, f.Provider.SupportEmail)
	if strings.HasSuffix(f.Terms.Told(), name) {
		return email
	}
	return ""
}

// contact is a party to turn to.
type contact struct{ Name, Email string }

// String returns the ways to reach the party.
func (c contact) String() string {
	if c.Email == "" {
		return "ask " + c.Name
	}
	return "write to " + c.Email
}

// Contact returns the education provider.
func (f Facts) Contact() contact { return contact{f.Provider.Name, f.Provider.SupportEmail} }

// Creditor returns the party to ask about what is owed.
func (f Facts) Creditor() contact {
	name, email := f.Agreement.Terms.Ask(f.Provider.Name, f.Provider.SupportEmail)
	return contact{name, email}
}

// sheet is the content of a letter, in the order in which it is read. Every letter is a sheet, written as text and as HTML.
type sheet struct {
	Facts
	Subject  string
	Head     agreement.Section // with the matter in a few rows
	Button   string            // the text of the link to the page
	Sections []agreement.Section
}

// text writes the sheet as text: a title underlined, a label and its value on a line, a table in columns.
func (s sheet) text() string {
	var blocks []string
	add := func(section agreement.Section) {
		if title := section.Heading(); title != "" {
			blocks = append(blocks, title+"\n"+strings.Repeat("-", utf8.RuneCountInString(title)))
		}
		blocks = append(blocks, section.Paragraphs...)
		var rows []string
		for i, r := range section.Rows {
			space := " "
			if strings.Contains(r.Value, "\n") { // several lines begin below their label
				space = "\n"
			}
			rows = append(rows, section.Label(i)+":"+space+r.Value)
		}
		if len(rows) > 0 {
			blocks = append(blocks, strings.Join(rows, "\n"))
		}
		if !section.Table.IsZero() {
			blocks = append(blocks, strings.TrimSuffix(columns(section.Table), "\n"))
		}
	}
	add(s.Head)
	if s.Page != "" {
		blocks = append(blocks, s.Button+": "+s.Page)
	}
	for _, section := range s.Sections {
		add(section)
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

// columns writes a table in columns that are as wide as their widest cell. The last, the amounts, is aligned to the right.
func columns(t agreement.Table) string {
	rows := slices.Concat([][]string{t.Header}, t.Rows)
	if len(t.Foot) > 0 {
		rows = append(rows, t.Foot)
	}
	width := make([]int, len(t.Header))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for n, row := range rows {
		for i, cell := range row {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == len(row)-1 {
				b.WriteString(space + cell + "\n")
				continue
			}
			b.WriteString(cell + space + "  ")
		}
		if note := t.Note(n - 1); note != "" { // row 0 is the header
			b.WriteString(strings.Repeat(" ", width[0]+2) + note + "\n")
		}
	}
	return b.String()
}

// layout is the page of HTML.
var layout = template.Must(template.ParseFS(files, "page.html"))

// colour matches the colours that may stand in a style.
var colour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// page writes the sheet as a page of HTML. The provider's colour is a band without text, so that every colour will do.
func (s sheet) page() (string, error) {
	if !colour.MatchString(s.Provider.Colour) {
		s.Provider.Colour = "#4a5157"
	}
	var b strings.Builder
	err := layout.Execute(&b, s)
	return b.String(), err
}

// Isolated writes a line with its names isolated, and a text whose lines stay lines in programs that know no style.
func (s sheet) Isolated(line string) template.HTML {
	return template.HTML(strings.ReplaceAll(text.Isolate(line, s.names()...), "\n", "<br/>"))
}

// Last reports whether a cell of a row is the last, which is an amount.
func (sheet) Last(cell int, row []string) bool { return cell == len(row)-1 }
