package web

import (
	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// AgreementTemplate is the text of the template "agreement", which shows an Agreement. Every page of a Site may use it.
//
//go:embed _agreement.html
var AgreementTemplate string

// Agreement is the text of an agreement as it is to be shown on a page.
type Agreement struct {
	Opening  AgreementSection
	Sections []AgreementSection
}

// AgreementSection is one section of it.
type AgreementSection struct {
	ID         string
	Title      string
	Summary    bool // the section that is seen first
	Paragraphs []template.HTML
	Rows       []AgreementRow
	Table      agreement.Table
	FootLabel  string
	FootSpan   int // columns of the label; the value has two, so that it widens none of them
	FootValue  string
}

// AgreementRow is a labelled value.
type AgreementRow struct {
	Label string
	Value template.HTML
	Prose bool // Value is paragraphs and lists
}

// ViewAgreement returns the text of a, with times in zone. It returns an error if the version of the agreement's wording
// is not known.
func ViewAgreement(a agreement.Agreement, zone *time.Location) (Agreement, error) {
	sections, err := a.Text(zone)
	if err != nil {
		return Agreement{}, err
	}
	v := Agreement{Opening: viewSection(a, sections[0])}
	for i, s := range sections[1:] {
		shown := viewSection(a, s)
		shown.ID = fmt.Sprintf("part-%d", i+1)
		v.Sections = append(v.Sections, shown)
	}
	return v, nil
}

// viewSection returns a section in which names are isolated from the words around them. The template isolates each
// value as a whole.
func viewSection(a agreement.Agreement, s agreement.Section) AgreementSection {
	names := []string{a.Provider.Name, a.Terms.Lender.Name, a.Student.FirstName + " " + a.Student.LastName, a.Course.Name,
		a.DirectDebit.AccountHolder}
	v := AgreementSection{Title: s.Title, Summary: s.AtAGlance, Table: s.Table}
	for _, p := range s.Paragraphs {
		v.Paragraphs = append(v.Paragraphs, Isolate(p, names...))
	}
	for _, r := range s.Rows {
		value := template.HTML(template.HTMLEscapeString(r.Value))
		prose := len(agreement.Lines(r.Value)) > 1
		switch {
		case prose:
			value = Prose(r.Value, names...)
		case !slices.Contains(names, r.Value):
			value = Isolate(r.Value, names...)
		}
		v.Rows = append(v.Rows, AgreementRow{r.Label, value, prose})
	}
	if last := len(s.Table.Foot) - 1; last > 1 {
		v.FootLabel = strings.TrimSpace(strings.Join(s.Table.Foot[:last], " "))
		v.FootSpan, v.FootValue = last-1, s.Table.Foot[last]
	}
	return v
}

// Isolate returns a text as HTML in which each of the names, which come from outside, is put in a <bdi>, so that a name
// that is written from right to left does not reorder the words around it.
func Isolate(text string, names ...string) template.HTML {
	var b strings.Builder
	plain := 0 // start of the text that is not written yet
	for i := 0; i < len(text); {
		name := ""
		for _, n := range names {
			if len(n) > len(name) && strings.HasPrefix(text[i:], n) {
				name = n
			}
		}
		if name == "" {
			i++
			continue
		}
		b.WriteString(template.HTMLEscapeString(text[plain:i]) + "<bdi>" + template.HTMLEscapeString(name) + "</bdi>")
		i += len(name)
		plain = i
	}
	return template.HTML(b.String() + template.HTMLEscapeString(text[plain:]))
}

// Prose returns a text of an agreement as paragraphs and lists of HTML, in which names are isolated as Isolate does.
func Prose(text string, names ...string) template.HTML {
	var b strings.Builder
	for _, p := range agreement.Paragraphs(text) {
		if p.Text != "" {
			b.WriteString("<p>" + string(Isolate(p.Text, names...)) + "</p>")
			continue
		}
		b.WriteString("<ul>")
		for _, item := range p.Items {
			mark := ""
			if item.Mark != agreement.Bullet {
				mark = " class=\"marked\""
				item.Text = item.Mark + " " + item.Text
			}
			b.WriteString("<li" + mark + ">" + string(Isolate(item.Text, names...)) + "</li>")
		}
		b.WriteString("</ul>")
	}
	return template.HTML(b.String())
}
