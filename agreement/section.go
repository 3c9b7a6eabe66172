package agreement

// Section is a part of the agreement's text. It is read in the order of its fields,
// each of which may be empty: the paragraphs, then the labelled values, then the table.
type Section struct {
	Title      string
	AtAGlance  bool // a summary: it is shown so that it is read first
	Paragraphs []string
	Rows       []Row
	Table      Table
}

// Row is a labelled value. A value of several lines is the text of Paragraphs.
type Row struct{ Label, Value string }

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
