package pdf

import (
	"fmt"
	"slices"
	"strconv"
)

// element is a node of the structure tree: what a part of the content is, for readers that do not see the page.
type element struct {
	kind       string // a standard structure type of PDF: "H1", "P", "TD"
	attributes string // in the language of PDF; optional
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

// structure is the structure tree of a document that is being drawn.
type structure struct {
	document *element
	pages    [][]*element // of each page, the elements of its pieces of content by their identifiers
}

func newStructure() *structure { return &structure{document: &element{kind: "Document"}} }

// content appends a piece of a page, by its index, to e, and returns its identifier on that page.
func (s *structure) content(e *element, page int) int {
	for len(s.pages) <= page {
		s.pages = append(s.pages, nil)
	}
	id := len(s.pages[page])
	s.pages[page] = append(s.pages[page], e)
	e.kids = append(e.kids, kid{page: page, id: id})
	return id
}

// write writes the tree, and returns the number of its root. pages are the numbers of the pages' objects.
func (s *structure) write(p *press, pages []int) int {
	root := p.next()
	s.document.number = p.next()
	s.document.write(p, root, pages)
	var nums []byte
	for page, elements := range s.pages {
		nums = fmt.Appendf(nums, "%d [", page)
		for _, e := range elements {
			nums = append(strconv.AppendInt(nums, int64(e.number), 10), " 0 R "...)
		}
		nums = append(nums, "] "...)
	}
	parents := p.next()
	p.hold(parents, fmt.Appendf(nil, "<</Nums [%s]>>", nums))
	p.hold(root, fmt.Appendf(nil, "<</Type /StructTreeRoot /K %d 0 R /ParentTree %d 0 R /ParentTreeNextKey %d>>", s.document.number, parents, len(pages)))
	return root
}

// write writes e, and all below it after it, in the order in which they are read.
func (e *element) write(p *press, parent int, pages []int) {
	b := fmt.Appendf(nil, "<</S /%s /P %d 0 R", e.kind, parent)
	if e.attributes != "" {
		b = fmt.Appendf(b, " /A %s", e.attributes)
	}
	home := -1 // the page of the first piece of content
	if i := slices.IndexFunc(e.kids, func(k kid) bool { return k.element == nil }); i >= 0 {
		home = e.kids[i].page
		b = fmt.Appendf(b, " /Pg %d 0 R", pages[home])
	}
	b = append(b, " /K ["...)
	for _, k := range e.kids {
		switch {
		case k.element != nil:
			k.element.number = p.next()
			b = fmt.Appendf(b, "%d 0 R ", k.element.number)
		case k.page == home:
			b = fmt.Appendf(b, "%d ", k.id)
		default:
			b = fmt.Appendf(b, "<</Type /MCR /Pg %d 0 R /MCID %d>> ", pages[k.page], k.id)
		}
	}
	p.hold(e.number, append(b, "]>>"...))
	for _, k := range e.kids {
		if k.element != nil {
			k.element.write(p, e.number, pages)
		}
	}
}
