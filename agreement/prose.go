package agreement

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"text/template"
)

// Prose is a text in sections, with the values left open. A line of its source is one of
//
//	# Title            a section; "# Title | clauses" or "# Title | summary" marks it as Section.Clauses or AtAGlance
//	## name            a part, for "+ name" and Prose.Part
//	- Label: value     a row
//	? Label: value     a row that is left out where the value is empty
//	+ name             a part or, without such a part, that of the Facts; nothing where the name is empty
//
// or a paragraph, which is left out where it is empty. A section in which nothing is left is left out. Each value, name and paragraph is a
// text/template of its own. All are parsed before any fact is known, so that no fact can bring in a row, a section or a template.
type Prose struct {
	sections []*block
	parts    map[string]*block
}

type block struct {
	Section // with nothing in it
	lines   []line
}

type line struct {
	kind  string // "-", "?", "+", or "" for a paragraph
	label string // of a row
	text  *template.Template
}

// Facts are the data of the templates of a Prose. Part returns the paragraphs, rows and table that a source may add by a name, and reports
// whether it knows the name.
type Facts interface {
	Part(name string) (s Section, known bool)
}

// MustProse reads a source that is built into the program. It panics on a malformed one.
func MustProse(files embed.FS, file string) Prose {
	source, missing := files.ReadFile(file)
	p, malformed := ParseProse(string(source))
	if err := errors.Join(missing, malformed); err != nil {
		panic(file + ": " + err.Error())
	}
	return p
}

// ParseProse returns the Prose of a source. An error names the line that is malformed.
func ParseProse(source string) (Prose, error) {
	p := Prose{parts: map[string]*block{}}
	var last *block
	for i, text := range strings.Split(source, "\n") {
		var err error
		switch kind, rest, _ := strings.Cut(text, " "); {
		case kind == "#":
			title, mark, marked := strings.Cut(rest, " | ")
			last = &block{Section: Section{Title: title, Clauses: mark == "clauses", AtAGlance: mark == "summary"}}
			p.sections = append(p.sections, last)
			if marked && !last.Clauses && !last.AtAGlance {
				err = fmt.Errorf("unknown mark %q", mark)
			}
		case kind == "##" && (rest == "" || p.parts[rest] != nil):
			err = fmt.Errorf("part %q has no name of its own", rest)
		case kind == "##":
			last = &block{}
			p.parts[rest] = last
		case text == "":
		case last == nil:
			err = fmt.Errorf("%q is in no section", text)
		default:
			err = last.add(text)
		}
		if err != nil {
			return Prose{}, fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return p, nil
}

func (b *block) add(text string) (err error) {
	var l line
	if kind, rest, _ := strings.Cut(text, " "); kind == "-" || kind == "?" || kind == "+" {
		l.kind, text = kind, rest
	}
	if l.kind == "-" || l.kind == "?" {
		var labelled bool
		if l.label, text, labelled = strings.Cut(text, ": "); !labelled {
			return fmt.Errorf("the row %q has no label", l.label)
		}
	}
	l.text, err = template.New("").Parse(text)
	b.lines = append(b.lines, l)
	return err
}

// Sections returns the sections. It panics where the source names a field or a part that the facts do not have.
func (p Prose) Sections(f Facts) (list []Section) {
	for _, b := range p.sections {
		if s := p.fill(b, f); len(s.Paragraphs)+len(s.Rows) > 0 || !s.Table.IsZero() {
			list = append(list, s)
		}
	}
	return list
}

// Part returns a part, without a title; the zero Section where there is no part with that name. It panics as Sections does.
func (p Prose) Part(name string, f Facts) Section {
	if b := p.parts[name]; b != nil {
		return p.fill(b, f)
	}
	return Section{}
}

// Paragraph returns a part of one paragraph, or "". It panics as Sections does.
func (p Prose) Paragraph(part string, f Facts) string {
	return strings.Join(p.Part(part, f).Paragraphs, "")
}

func (p Prose) fill(b *block, f Facts) Section {
	s := b.Section
	for _, l := range b.lines {
		var written strings.Builder
		if err := l.text.Execute(&written, f); err != nil {
			panic(err)
		}
		switch text := written.String(); {
		case l.kind == "+" && text != "":
			more, known := f.Part(text)
			if part := p.parts[text]; part != nil {
				more = p.fill(part, f)
			} else if !known {
				panic(fmt.Sprintf("there is no part %q", text))
			}
			s.Paragraphs, s.Rows = append(s.Paragraphs, more.Paragraphs...), append(s.Rows, more.Rows...)
			if !more.Table.IsZero() {
				s.Table = more.Table
			}
		case l.kind == "-", l.kind == "?" && text != "":
			s.Rows = append(s.Rows, Row{l.label, text})
		case l.kind == "" && text != "":
			s.Paragraphs = append(s.Paragraphs, text)
		}
	}
	return s
}
