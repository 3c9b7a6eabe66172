package letter

import (
	"regexp"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// letter writes the sheet.
func (s sheet) letter() Letter {
	s.subject = s.provider + ": " + s.subject
	if s.sandbox {
		s.subject = "[Sandbox] " + s.subject
		s.paragraphs = append([]string{"This is a test from a sandbox: no bank is asked and no money moves."}, s.paragraphs...)
	}
	return Letter{Subject: s.subject, Text: s.text(), HTML: s.page()}
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
	add(agreement.Section{Title: s.title, Paragraphs: s.paragraphs, Rows: s.card})
	if s.link != "" {
		blocks = append(blocks, s.button+": "+s.link)
	}
	for _, section := range s.sections {
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

// styles are the styles of a letter's elements, each on its element: programs that show e-mail drop style sheets. Text and ground
// have their colours together, so that a program with a dark mode changes both or neither.
var styles = map[string]string{
	"body":   "margin:0;padding:0;background:#f2f4f5;color:#1b1f23",
	"ground": "width:100%;border-collapse:collapse;background:#f2f4f5",
	"sheet": "width:100%;max-width:600px;border-collapse:collapse;background:#ffffff;color:#1b1f23;text-align:left;" +
		"font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;font-size:16px;line-height:1.5",
	"inside": "padding:20px 20px 28px;background:#ffffff;color:#1b1f23",
	"name":   "margin:0 0 20px;font-size:15px;font-weight:bold",
	"h1":     "margin:0 0 16px;font-size:24px;line-height:1.25",
	"h2":     "margin:32px 0 8px;font-size:18px;line-height:1.3",
	"p":      "margin:0 0 14px",
	"card":   "width:100%;border-collapse:collapse;margin:20px 0;background:#f2f4f5;color:#1b1f23",
	"key": "padding:10px 12px;width:34%;text-align:left;vertical-align:top;font-weight:normal;color:#4a5157;" +
		"border-bottom:2px solid #ffffff",
	"value": "padding:10px 12px 10px 0;vertical-align:top;font-weight:bold;border-bottom:2px solid #ffffff",
	"button": "display:inline-block;padding:12px 22px;background:#1b1f23;color:#ffffff;font-weight:bold;text-decoration:none;" +
		"border-radius:4px",
	"table": "width:100%;border-collapse:collapse;margin:8px 0 0;font-size:15px",
	// The cells of payments are many, and a mailbox may cut off what is after 100 KB.
	"th":     "padding:6px 9px 6px 0;border-bottom:1px solid #ccc;text-align:left",
	"td":     "padding:6px 9px 6px 0;border-bottom:1px solid #ccc",
	"amount": "padding:6px 0;border-bottom:1px solid #ccc;text-align:right",
	"note":   "font-size:14px;color:#4a5157",
}

// layout is a page of HTML that loads nothing: tables, because some programs know no other layout.
const layout = `<!DOCTYPE html>
<html lang="en-NZ"><head><meta charset="utf-8"/><meta name="viewport" content="width=device-width, initial-scale=1"/>` +
	`<meta name="color-scheme" content="light"/><title>{{html .Subject}}</title></head>
<body{{style "body"}}>
<table lang="en-NZ" role="presentation" width="100%"{{style "ground"}}><tr><td align="center">
<table role="presentation" width="600"{{style "sheet"}}>
<tr><td height="10" bgcolor="{{.Colour}}" style="line-height:10px;font-size:1px;background:{{.Colour}}">&#160;</td></tr>
<tr><td{{style "inside"}}>
<p{{style "name"}}>{{text .Provider}}</p>
<h1{{style "h1"}}>{{text .Title}}</h1>
{{range .Paragraphs}}<p{{style "p"}}>{{text .}}</p>
{{end}}{{with .Card}}<table{{style "card"}}>
{{range .}}<tr><th scope="row"{{style "key"}}>{{text .Label}}</th><td{{style "value"}}>{{text .Value}}</td></tr>
{{end}}</table>
{{end}}{{with .Link}}<p{{style "p"}}><a href="{{html .}}"{{style "button"}}>{{text $.Button}}</a></p>
{{end}}{{range $section := .Sections}}{{with .Heading}}<h2{{style "h2"}}>{{text .}}</h2>
{{end}}{{range .Paragraphs}}<p{{style "p"}}>{{text .}}</p>
{{end}}{{with .Rows}}<table{{style "table"}}>
{{range $i, $row := .}}<tr valign="top"><th scope="row" width="34%"{{style "th"}}>{{text ($section.Label $i)}}</th>
<td{{style "td"}}>{{text .Value}}</td></tr>
{{end}}</table>
{{end}}{{if not .Table.IsZero}}{{with $table := .Table}}<table{{style "table"}}>
{{cells "th" .Header ""}}
{{range $i, $cells := .Rows}}{{cells "td" $cells ($table.Note $i)}}
{{end}}{{with .Foot}}{{cells "td" . ""}}
{{end}}</table>
{{end}}{{end}}{{end}}</td></tr></table>
</td></tr></table>
</body></html>
`

// colour matches the colours that may stand in a style.
var colour = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// page writes the sheet as a page of HTML. The provider's colour is a band without text, so that every colour will do.
func (s sheet) page() string {
	if !colour.MatchString(s.colour) {
		s.colour = "#4a5157"
	}
	t := template.Must(template.New("page").Funcs(template.FuncMap{"text": s.escaped, "style": style, "cells": s.cells}).Parse(layout))
	var b strings.Builder
	_ = t.Execute(&b, map[string]any{"Subject": s.subject, "Colour": s.colour, "Provider": s.provider, "Title": s.title,
		"Paragraphs": s.paragraphs, "Card": s.card, "Link": s.link, "Button": s.button,
		"Sections": s.sections}) // which the layout fits, and a builder takes everything
	return b.String()
}

// style returns the attribute of an element.
func style(name string) string { return ` style="` + styles[name] + `"` }

// cells writes a row of a table, with its note in the second cell. The last cell is an amount.
func (s sheet) cells(name string, row []string, note string) string {
	var b strings.Builder
	for i, cell := range row {
		attributes := style(name)
		if i == len(row)-1 {
			attributes = style("amount")
		}
		if name == "th" {
			attributes += ` scope="col"`
		}
		text := s.escaped(cell)
		if i == 1 && note != "" {
			text += "<br/><span" + style("note") + ">" + s.escaped(note) + "</span>"
		}
		b.WriteString("<" + name + attributes + ">" + text + "</" + name + ">")
	}
	return `<tr valign="top">` + b.String() + "</tr>"
}

// escaped writes a line with its names isolated, and a text whose lines stay lines in programs that know no style.
func (s sheet) escaped(line string) string {
	return strings.ReplaceAll(text.Isolate(line, s.names...), "\n", "<br/>")
}
