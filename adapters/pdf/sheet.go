package pdf

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jung-kurt/gofpdf"

	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
)

// The area of an A4 page that is written on, in millimetres, and where the footer stands.
const (
	left, right = 22.0, 188.0
	top, bottom = 18.0, 272.0
	footer      = 281.0
	pageWidth   = 210.0
	edge        = 3.0 // of the provider's colour, along the top
)

// grey is what is less important than the text, and lines are.
var (
	grey  = colour.RGB{R: 90, G: 90, B: 90}
	faint = colour.RGB{R: 215, G: 215, B: 215}
	slate = colour.RGB{R: 38, G: 70, B: 83} // for a provider that has no colour
)

// sheet is a document that is written from top to bottom, with a new page wherever the next
// line does not fit.
type sheet struct {
	pdf     *gofpdf.Fpdf
	y       float64        // top of the next line
	used    setting        // what the page is set in at the moment
	whole   map[*face]bool // faces that the document has in whole
	about   string         // what the text that is being written is: the label of its row
	undrawn []string       // texts with characters that were not drawn since the last note, each by its code points
	accent  colour.RGB     // the provider's, as it can be read on white

	title, heading, body, label, strong, small, glance, glanceLabel style
}

// style is how a line of text looks.
type style struct {
	face   *face
	size   float64 // points
	height float64 // of a line, millimetres
	colour colour.RGB
}

// setting is a style with the font that has the characters.
type setting struct {
	style
	family string
}

// newSheet begins a document with one empty page, in a provider's colour, #rrggbb or "". Its bytes depend
// on nothing but what is written: the library would otherwise add the present time, and the order of a map.
func newSheet(regular, bold *face, at time.Time, brand string) *sheet {
	accent, ok := colour.Parse(brand)
	if !ok {
		accent = slate
	}
	accent = accent.Text()
	s := &sheet{
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
	}
	s.pdf.SetCatalogSort(true)
	s.pdf.SetCreationDate(at.UTC())
	s.pdf.SetModificationDate(at.UTC())
	s.pdf.SetAutoPageBreak(false, 0)
	for _, f := range []*face{regular, bold} {
		s.pdf.AddFontFromBytes("cut", f.style, f.cut.definition, f.cut.packed)
	}
	s.page()
	return s
}

// bytes ends the document.
func (s *sheet) bytes() ([]byte, error) {
	var b bytes.Buffer
	err := s.pdf.Output(&b)
	return b.Bytes(), err
}

// name sets the title that a reader's window shows.
func (s *sheet) name(title string) {
	s.pdf.SetTitle(s.clean(s.small, title), true)
}

func (s *sheet) page() {
	s.pdf.AddPage()
	s.fill(0, 0, pageWidth, edge, s.accent)
	s.y = top
}

func (s *sheet) fits(height float64) bool { return s.y+height <= bottom }

// need begins a new page unless height fits on this one.
func (s *sheet) need(height float64) {
	if !s.fits(height) {
		s.page()
	}
}

// clean makes text fit to draw in st, and remembers what cannot be drawn of it.
func (s *sheet) clean(st style, text string) string {
	var points []byte
	clean := st.face.clean(text, func(r rune) { points = fmt.Appendf(points, " %U", r) })
	if undrawn := s.about + ":" + string(points); points != nil && !slices.Contains(s.undrawn, undrawn) {
		s.undrawn = append(s.undrawn, undrawn)
	}
	return clean
}

// use readies the page for text in st and returns text as the font takes it: a line that the
// cut cannot hold is set in the whole face, which looks the same.
func (s *sheet) use(st style, text string) string {
	family := "cut"
	encoded, ok := st.face.cut.encode(text)
	if !ok {
		family, encoded = "whole", text
		if !s.whole[st.face] {
			s.whole[st.face] = true
			s.pdf.AddUTF8FontFromBytes(family, st.face.style, bytes.Clone(st.face.ttf))
		}
	}
	if s.used != (setting{st, family}) {
		s.used = setting{st, family}
		s.pdf.SetFont(family, st.face.style, st.size)
		s.pdf.SetTextColor(parts(st.colour))
	}
	return encoded
}

func (s *sheet) width(st style, text string) float64 {
	return float64(st.face.width(text)) * s.pdf.PointConvert(st.size) / 1000
}

// put draws clean text at x on the line that begins at y.
func (s *sheet) put(st style, x, y float64, text string) {
	if text == "" {
		return
	}
	s.pdf.Text(x, y+0.7*st.height, s.use(st, text))
}

// putRight draws clean text so that it ends at x.
func (s *sheet) putRight(st style, x, y float64, text string) {
	s.put(st, x-s.width(st, text), y, text)
}

// rule draws a line across the page at y.
func (s *sheet) rule(y float64, c colour.RGB) {
	s.pdf.SetDrawColor(parts(c))
	s.pdf.SetLineWidth(0.2)
	s.pdf.Line(left, y, right, y)
}

// fill fills a rectangle.
func (s *sheet) fill(x, y, width, height float64, c colour.RGB) {
	s.pdf.SetFillColor(parts(c))
	s.pdf.Rect(x, y, width, height, "F")
}

// parts is a colour as the library takes it.
func parts(c colour.RGB) (r, g, b int) { return int(c.R), int(c.G), int(c.B) }

// wrap divides clean text into lines no wider than width: between words, and within a
// word that is wider than a whole line. A text without words is one empty line.
func (s *sheet) wrap(st style, text string, width float64) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && s.width(st, line+" "+word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		for s.width(st, word) > width {
			head := s.head(st, word, width)
			if hyphen := strings.LastIndexByte(head, '-'); hyphen > 0 {
				head = head[:hyphen+1]
			}
			lines = append(lines, head)
			word = word[len(head):]
		}
		line = word
	}
	return append(lines, line)
}

// head returns as much of the beginning of word as fits into width, at least one rune.
func (s *sheet) head(st style, word string, width float64) string {
	end, used := 0, 0.0
	for i, r := range word {
		used += s.width(st, string(r))
		if i > 0 && used > width {
			break
		}
		end = i + len(string(r))
	}
	return word[:end]
}

// note says which characters were not drawn since the last note, if any, in the order in which they are read.
func (s *sheet) note() {
	if len(s.undrawn) == 0 {
		return
	}
	s.y++
	s.paragraph("This document cannot show every letter of what stands above. Each \uFFFD stands for one, and these are " +
		"they, in their order and by their Unicode numbers. " + strings.Join(s.undrawn, "; ") + ".")
	s.undrawn = nil // what the note itself cannot show of a label is told already
}

// footers writes text and the page number at the foot of every page.
func (s *sheet) footers(text string) {
	text = s.clean(s.small, text)
	pages := s.pdf.PageCount()
	for n := 1; n <= pages; n++ {
		s.pdf.SetPage(n)
		s.used = setting{} // each page remembers a font of its own
		s.rule(footer-2, faint)
		s.put(s.small, left, footer, text)
		s.putRight(s.small, right, footer, fmt.Sprintf("Page %d of %d", n, pages))
	}
}
