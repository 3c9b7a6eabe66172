package letter

import (
	"html"
	"strings"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// plainText writes the sections as text: a title underlined, a label and its value on a line, a table in columns.
func plainText(sections []agreement.Section) string {
	var b strings.Builder
	for i, s := range sections {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(s.Title + "\n" + strings.Repeat("-", utf8.RuneCountInString(s.Title)) + "\n\n")
		for _, p := range s.Paragraphs {
			b.WriteString(p + "\n\n")
		}
		for _, r := range s.Rows {
			b.WriteString(labelled(r) + "\n")
		}
		if !s.Table.IsZero() {
			b.WriteString(columns(s.Table))
		}
	}
	return b.String()
}

// labelled writes a labelled value; one of several lines begins below its label.
func labelled(r agreement.Row) string {
	if strings.Contains(r.Value, "\n") {
		return r.Label + ":\n" + r.Value + "\n"
	}
	return r.Label + ": " + r.Value
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
	for _, row := range rows {
		for i, cell := range row {
			space := strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell))
			if i == len(row)-1 {
				b.WriteString(space + cell + "\n")
				continue
			}
			b.WriteString(cell + space + "  ")
		}
	}
	return b.String()
}

// style is all that a letter needs; programs that show e-mail keep little more.
const style = `body{font-family:sans-serif;line-height:1.5;max-width:40em;margin:1em auto;padding:0 1em}` +
	`table{border-collapse:collapse}th,td{text-align:left;vertical-align:top;padding:.2em .8em .2em 0}` +
	`td.amount,th.amount{text-align:right}`

// page writes the sections as a page of HTML that loads nothing.
func page(title string, sections []agreement.Section) string {
	var b strings.Builder
	b.WriteString(`<!DOCTYPE html>` + "\n" + `<html lang="en-NZ"><head><meta charset="utf-8"/><title>` + html.EscapeString(title) +
		`</title><style>` + style + `</style></head><body>` + "\n")
	for i, s := range sections {
		heading := "h2"
		if i == 0 {
			heading = "h1"
		}
		b.WriteString(element(heading, "", s.Title) + "\n")
		for _, p := range s.Paragraphs {
			b.WriteString(element("p", "", p) + "\n")
		}
		if len(s.Rows) > 0 {
			b.WriteString("<table>\n")
			for _, r := range s.Rows {
				b.WriteString("<tr>" + element("th", ` scope="row"`, r.Label) + element("td", "", r.Value) + "</tr>\n")
			}
			b.WriteString("</table>\n")
		}
		if !s.Table.IsZero() {
			b.WriteString(table(s.Table))
		}
	}
	b.WriteString("</body></html>\n")
	return b.String()
}

func table(t agreement.Table) string {
	var b strings.Builder
	b.WriteString("<table>\n<thead>" + cells("th", ` scope="col"`, t.Header) + "</thead>\n<tbody>\n")
	for _, row := range t.Rows {
		b.WriteString(cells("td", "", row) + "\n")
	}
	b.WriteString("</tbody>\n")
	if len(t.Foot) > 0 {
		b.WriteString("<tfoot>" + cells("td", "", t.Foot) + "</tfoot>\n")
	}
	b.WriteString("</table>\n")
	return b.String()
}

// cells writes a row of a table, whose last cell is an amount.
func cells(name, attributes string, row []string) string {
	var b strings.Builder
	b.WriteString("<tr>")
	for i, cell := range row {
		if i == len(row)-1 {
			attributes += ` class="amount"`
		}
		b.WriteString(element(name, attributes, cell))
	}
	b.WriteString("</tr>")
	return b.String()
}

// element writes an element with a text, whose lines stay lines in programs that know no style.
func element(name, attributes, text string) string {
	lines := strings.ReplaceAll(html.EscapeString(text), "\n", "<br/>")
	return "<" + name + attributes + ">" + lines + "</" + name + ">"
}
