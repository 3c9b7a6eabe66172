package pdf

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/agreement"
)

// The area of an A4 page that is written on, in millimetres, and where the footer stands.
const (
	left, right = 19.0, 191.0
	top, bottom = 14.0, 276.5
	footer      = 281.0
	pageWidth   = 210.0
	pageHeight  = 297.0
	edge        = 3.0         // of the provider's colour, along the top
	valuesAt    = left + 42.0 // the left edge of the values of labelled rows
)

var (
	grey  = colour.RGB{R: 90, G: 90, B: 90}    // for what is less important than the text
	faint = colour.RGB{R: 215, G: 215, B: 215} // for lines
	slate = colour.RGB{R: 38, G: 70, B: 83}    // for a provider that has no colour
)

// canvas is a document that is written from top to bottom, with a new page wherever the next
// line does not fit.
type canvas struct {
	pages     [][]byte // the content of each
	page      int      // the index of the page that is drawn on
	marks     []bookmark
	shaper    *shaper
	structure *structure
	fonts     []*embedded // of letters that the common fonts lack
	drawn     marking     // what is drawn now
	marked    marking     // the piece of content that is open on the page
	used      used        // what is set on the page
	y         float64     // top of the next line
	missing   bool        // a character that the fonts lack was written
	noted     bool        // what stands for such a character is explained
	accent    colour.RGB  // the provider's, as it can be read on white

	title, heading, body, label, strong, small, glance, glanceLabel style
}

type style struct {
	face   *face
	size   float64 // points
	height float64 // of a line, millimetres
	colour colour.RGB
}

// firstEmbedded is the number in the name of the first font that a document makes for itself, after the common fonts.
const firstEmbedded = 3

// bookmark is an entry of the outline: a title, and the index and the place on it, in points, of its page.
type bookmark struct {
	title string
	page  int
	y     float64
}

// newCanvas begins a document about an agreement, with one empty page. Its bytes depend on nothing but the text.
func newCanvas(regular, bold *face, shaper *shaper, a agreement.Agreement) *canvas {
	accent, ok := colour.Parse(a.Provider.Colour)
	if !ok {
		accent = slate
	}
	accent = accent.Text()
	c := &canvas{
		shaper:      shaper,
		structure:   newStructure(),
		accent:      accent,
		title:       style{bold, 18, 9.5, colour.Black},
		heading:     style{bold, 10.5, 5.6, accent},
		body:        style{regular, 8, 3.6, colour.Black},
		label:       style{regular, 8, 3.6, grey},
		strong:      style{bold, 8, 3.6, colour.Black},
		small:       style{regular, 7.5, 4, grey},
		glance:      style{regular, 9, 4.5, colour.Black},
		glanceLabel: style{bold, 8, 4.5, colour.Black},
	}
	c.newPage()
	return c
}

func (c *canvas) newPage() {
	c.turnTo(len(c.pages))
	c.fillRect(0, 0, pageWidth, edge, c.accent)
	c.y = top
}

// turnTo has what follows drawn on a page, which is the next one or was begun before.
func (c *canvas) turnTo(page int) {
	c.endMark()
	if page == len(c.pages) {
		c.pages = append(c.pages, nil)
	}
	c.page, c.used = page, used{}
}

// write appends a line to the content of the page.
func (c *canvas) write(parts ...string) {
	b := c.pages[c.page]
	for _, part := range parts {
		b = append(b, part...)
	}
	c.pages[c.page] = append(b, '\n')
}

// operate appends an operator with its operands to the content of the page.
func (c *canvas) operate(operator string, operands ...float64) {
	b := c.pages[c.page]
	for _, n := range operands {
		b = appendNumber(b, n)
	}
	c.pages[c.page] = append(append(b, operator...), '\n')
}

// appendNumber appends a number, rounded to thousandths, and a space.
func appendNumber(b []byte, n float64) []byte {
	return append(strconv.AppendFloat(b, math.Round(n*1000)/1000+0, 'f', -1, 64), ' ') // 0 makes -0 the number 0
}

// bookmark adds the current line to the outline.
func (c *canvas) bookmark(title string) {
	c.marks = append(c.marks, bookmark{title, c.page, points(pageHeight - c.y)})
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

func (c *canvas) width(st style, text string) float64 {
	return c.millimetres(st, c.shaper.width(st.face, text))
}

func (c *canvas) millimetres(st style, width int) float64 {
	return float64(width) * st.size * (25.4 / 72) / 1000
}

func (c *canvas) drawTextRight(st style, x, y float64, text string) {
	c.drawText(st, x-c.width(st, text), y, text)
}

func (c *canvas) drawLine(y float64, col colour.RGB) {
	c.mark(marking{artifact: decoration})
	c.operate("RG", parts(col)...)
	c.operate("w", 0.57)
	c.operate("m", points(left), points(pageHeight-y))
	c.operate("l S", points(right), points(pageHeight-y))
}

func (c *canvas) fillRect(x, y, width, height float64, col colour.RGB) {
	c.mark(marking{artifact: decoration})
	c.used.valid = false // the colour is another
	c.operate("rg", parts(col)...)
	c.operate("re f", points(x), points(pageHeight-y), points(width), -points(height))
}

func parts(col colour.RGB) []float64 {
	return []float64{float64(col.R) / 255, float64(col.G) / 255, float64(col.B) / 255}
}

// points converts millimetres, to hundredths of a point.
func points(millimetres float64) float64 { return math.Round(millimetres*7200/25.4) / 100 }

// wrap divides clean text into lines no wider than width: between words, where a line keeps its space, and within a
// word that is wider than a whole line. A text without words is one empty line.
func (c *canvas) wrap(st style, text string, width float64) (lines []string) {
	begin, used := 0, 0 // of the line, which has this width in thousandths of the type size
	for at := 0; at < len(text); {
		end := len(text)
		if space := strings.IndexByte(text[at:], ' '); space >= 0 {
			end = at + space
		}
		if at > begin {
			if more := c.shaper.width(st.face, text[at-1:end]); c.millimetres(st, used+more) <= width {
				used, at = used+more, end+1
				continue
			}
			lines, begin = append(lines, text[begin:at]), at // the space is not seen, and is read
		}
		if used = c.shaper.width(st.face, text[at:end]); c.millimetres(st, used) > width {
			heads := c.divide(st, text[at:end], width)
			last := heads[len(heads)-1]
			lines, begin, used = append(lines, heads[:len(heads)-1]...), end-len(last), c.shaper.width(st.face, last)
		}
		at = end + 1
	}
	return append(lines, text[begin:])
}

// divide divides a word into parts no wider than width, of one cluster at least, and behind a hyphen where there is one.
func (c *canvas) divide(st style, word string, width float64) (parts []string) {
	clusters := c.shaper.measure(st.face, word)
	for len(clusters) > 0 {
		n, used := 0, 0
		for n < len(clusters) && (n == 0 || c.millimetres(st, used+clusters[n].width) <= width) {
			used += clusters[n].width
			n++
		}
		for n > 1 && c.width(st, textOf(clusters[:n])) > width { // letters at an end may be wider than those within
			n--
		}
		if n < len(clusters) {
			for i := n; i > 0; i-- {
				if clusters[i-1].text == "-" {
					n = i
					break
				}
			}
		}
		parts = append(parts, textOf(clusters[:n]))
		clusters = clusters[n:]
	}
	return parts
}

func textOf(clusters []cluster) (text string) {
	for _, c := range clusters {
		text += c.text
	}
	return text
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

// drawFooters writes the page number at the foot of every page, and text.
func (c *canvas) drawFooters(text string) {
	text = c.clean(c.small, text)
	for n := range c.pages {
		c.turnTo(n)
		c.drawLine(footer-2, faint)
		c.asArtifact(runningFooter)
		c.drawText(c.small, left, footer, text)
		c.drawTextRight(c.small, right, footer, fmt.Sprintf("Page %d of %d", n+1, len(c.pages)))
	}
	c.endMark()
}
