package pdf

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/jung-kurt/gofpdf"

	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/agreement"
)

// The area of an A4 page that is written on, in millimetres, and where a header and the footer stand.
const (
	left, right = 22.0, 188.0
	top, bottom = 18.0, 272.0
	header      = 8.0
	footer      = 281.0
	pageWidth   = 210.0
	edge        = 3.0 // of the provider's colour, along the top
)

var (
	grey  = colour.RGB{R: 90, G: 90, B: 90}    // for what is less important than the text
	faint = colour.RGB{R: 215, G: 215, B: 215} // for lines
	slate = colour.RGB{R: 38, G: 70, B: 83}    // for a provider that has no colour
)

// canvas is a document that is written from top to bottom, with a new page wherever the next
// line does not fit.
type canvas struct {
	pdf         *gofpdf.Fpdf
	y           float64        // top of the next line
	used        setting        // the style and font that are set in the document now
	whole       map[*face]bool // faces that the document holds whole
	alwaysWhole bool           // for benchmarks: use no subsets
	missing     bool           // a character that the fonts lack was written
	noted       bool           // what stands for such a character is explained
	accent      colour.RGB     // the provider's, as it can be read on white

	title, heading, body, label, strong, small, glance, glanceLabel, mark style
}

// style is how a line of text looks.
type style struct {
	face   *face
	size   float64 // points
	height float64 // of a line, millimetres
	colour colour.RGB
}

// setting is a style in one of the two fonts of its face.
type setting struct {
	style
	family string
}

// The names by which the library knows the fonts of a face.
const (
	subsetFamily = "subset"
	wholeFamily  = "whole"
)

// newCanvas begins a document with one empty page, in a provider's colour, #rrggbb or "". Its bytes depend
// on nothing but what is written, for the library adds neither the present time nor the order of a map.
func newCanvas(regular, bold *face, at time.Time, brand string) *canvas {
	accent, ok := colour.Parse(brand)
	if !ok {
		accent = slate
	}
	accent = accent.Text()
	c := &canvas{
		pdf:         gofpdf.New("P", "mm", "A4", ""),
		whole:       map[*face]bool{},
		accent:      accent,
		title:       style{bold, 19, 10, colour.Black},
		heading:     style{bold, 12.5, 7.5, accent},
		body:        style{regular, 9.5, 5, colour.Black},
		label:       style{regular, 9.5, 5, grey},
		strong:      style{bold, 9.5, 5, colour.Black},
		small:       style{regular, 7.5, 4, grey},
		glance:      style{regular, 10.5, 6, colour.Black},
		glanceLabel: style{bold, 9.5, 6, colour.Black},
		mark:        style{bold, 8.5, 5, colour.Black},
	}
	c.pdf.SetCatalogSort(true)
	c.setTimes(at)
	c.pdf.SetAutoPageBreak(false, 0)
	for _, f := range []*face{regular, bold} {
		c.pdf.AddFontFromBytes(subsetFamily, f.style, f.subset.definition, f.subset.packed)
	}
	c.newPage()
	return c
}

// document draws an agreement with these sections.
func (c *canvas) document(a agreement.Agreement, sections []agreement.Section) {
	c.setTitle(a.Title())
	c.drawSections(sections)
	c.drawFooters(a.Foot(), footer)
}

// copyOf draws a copy of an agreement with these sections and this mark. What identifies the agreement has a line of its
// own at the foot, because it is longer than that of the document.
func (c *canvas) copyOf(a agreement.Agreement, sections []agreement.Section, mark string, drawn time.Time) {
	c.setTitle(a.Title() + ". " + mark)
	c.setTimes(drawn)
	c.drawSections(sections)
	c.drawFooters(a.CopyFoot(), footer+c.small.height)
	c.eachPage(func(int) { c.drawText(c.mark, left, header, c.clean(c.mark, mark)) })
}

func (c *canvas) drawSections(sections []agreement.Section) {
	for i, section := range sections {
		c.drawSection(section, i == 0)
	}
}

// setTimes sets when the document says that it was made.
func (c *canvas) setTimes(at time.Time) {
	c.pdf.SetCreationDate(at.UTC())
	c.pdf.SetModificationDate(at.UTC())
}

// setTitle sets the title that the window of a PDF reader shows.
func (c *canvas) setTitle(title string) {
	c.pdf.SetTitle(c.clean(c.small, title), true)
}

func (c *canvas) newPage() {
	c.pdf.AddPage()
	c.fillRect(0, 0, pageWidth, edge, c.accent)
	c.y = top
}

func (c *canvas) fits(height float64) bool { return c.y+height <= bottom }

// ensureSpace begins a new page unless height fits on this one.
func (c *canvas) ensureSpace(height float64) {
	if !c.fits(height) {
		c.newPage()
	}
}

// clean returns text as it can be drawn in st, and remembers whether that lacks a character.
func (c *canvas) clean(st style, text string) string {
	return st.face.clean(text, func(rune) { c.missing = true })
}

// setFont sets the font for text in st, and returns text in the encoding of that font. Text of which the
// subset lacks a character is set in the whole face, which looks the same.
func (c *canvas) setFont(st style, text string) string {
	family := subsetFamily
	encoded, ok := st.face.subset.encode(text)
	if !ok || c.alwaysWhole {
		family, encoded = wholeFamily, text
		if !c.whole[st.face] {
			c.whole[st.face] = true
			c.pdf.AddUTF8FontFromBytes(family, st.face.style, bytes.Clone(st.face.ttf))
		}
	}
	if c.used != (setting{st, family}) {
		c.used = setting{st, family}
		c.pdf.SetFont(family, st.face.style, st.size)
		c.pdf.SetTextColor(parts(st.colour))
	}
	return encoded
}

func (c *canvas) width(st style, text string) float64 { return c.millimetres(st, st.face.width(text)) }

// millimetres converts a width in thousandths of the type size.
func (c *canvas) millimetres(st style, width int) float64 {
	return float64(width) * c.pdf.PointConvert(st.size) / 1000
}

// drawText draws clean text at x on the line that begins at y.
func (c *canvas) drawText(st style, x, y float64, text string) {
	if text == "" {
		return
	}
	c.pdf.Text(x, y+0.7*st.height, c.setFont(st, text))
}

// drawTextRight draws clean text so that it ends at x.
func (c *canvas) drawTextRight(st style, x, y float64, text string) {
	c.drawText(st, x-c.width(st, text), y, text)
}

// drawLine draws a line across the page at y.
func (c *canvas) drawLine(y float64, col colour.RGB) {
	c.pdf.SetDrawColor(parts(col))
	c.pdf.SetLineWidth(0.2)
	c.pdf.Line(left, y, right, y)
}

// fillRect fills a rectangle.
func (c *canvas) fillRect(x, y, width, height float64, col colour.RGB) {
	c.pdf.SetFillColor(parts(col))
	c.pdf.Rect(x, y, width, height, "F")
}

// parts returns a colour as the library takes it.
func parts(col colour.RGB) (r, g, b int) { return int(col.R), int(col.G), int(col.B) }

// wrap divides clean text into lines no wider than width: between words, and within a
// word that is wider than a whole line. A text without words is one empty line.
func (c *canvas) wrap(st style, text string, width float64) []string {
	var lines []string
	line, used := "", 0 // used is its width, in thousandths of the type size
	for word := range strings.FieldsSeq(text) {
		if more := st.face.width(" ") + st.face.width(word); line != "" && c.millimetres(st, used+more) <= width {
			line, used = line+" "+word, used+more
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for c.width(st, word) > width {
			head := c.head(st, word, width)
			if hyphen := strings.LastIndexByte(head, '-'); hyphen > 0 {
				head = head[:hyphen+1]
			}
			lines = append(lines, head)
			word = word[len(head):]
		}
		line, used = word, st.face.width(word)
	}
	return append(lines, line)
}

// head returns as much of the beginning of word as fits into width, at least one rune.
func (c *canvas) head(st style, word string, width float64) string {
	end, used := 0, 0.0
	for i, r := range word {
		used += c.width(st, string(r))
		if i > 0 && used > width {
			break
		}
		end = i + len(string(r))
	}
	return word[:end]
}

// noteMissing writes what a number in brackets is, where the first one was written.
func (c *canvas) noteMissing() {
	if !c.missing || c.noted {
		return
	}
	c.noted = true
	c.y++
	c.drawParagraph("What stands as [U+…] in this document is a character that it cannot show, by its Unicode number.")
}

// drawFooters writes the page number at the foot of every page, and text on the line that begins at y.
func (c *canvas) drawFooters(text string, y float64) {
	text = c.clean(c.small, text)
	pages := c.pdf.PageCount()
	c.eachPage(func(n int) {
		c.drawLine(footer-2, faint)
		c.drawText(c.small, left, y, text)
		c.drawTextRight(c.small, right, footer, fmt.Sprintf("Page %d of %d", n, pages))
	})
}

// eachPage calls draw for every page, once all are begun.
func (c *canvas) eachPage(draw func(n int)) {
	for n := 1; n <= c.pdf.PageCount(); n++ {
		c.pdf.SetPage(n)
		c.used = setting{} // the library sets a font for each page
		draw(n)
	}
}
