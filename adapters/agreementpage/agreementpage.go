// Package agreementpage renders an agreement as a web page, in the same words as its PDF: for embedders whose
// payers read it in a browser, with a screen reader or on a phone. The page is one file that fetches
// nothing and runs no script.
package agreementpage

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

//go:embed page.html
var source string

//go:embed page.css
var style string

// Pages renders agreements as pages. It is safe for concurrent use.
type Pages struct {
	page *template.Template
	zone *time.Location
}

// New returns pages. Times are New Zealand's.
func New() (*Pages, error) {
	zone, err := service.NewZealand()
	if err != nil {
		return nil, fmt.Errorf("agreementpage: %w", err)
	}
	page, err := template.New("page").Parse(source)
	if err != nil {
		return nil, fmt.Errorf("agreementpage: %w", err)
	}
	return &Pages{page, zone}, nil
}

// Policy returns the Content-Security-Policy under which a page is whole. An embedder adds who may
// frame it, and keeps it out of caches: it is about one person.
func Policy() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
}

// Write writes the page of a as UTF-8. The same agreement gives the same page. If the page cannot be rendered, nothing
// is written. It returns an error if the version of the agreement's wording is not known.
func (p *Pages) Write(w io.Writer, a agreement.Agreement) error {
	sections, err := a.Text(p.zone)
	if err != nil {
		return fmt.Errorf("write the page of agreement %s: %w", a.Number, err)
	}
	var page bytes.Buffer
	if err := p.page.Execute(&page, viewOf(a, sections)); err != nil {
		return fmt.Errorf("write the page of agreement %s: %w", a.Number, err)
	}
	if _, err := w.Write(page.Bytes()); err != nil {
		return fmt.Errorf("write the page of agreement %s: %w", a.Number, err)
	}
	return nil
}

// view is what the template shows.
type view struct {
	Title    string
	Footer   string
	Style    template.CSS
	Colour   string // #rrggbb of the bar at the top, "" for none
	Opening  section
	Sections []section
}

type section struct {
	ID         string
	Title      string
	Summary    bool // the section that is seen first
	Paragraphs []template.HTML
	Rows       []row
	Table      agreement.Table
	FootLabel  string
	FootSpan   int // columns of the label; the value has two, so that it widens none of them
	FootValue  string
}

type row struct {
	Label string
	Value template.HTML
	Prose bool // Value is paragraphs and lists
}

func viewOf(a agreement.Agreement, sections []agreement.Section) view {
	v := view{
		Title:   a.Title(),
		Footer:  a.Foot(),
		Style:   template.CSS(style),
		Opening: viewSection(a, sections[0]),
	}
	if c, ok := colour.Parse(a.Provider.Colour); ok {
		v.Colour = c.String()
	}
	for i, s := range sections[1:] {
		shown := viewSection(a, s)
		shown.ID = fmt.Sprintf("part-%d", i+1)
		v.Sections = append(v.Sections, shown)
	}
	return v
}

// viewSection returns a section in which names are isolated from the words around them. The template isolates each
// value as a whole.
func viewSection(a agreement.Agreement, s agreement.Section) section {
	names := []string{a.Provider.Name, a.Terms.Lender.Name, a.Student.FirstName + " " + a.Student.LastName, a.Course.Name,
		a.DirectDebit.AccountHolder}
	v := section{Title: s.Title, Summary: s.AtAGlance, Table: s.Table}
	for _, p := range s.Paragraphs {
		v.Paragraphs = append(v.Paragraphs, web.Isolate(p, names...))
	}
	for _, r := range s.Rows {
		value := template.HTML(template.HTMLEscapeString(r.Value))
		prose := len(agreement.Lines(r.Value)) > 1
		switch {
		case prose:
			value = web.Prose(r.Value, names...)
		case !slices.Contains(names, r.Value):
			value = web.Isolate(r.Value, names...)
		}
		v.Rows = append(v.Rows, row{r.Label, value, prose})
	}
	if last := len(s.Table.Foot) - 1; last > 1 {
		v.FootLabel = strings.TrimSpace(strings.Join(s.Table.Foot[:last], " "))
		v.FootSpan, v.FootValue = last-1, s.Table.Foot[last]
	}
	return v
}
