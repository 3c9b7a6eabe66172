package pdf

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
)

// What is drawn and is no part of the text: a reader that does not see the page leaves it out.
const (
	decoration    = "/Artifact BMC"
	runningHeader = "/Artifact <</Type /Pagination /Subtype /Header>> BDC"
	runningFooter = "/Artifact <</Type /Pagination /Subtype /Footer>> BDC"
)

// marking says to which part of the document a piece of drawing belongs: the content of an element, or an artifact.
type marking struct {
	element  *element // nil for an artifact
	artifact string
}

func (c *canvas) as(e *element) { c.drawn = marking{element: e} }

// asArtifact says that what is drawn from now on is no part of the text.
func (c *canvas) asArtifact(artifact string) { c.drawn = marking{artifact: artifact} }

// mark begins the piece of content that m is, unless the piece before goes on.
func (c *canvas) mark(m marking) {
	if c.marked == m {
		return
	}
	c.endMark()
	c.marked = m
	if m.element == nil {
		c.write(m.artifact)
		return
	}
	c.write("/", m.element.kind, " <</MCID ", strconv.Itoa(c.structure.content(m.element, c.page)), ">> BDC")
}

// endMark ends the piece of content that is being drawn, before another page is drawn on.
func (c *canvas) endMark() {
	if c.marked != (marking{}) {
		c.write("EMC")
		c.marked = marking{}
	}
}

// used is the state of the page for the text that is drawn next.
type used struct {
	font   string // the name of the font in the document
	size   float64
	colour colour.RGB
	valid  bool
}

// set sets a font by its name, and the style's size and colour.
func (c *canvas) set(font string, st style) {
	next := used{font, st.size, st.colour, true}
	if c.used == next {
		return
	}
	if !c.used.valid || c.used.colour != st.colour {
		c.operate("rg", parts(st.colour)...)
	}
	c.write("BT /", font, " ", string(appendNumber(nil, st.size)), "Tf ET")
	c.used = next
}

// drawText draws a line of clean text at x, with its top at y.
func (c *canvas) drawText(st style, x, y float64, line string) {
	if line == "" {
		return
	}
	x, y = points(x), points(pageHeight-y-0.7*st.height)
	if st.face.common.has(line) {
		c.drawCommon(st, x, y, line)
		return
	}
	for _, r := range c.shaper.runs(st.face, line) {
		at := x + float64(r.at)*st.size/1000
		if r.source == nil {
			c.drawCommon(st, at, y, r.text)
			continue
		}
		c.drawGlyphs(st, at, y, r)
	}
}

// drawCommon draws text in the common font of a style's face, at a place in points.
func (c *canvas) drawCommon(st style, x, y float64, text string) {
	font := st.face.common
	c.mark(c.drawn)
	c.set(font.name, st)
	b := appendNumber(appendNumber(append(c.pages[c.page], "BT "...), x), y)
	b = append(b, "Td ("...)
	for _, r := range text {
		code := font.find(r)
		for _, char := range [...]byte{byte(code >> 8), byte(code)} {
			switch char {
			case '(', ')', '\\':
				b = append(b, '\\', char)
			case '\r': // which readers would take for a line feed
				b = append(b, '\\', 'r')
			default:
				b = append(b, char)
			}
		}
	}
	c.pages[c.page] = append(b, ") Tj ET\n"...)
}

// drawGlyphs draws a run of glyphs at a place in points, one cluster after the other in the order in which they are read.
func (c *canvas) drawGlyphs(st style, x, y float64, r run) {
	font := c.embedded(r.source)
	if !r.drawnOtherwise || c.drawn.element == nil {
		c.mark(c.drawn)
	} else {
		c.endMark() // pieces of content must not be nested: some readers lose what follows
		c.write(fmt.Sprintf("/Span <</MCID %d /ActualText <%X>>> BDC", c.structure.content(c.drawn.element, c.page), utf16Text(r.text)))
		c.marked = marking{artifact: "Span"}
		defer c.endMark()
	}
	c.set(font.name, st)
	for _, cluster := range r.clusters {
		if r.rightToLeft {
			cluster = spread(r.source, cluster)
		}
		for i, g := range cluster.glyphs {
			text := cluster.text
			switch {
			case cluster.texts != nil:
				text = cluster.texts[i]
			case i > 0:
				text = noText
			}
			c.write(fmt.Sprintf("BT %.2f %.2f Td <%04X> Tj ET", x+float64(g.x)*st.size/1000, y+float64(g.y)*st.size/1000, font.code(g.id, text)))
		}
	}
}

// embedded returns the font of the document that has glyphs of a source.
func (c *canvas) embedded(s *source) *embedded {
	for _, f := range c.fonts {
		if f.source == s {
			return f
		}
	}
	f := newEmbedded(s, "F"+strconv.Itoa(firstEmbedded+len(c.fonts)))
	c.fonts = append(c.fonts, f)
	return f
}

// spread gives each character of a ligature that is written from right to left a glyph of its own, and so each joiner, because
// readers turn the text of one glyph around with the rest. They are in the order in which they are read: what is read first
// ends where the ligature ends, and shows nothing.
func spread(s *source, c cluster) cluster {
	runes := []rune(c.text)
	last := len(runes) - 1
	space, _ := s.cmap.Lookup(' ')
	switch {
	case last == 1 && joiner(runes[1]) && len(c.glyphs) == 2:
		c.glyphs = []placed{c.glyphs[1], c.glyphs[0]}
	case last > 0 && len(c.glyphs) == 1 && space != 0:
		drawn := c.glyphs[0]
		c.glyphs = nil
		for i := range last {
			at := c.width*(last-i+1)/(last+1) - s.advance(uint16(space))
			c.glyphs = append(c.glyphs, placed{uint16(space), drawn.x + max(at, last-i), drawn.y})
		}
		c.glyphs = append(c.glyphs, drawn)
	default:
		return c
	}
	for _, r := range runes {
		c.texts = append(c.texts, string(r))
	}
	return c
}

// element is a node of the structure tree: what a part of the content is, for readers that do not see the page.
type element struct {
	kind       string // a standard structure type of PDF: "H1", "P", "TD"
	attributes string // as its object has them; optional
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
	ofColumn = "/A <</O /Table /Scope /Column>>"
	ofRow    = "/A <</O /Table /Scope /Row>>"
	ofTerms  = "/A <</O /List /ListNumbering /None>>" // labels that are terms, as of a dictionary
)

func spanning(columns int) string {
	return "/A <</O /Table /Scope /Row /ColSpan " + strconv.Itoa(columns) + ">>"
}

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
			nums = appendReference(nums, e.number)
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
	b := appendReference(append(append(append(p.text[:0], "<</S /"...), e.kind...), " /P "...), parent)
	b = append(b, e.attributes...)
	home := -1 // the page of the first piece of content
	if i := slices.IndexFunc(e.kids, func(k kid) bool { return k.element == nil }); i >= 0 {
		home = e.kids[i].page
		b = fmt.Appendf(b, "/Pg %d 0 R ", pages[home])
	}
	b = append(b, "/K ["...)
	for _, k := range e.kids {
		switch {
		case k.element != nil:
			k.element.number = p.next()
			b = appendReference(b, k.element.number)
		case k.page == home:
			b = append(strconv.AppendInt(b, int64(k.id), 10), ' ')
		default:
			b = fmt.Appendf(b, "<</Type /MCR /Pg %d 0 R /MCID %d>> ", pages[k.page], k.id)
		}
	}
	p.text = append(b, "]>>"...)
	p.hold(e.number, p.text)
	for _, k := range e.kids {
		if k.element != nil {
			k.element.write(p, e.number, pages)
		}
	}
}

// appendReference appends a reference to an object, and a space.
func appendReference(b []byte, number int) []byte {
	return append(strconv.AppendInt(b, int64(number), 10), " 0 R "...)
}
