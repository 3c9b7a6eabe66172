package pdf

import (
	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/agreement"
)

// valuesAt is where the values of labelled rows begin, in millimetres.
const valuesAt = left + 48.0

// section draws sec in the order in which it is read; first is the one with the document's title.
func (s *sheet) section(sec agreement.Section, first bool) {
	s.about = sec.Title
	if sec.AtAGlance {
		s.box(sec)
		s.note()
		return
	}
	if s.breaksBadly(sec) {
		s.page()
	}
	s.open(sec.Title, first)
	for _, p := range sec.Paragraphs {
		s.paragraph(p)
	}
	for _, r := range sec.Rows {
		s.row(r)
	}
	if !sec.Table.IsZero() {
		s.table(sec.Table)
	}
	s.note()
}

// breaksBadly tells whether too few rows of a section would stand on this page, or too few on the next, and
// it is no longer than half a page. It draws nothing.
func (s *sheet) breaksBadly(sec agreement.Section) bool {
	const half = (bottom - top) / 2
	const first, last = 4, 3 // rows
	if s.fits(half) || !sec.Table.IsZero() {
		return false
	}
	about, undrawn := s.about, s.undrawn
	defer func() { s.about, s.undrawn = about, undrawn }()
	height, here := s.heading.height+4, 0
	for _, p := range sec.Paragraphs {
		height += float64(len(s.wrap(s.body, s.clean(s.body, p), right-left)))*s.body.height + 1.5
	}
	for _, r := range sec.Rows {
		labels, lines := s.lines(r)
		height += s.rowHeight(max(len(labels), len(lines)))
		if s.fits(height) {
			here++
		}
	}
	return height <= half && !s.fits(height) && (here < first || len(sec.Rows)-here < last)
}

// open writes a section's title on the page where its first lines stand.
func (s *sheet) open(title string, first bool) {
	st := s.heading
	if first {
		st = s.title
	} else {
		s.y += 4
	}
	s.need(st.height + 4*s.body.height)
	s.pdf.Bookmark(title, 0, s.y)
	for _, line := range s.wrap(st, s.clean(st, title), right-left) {
		s.put(st, left, s.y, line)
		s.y += st.height
	}
}

// boxed is a line of a box: a label, a value, or a part of one that goes on.
type boxed struct {
	label, value string
	style        style // of the label, and of the line's height
}

// box draws a section that is seen first: its title and rows on a tint of the accent, on one page if it
// fits on one.
func (s *sheet) box(sec agreement.Section) {
	const pad = 5.0
	title := s.heading
	title.colour = colour.Black // what can be read on white might not be on the tint
	lines := []boxed{{sec.Title, "", title}}
	for _, r := range sec.Rows {
		s.about = r.Label
		label := s.clean(s.glanceLabel, r.Label)
		for _, value := range s.wrap(s.glance, s.clean(s.glance, r.Value), right-pad-valuesAt) {
			lines = append(lines, boxed{label, value, s.glanceLabel})
			label = ""
		}
	}
	height := pad
	for _, l := range lines {
		height += l.style.height
	}
	s.y += 2
	s.need(min(height, bottom-top))
	s.pdf.Bookmark(sec.Title, 0, s.y)
	s.band(pad / 2)
	for _, l := range lines {
		s.need(l.style.height)
		y := s.y
		s.band(l.style.height)
		s.put(l.style, left+pad, y, l.label)
		s.put(s.glance, valuesAt, y, l.value)
	}
	s.band(pad / 2)
	s.y += 2
}

// band draws the ground of a box for the next height, and goes on below it.
func (s *sheet) band(height float64) {
	const overlap = 0.1 // so that no line shows between two
	s.fill(left, s.y, right-left, height+overlap, s.accent.Tint())
	s.fill(left, s.y, 1.2, height+overlap, s.accent)
	s.y += height
}

func (s *sheet) paragraph(text string) {
	for _, line := range s.wrap(s.body, s.clean(s.body, text), right-left) {
		s.need(s.body.height)
		s.put(s.body, left, s.y, line)
		s.y += s.body.height
	}
	s.y += 1.5
}

// lines are what a row is written in.
func (s *sheet) lines(r agreement.Row) (labels, values []string) {
	s.about = r.Label
	labels = s.wrap(s.label, s.clean(s.label, r.Label), valuesAt-left-4)
	return labels, s.wrap(s.body, s.clean(s.body, r.Value), right-valuesAt)
}

// rowHeight is how high a row of so many lines is, with what keeps it from the next one.
func (s *sheet) rowHeight(lines int) float64 {
	height := float64(lines)*s.body.height + 0.5
	if lines > 1 {
		height += 1.2 // rows of several lines are told apart
	}
	return height
}

func (s *sheet) row(r agreement.Row) {
	labels, lines := s.lines(r)
	count := max(len(labels), len(lines))
	s.need(float64(min(count, 8)) * s.body.height) // a short row stays on one page
	for i := range count {
		s.need(s.body.height)
		if i < len(labels) {
			s.put(s.label, left, s.y, labels[i])
		}
		if i < len(lines) {
			s.put(s.body, valuesAt, s.y, lines[i])
		}
		s.y += s.body.height
	}
	s.y += s.rowHeight(count) - float64(count)*s.body.height
}

// table draws t with its header on every page that it reaches.
func (s *sheet) table(t agreement.Table) {
	const height = 5.5
	columns := s.columns(t)
	header := func() {
		s.cells(s.strong, columns, t.Header)
		s.y += height
		s.rule(s.y, s.accent)
	}
	turn := func() {
		if !s.fits(height) {
			s.page()
			header()
		}
	}
	s.need(3 * height)
	header()
	for _, row := range t.Rows {
		turn()
		s.cells(s.body, columns, row)
		s.y += height
		s.rule(s.y, faint)
	}
	turn()
	s.cells(s.strong, columns, t.Foot)
	s.y += height + 1.5
}

// columns returns where each column of t begins, but where the last one ends: columns are as wide as
// their widest cell, and the rest of the page's width lies between them.
func (s *sheet) columns(t agreement.Table) []float64 {
	widths := make([]float64, len(t.Header))
	widen := func(st style, cells []string) {
		for i, cell := range cells {
			widths[i] = max(widths[i], s.width(st, s.clean(st, cell)))
		}
	}
	widen(s.strong, t.Header)
	widen(s.strong, t.Foot)
	for _, row := range t.Rows {
		widen(s.body, row)
	}
	gap := right - left
	for _, w := range widths {
		gap -= w
	}
	gap /= float64(max(1, len(widths)-1))

	columns := make([]float64, len(widths))
	x := left
	for i, w := range widths {
		columns[i] = x
		x += w + gap
	}
	columns[len(columns)-1] = right
	return columns
}

// cells draws a row of a table on the line that begins at s.y: the last cell is an amount.
func (s *sheet) cells(st style, columns []float64, cells []string) {
	y := s.y + 0.25
	for i, cell := range cells {
		cell = s.clean(st, cell)
		if i == len(cells)-1 {
			s.putRight(st, columns[i], y, cell)
			continue
		}
		s.put(st, columns[i], y, cell)
	}
}
