package pdf

import (
	"slices"
	"strconv"
	"strings"
)

// element is a node of the structure tree: what a part of the content is, for readers that do not see the page.
type element struct {
	kind       string // a standard structure type of PDF: "H1", "P", "TD"
	attributes string // in the language of PDF; optional
	language   string // where it is not that of the document
	parent     *element
	kids       []kid
	number     int // of its object, once the tree is written
}

// kid is an element, or content: the piece of a page with an identifier of that page.
type kid struct {
	element  *element // nil for content
	page, id int
}

// What an element is beyond its kind.
const (
	ofColumn = "<</O /Table /Scope /Column>>"
	ofRow    = "<</O /Table /Scope /Row>>"
	ofTerms  = "<</O /List /ListNumbering /None>>" // labels that are terms, as of a dictionary
)

// numbering returns the attributes of a list whose first item has this mark.
func numbering(mark string) string {
	how := "LowerAlpha"
	switch first := strings.TrimLeft(mark, "("); {
	case strings.HasPrefix(first, "•"):
		how = "Disc"
	case strings.ContainsAny(first, "0123456789"):
		how = "Decimal"
	case strings.ContainsAny(first, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
		how = "UpperAlpha"
	case strings.HasPrefix(first, "i"):
		how = "LowerRoman"
	}
	return "<</O /List /ListNumbering /" + how + ">>"
}

// spanning returns the attributes of a header of its row that is so many columns wide.
func spanning(columns int) string {
	return "<</O /Table /Scope /Row /ColSpan " + strconv.Itoa(columns) + ">>"
}

// add appends an element to the children of e.
func (e *element) add(kind, attributes string) *element {
	child := &element{kind: kind, attributes: attributes, parent: e}
	e.kids = append(e.kids, kid{element: child})
	return child
}

// inLanguage returns the element for text of e in a language: e itself for that of the document.
func (e *element) inLanguage(tag string) *element {
	if e == nil || tag == "" {
		return e
	}
	span := e.add("Span", "")
	span.language = tag
	return span
}

// structure is the structure tree of a document that is being drawn.
type structure struct {
	document *element
	pages    [][]*element // of each page, the elements of its pieces of content by their identifiers
}

func newStructure() *structure { return &structure{document: &element{kind: "Document"}} }

// content appends a piece of a page, counted from 1, to e, and returns its identifier on that page.
func (s *structure) content(e *element, page int) int {
	for len(s.pages) < page {
		s.pages = append(s.pages, nil)
	}
	id := len(s.pages[page-1])
	s.pages[page-1] = append(s.pages[page-1], e)
	e.kids = append(e.kids, kid{page: page, id: id})
	return id
}

// packed collects objects that are stored compressed, all in one stream.
type packed struct {
	first   int // the number of the first object; the others follow
	begins  []int
	objects []byte
}

// ref is a reference to an object by its number.
type ref int

// add appends strings, numbers and references to the objects.
func (p *packed) add(parts ...any) {
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			p.objects = append(p.objects, part...)
		case int:
			p.objects = strconv.AppendInt(p.objects, int64(part), 10)
		case ref:
			p.objects = append(strconv.AppendInt(p.objects, int64(part), 10), " 0 R"...)
		}
	}
}

// begin begins the next object.
func (p *packed) begin(parts ...any) {
	p.begins = append(p.begins, len(p.objects))
	p.add(parts...)
}

// write writes the objects of the tree: its root is the first of them. pages are the numbers of the pages' objects.
func (s *structure) write(p *packed, pages []int) {
	next := p.first + 2
	enumerate(s.document, &next)
	p.begin("<</Type /StructTreeRoot /K ", ref(s.document.number), " /ParentTree ", ref(p.first+1), " /ParentTreeNextKey ", len(pages), ">>\n")
	p.begin("<</Nums [")
	for page, elements := range s.pages {
		p.add(page, " [")
		for _, e := range elements {
			p.add(ref(e.number), " ")
		}
		p.add("] ")
	}
	p.add("]>>\n")
	s.document.write(p, p.first, pages)
}

// enumerate gives e and all below it their numbers, in the order in which they are read.
func enumerate(e *element, next *int) {
	e.number = *next
	*next++
	for _, k := range e.kids {
		if k.element != nil {
			enumerate(k.element, next)
		}
	}
}

// write writes e, and all below it after it.
func (e *element) write(p *packed, parent int, pages []int) {
	p.begin("<</S /", e.kind, " /P ", ref(parent))
	if e.attributes != "" {
		p.add(" /A ", e.attributes)
	}
	if e.language != "" {
		p.add(" /Lang (", e.language, ")")
	}
	home := 0 // the page of the first piece of content
	if i := slices.IndexFunc(e.kids, func(k kid) bool { return k.element == nil }); i >= 0 {
		home = e.kids[i].page
		p.add(" /Pg ", ref(pages[home-1]))
	}
	p.add(" /K [")
	for _, k := range e.kids {
		switch {
		case k.element != nil:
			p.add(ref(k.element.number), " ")
		case k.page == home:
			p.add(k.id, " ")
		default:
			p.add("<</Type /MCR /Pg ", ref(pages[k.page-1]), " /MCID ", k.id, ">> ")
		}
	}
	p.add("]>>\n")
	for _, k := range e.kids {
		if k.element != nil {
			k.element.write(p, e.number, pages)
		}
	}
}
