package pdf

import (
	"fmt"
	"strconv"

	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/money/text"
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

// as says what is drawn from now on.
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
		c.pdf.RawWriteStr(m.artifact)
		return
	}
	c.scratch = append(c.piece(c.scratch[:0], m.element.kind, m.element), ">> BDC"...)
	c.pdf.RawWriteStr(string(c.scratch))
}

// piece appends the beginning of a piece of content of e.
func (c *canvas) piece(b []byte, tag string, e *element) []byte {
	b = append(append(b, '/'), tag...)
	b = append(b, " <</MCID "...)
	return strconv.AppendInt(b, int64(c.structure.content(e, c.pdf.PageNo())), 10)
}

// endMark ends the piece of content that is being drawn, before another page is drawn on.
func (c *canvas) endMark() {
	if c.marked != (marking{}) {
		c.pdf.RawWriteStr("EMC")
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
	b := c.scratch[:0]
	if !c.used.valid || c.used.colour != st.colour {
		b = fmt.Appendf(b, "%.3f %.3f %.3f rg\n", float64(st.colour.R)/255, float64(st.colour.G)/255, float64(st.colour.B)/255)
	}
	b = append(b, "BT /"...)
	b = append(b, font...)
	b = append(b, ' ')
	b = strconv.AppendFloat(b, st.size, 'f', 2, 64)
	c.scratch = append(b, " Tf ET"...)
	c.pdf.RawWriteStr(string(c.scratch))
	c.used = next
}

// drawText draws a line of clean text at x, with its top at y.
func (c *canvas) drawText(st style, x, y float64, line string) {
	if line == "" {
		return
	}
	x, y = c.points(x), c.points(pageHeight-y-0.7*st.height)
	if st.face.common.has(line) {
		c.drawCommon(st, x, y, line)
		return
	}
	outer := c.drawn
	for _, r := range c.shaper.runs(st.face, line) {
		at := x + float64(r.at)*st.size/1000
		if r.source == nil {
			c.drawCommon(st, at, y, r.text)
			continue
		}
		c.drawn.element = outer.element.inLanguage(text.Language(r.text))
		c.drawGlyphs(st, at, y, r)
		c.drawn = outer
	}
}

// drawCommon draws text in the common font of a style's face, at a place in points.
func (c *canvas) drawCommon(st style, x, y float64, text string) {
	font := st.face.common
	c.mark(c.drawn)
	c.set(font.name, st)
	b := appendPlace(append(c.scratch[:0], "BT "...), x, y)
	b = append(b, " Td ("...)
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
	c.scratch = append(b, ") Tj ET"...)
	c.pdf.RawWriteStr(string(c.scratch))
}

// drawGlyphs draws a run of glyphs at a place in points, one cluster after the other in the order in which they are read.
func (c *canvas) drawGlyphs(st style, x, y float64, r run) {
	font := c.embedded(r.source)
	if !r.drawnOtherwise || c.drawn.element == nil {
		c.mark(c.drawn)
	} else {
		c.endMark() // pieces of content must not be nested: some readers lose what follows
		b := append(c.piece(c.scratch[:0], "Span", c.drawn.element), " /ActualText <"...)
		c.scratch = append(appendHex(b, utf16Text(r.text)), ">>> BDC"...)
		c.pdf.RawWriteStr(string(c.scratch))
		c.marked = marking{artifact: "Span"}
		defer c.endMark()
	}
	c.set(font.name, st)
	for _, cluster := range r.clusters {
		if r.rightToLeft {
			cluster = spread(r.source, cluster)
		}
		b := c.scratch[:0]
		for i, g := range cluster.glyphs {
			text := cluster.text
			switch {
			case cluster.texts != nil:
				text = cluster.texts[i]
			case i > 0:
				text = noText
			}
			b = appendPlace(append(b, "BT "...), x+float64(g.x)*st.size/1000, y+float64(g.y)*st.size/1000)
			b = append(b, " Td <"...)
			code := font.code(g.id, text)
			b = appendHex(b, []byte{byte(code >> 8), byte(code)})
			b = append(b, "> Tj ET\n"...)
		}
		c.scratch = b
		c.pdf.RawWriteStr(string(b[:len(b)-1]))
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

// points converts millimetres.
func (c *canvas) points(millimetres float64) float64 { return millimetres * 72 / 25.4 }

func appendPlace(b []byte, x, y float64) []byte {
	b = strconv.AppendFloat(b, x, 'f', 2, 64)
	b = append(b, ' ')
	return strconv.AppendFloat(b, y, 'f', 2, 64)
}

func appendHex(b, data []byte) []byte { return fmt.Appendf(b, "%X", data) }

// spread gives each character of a ligature that is written from right to left a glyph of its own, and so each joiner, because
// readers turn the text of one glyph around with the rest. They are in the order in which they are read: what is read first
// ends where the ligature ends, and shows nothing.
func spread(s *source, c cluster) cluster {
	runes := []rune(c.text)
	last := len(runes) - 1
	space, err := s.cmap.GlyphIndex(nil, ' ')
	switch {
	case last == 1 && joiner(runes[1]) && len(c.glyphs) == 2:
		c.glyphs = []placed{c.glyphs[1], c.glyphs[0]}
	case last > 0 && len(c.glyphs) == 1 && err == nil && space != 0:
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
