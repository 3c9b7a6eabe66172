package pdf

import (
	"fmt"
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

// as sets the tag of all that is drawn from now on.
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
		c.write("%s", m.artifact)
		return
	}
	c.write("/%s <</MCID %d>> BDC", m.element.kind, c.structure.content(m.element, c.page))
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
		c.write("%s rg", parts(st.colour))
	}
	c.write("BT /%s %.2f Tf ET", font, st.size)
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
	b := fmt.Appendf(c.pages[c.page], "BT %.2f %.2f Td (", x, y)
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
		c.write("/Span <</MCID %d /ActualText <%X>>> BDC", c.structure.content(c.drawn.element, c.page), utf16Text(r.text))
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
			c.write("BT %.2f %.2f Td <%04X> Tj ET", x+float64(g.x)*st.size/1000, y+float64(g.y)*st.size/1000, font.code(g.id, text))
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
