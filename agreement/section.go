package agreement

import (
	"strconv"
	"strings"
)

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

// number numbers the sections after the opening and the summary.
func number(sections []Section) []Section {
	n := 0
	for i := range sections {
		if i > 0 && !sections[i].AtAGlance {
			n++
			sections[i].Number = n
		}
	}
	return sections
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
