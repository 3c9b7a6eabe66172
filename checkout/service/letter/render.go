package letter

import (
	"html/template"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money/text"
)

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
			rows = append(rows, labelled(section.Label(i), r.Value))
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

// labelled writes a labelled value; one of several lines begins below its label.
func labelled(label, value string) string {
	if strings.Contains(value, "\n") {
		return label + ":\n" + value
	}
	return label + ": " + value
}

// columns writes a table in columns that are as wide as their widest cell. The last, the amounts, is aligned to the right.
func columns(t agreement.Table) string {
	rows := append([][]string{t.Header}, t.Rows...)
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
