package letter

import (
	"html"
	"strings"
	"text/template"
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

// layout is a page of HTML that loads nothing. Its style is all that a letter needs; programs that show e-mail keep little more.
const layout = `<!DOCTYPE html>
<html lang="en-NZ"><head><meta charset="utf-8"/><title>{{text .Title}}</title><style>` +
	`body{font-family:sans-serif;line-height:1.5;max-width:40em;margin:1em auto;padding:0 1em}` +
	`table{border-collapse:collapse}th,td{text-align:left;vertical-align:top;padding:.2em .8em .2em 0}` +
	`td.amount,th.amount{text-align:right}</style></head><body>
{{range $i, $section := .Sections}}{{if $i}}<h2>{{text .Title}}</h2>{{else}}<h1>{{text .Title}}</h1>{{end}}
{{range .Paragraphs}}<p>{{paragraph .}}</p>
{{end}}{{with .Rows}}<table>
{{range .}}<tr><th scope="row">{{text .Label}}</th><td>{{text .Value}}</td></tr>
{{end}}</table>
{{end}}{{if not .Table.IsZero}}{{with $table := .Table}}<table>
<thead>{{cells "th" " scope=\"col\"" .Header}}</thead>
<tbody>
{{range $i, $cells := .Rows}}{{cells "td" "" $cells}}{{with $table.Note $i}}<tr><td></td><td colspan="3">{{text .}}</td></tr>{{end}}
{{end}}</tbody>
{{with .Foot}}<tfoot>{{cells "td" "" .}}</tfoot>
{{end}}</table>
{{end}}{{end}}{{end}}</body></html>
`

// page writes the sections as a page of HTML.
func page(title string, sections []agreement.Section) string {
	t := template.Must(template.New("page").Funcs(template.FuncMap{"text": escaped, "paragraph": paragraph, "cells": cells}).Parse(layout))
	var b strings.Builder
	_ = t.Execute(&b, map[string]any{"Title": title, "Sections": sections}) // which the layout fits, and a builder takes everything
	return b.String()
}

// cells writes a row of a table, whose last cell is an amount.
func cells(name, attributes string, row []string) string {
	var b strings.Builder
	for i, cell := range row {
		if i == len(row)-1 {
			attributes += ` class="amount"`
		}
		b.WriteString("<" + name + attributes + ">" + escaped(cell) + "</" + name + ">")
	}
	return "<tr>" + b.String() + "</tr>"
}

// paragraph writes a paragraph, and as a link if it is the address of a page and nothing else.
func paragraph(text string) string {
	if !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://") || strings.ContainsAny(text, " \n") {
		return escaped(text)
	}
	return `<a href="` + html.EscapeString(text) + `">` + escaped(text) + `</a>`
}

// escaped writes a text whose lines stay lines in programs that know no style.
func escaped(text string) string { return strings.ReplaceAll(html.EscapeString(text), "\n", "<br/>") }
