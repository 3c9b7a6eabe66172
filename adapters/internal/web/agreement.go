package web

import (
	_ "embed"
	"fmt"
	"html/template"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money/text"
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

// AgreementSection is one section of it, whose methods isolate names from the words around them.
type AgreementSection struct {
	agreement.Section
	ID    string
	names []string
}

// ViewAgreement returns the text of a, with times in zone. It returns an error if the version of the agreement's wording
// is not known.
func ViewAgreement(a agreement.Agreement, zone *time.Location) (v Agreement, err error) {
	sections, err := a.Text(zone)
	if err != nil {
		return v, err
	}
	names := a.Names()
	v.Opening = AgreementSection{sections[0], "", names}
	for i, s := range sections[1:] {
		v.Sections = append(v.Sections, AgreementSection{s, fmt.Sprintf("part-%d", i+1), names})
	}
	return v, nil
}

// Isolated returns a paragraph as HTML.
func (s AgreementSection) Isolated(paragraph string) template.HTML {
	return Isolate(paragraph, s.names...)
}

// Shown returns the value of a row as HTML: paragraphs, or a text that is isolated as a whole.
func (s AgreementSection) Shown(value string) template.HTML {
	if len(agreement.Lines(value)) > 1 {
		return Prose(value, s.names...)
	}
	if slices.Contains(s.names, value) {
		return Name(value)
	}
	return `<bdi translate="no">` + Isolate(value, s.names...) + "</bdi>"
}

// Foot returns the foot of the table: a label over Span columns, and a value over two, so that it widens none of them.
func (s AgreementSection) Foot() (foot struct {
	Label, Value string
	Span         int
}) {
	last := len(s.Table.Foot) - 1
	foot.Label, foot.Value = strings.TrimSpace(strings.Join(s.Table.Foot[:last], " ")), s.Table.Foot[last]
	foot.Span = last - 1
	return foot
}

// Isolate is text.Isolate for a template.
func Isolate(line string, names ...string) template.HTML {
	return template.HTML(text.Isolate(line, names...))
}

// Name returns a name as HTML, isolated from the words around it.
func Name(name string) template.HTML { return Isolate(name, name) }

// Contact returns a contact as HTML: an e-mail address or a web page as a link, and anything else, such as a telephone number, as
// text. A web page opens beside the page, which may be part of a provider's own.
func Contact(contact string) template.HTML {
	shown := template.HTMLEscapeString(contact)
	page, err := url.Parse(contact)
	switch {
	case text.CheckEmail(contact) == "":
		return template.HTML(`<a href="mailto:` + template.HTMLEscapeString(url.PathEscape(contact)) + `">` + shown + "</a>")
	case err == nil && page.Scheme == "https" && page.Host != "":
		return template.HTML(`<a href="` + shown + `" target="_blank" rel="noopener">` + shown + "</a>")
	}
	return template.HTML(shown)
}

// Prose returns a text of an agreement as paragraphs of HTML, in which names are isolated as Isolate does.
func Prose(text string, names ...string) template.HTML {
	var b strings.Builder
	for _, paragraph := range agreement.Lines(text) {
		b.WriteString("<p>" + string(Isolate(paragraph, names...)) + "</p>")
	}
	return template.HTML(b.String())
}
