package pdf

import (
	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/agreement"
)

// valuesAt is where the values of labelled rows begin, in millimetres.
const valuesAt = left + 48.0

// drawSection draws sec in the order in which it is read; first is the one with the document's title.
func (c *canvas) drawSection(sec agreement.Section, first bool) {
	if sec.AtAGlance {
		c.drawBox(sec)
		c.noteMissing()
		return
	}
	if c.breaksBadly(sec) {
		c.newPage()
	}
	c.startSection(sec.Title, first)
	for _, p := range sec.Paragraphs {
		c.drawParagraph(p)
	}
	if len(sec.Rows) > 0 {
		list := c.structure.document.add("L", ofTerms)
		for _, r := range sec.Rows {
			c.drawRow(list, r)
		}
	}
	if !sec.Table.IsZero() {
		c.drawTable(sec.Table)
	}
	c.noteMissing()
}

// breaksBadly reports whether a page break would leave too few rows of a section on this page or on the next, although
// it is no longer than half a page. It draws nothing.
func (c *canvas) breaksBadly(sec agreement.Section) bool {
	const half = (bottom - top) / 2
	const first, last = 4, 3 // rows
	if c.fits(half) || !sec.Table.IsZero() {
		return false
	}
	missing := c.missing
	defer func() { c.missing = missing }()
	height, here := c.heading.height+4, 0
	for _, p := range sec.Paragraphs {
		height += float64(len(c.wrap(c.body, c.clean(c.body, p), right-left)))*c.body.height + 1.5
	}
	for _, r := range sec.Rows {
		labels, lines := c.lines(r)
		height += c.rowHeight(max(len(labels), len(lines)))
		if c.fits(height) {
			here++
		}
	}
	return height <= half && !c.fits(height) && (here < first || len(sec.Rows)-here < last)
}

// startSection writes a section's title on the page where its first lines stand.
func (c *canvas) startSection(title string, first bool) {
	st, kind := c.heading, "H2"
	if first {
		st, kind = c.title, "H1"
	} else {
		c.y += 4
	}
	c.ensureSpace(st.height + 4*c.body.height)
	c.pdf.Bookmark(title, 0, c.y)
	c.as(c.structure.document.add(kind, ""))
	for _, line := range c.wrap(st, c.clean(st, title), right-left) {
		c.drawText(st, left, c.y, line)
		c.y += st.height
	}
}

// boxed is a line of a box: a label and a value, or more of a value that takes several lines.
type boxed struct {
	label, value     string
	style            style // of the label, and of the line's height
	labelled, valued *element
}

// drawBox draws the section that is seen first: its title and rows on a tint of the accent, all on one page if they
// fit.
func (c *canvas) drawBox(sec agreement.Section) {
	const pad = 5.0
	title := c.heading
	title.colour = colour.Black // what can be read on white might not be on the tint
	lines := []boxed{{label: sec.Title, style: title, labelled: c.structure.document.add("H2", "")}}
	list := c.structure.document.add("L", ofTerms)
	for _, r := range sec.Rows {
		item := list.add("LI", "")
		label, labelled, valued := c.clean(c.glanceLabel, r.Label), item.add("Lbl", ""), item.add("LBody", "")
		for _, value := range c.wrap(c.glance, c.clean(c.glance, r.Value), right-pad-valuesAt) {
			lines = append(lines, boxed{label, value, c.glanceLabel, labelled, valued})
			label = ""
		}
	}
	height := pad
	for _, l := range lines {
		height += l.style.height
	}
	c.y += 2
	c.ensureSpace(min(height, bottom-top))
	c.pdf.Bookmark(sec.Title, 0, c.y)
	c.fillBand(pad / 2)
	for _, l := range lines {
		c.ensureSpace(l.style.height)
		y := c.y
		c.fillBand(l.style.height)
		c.as(l.labelled)
		c.drawText(l.style, left+pad, y, l.label)
		c.as(l.valued)
		c.drawText(c.glance, valuesAt, y, l.value)
	}
	c.fillBand(pad / 2)
	c.y += 2
}

// fillBand draws the background of a box down to height below the current line, and moves there.
func (c *canvas) fillBand(height float64) {
	const overlap = 0.1 // so that no line shows between two bands
	c.fillRect(left, c.y, right-left, height+overlap, c.accent.Tint())
	c.fillRect(left, c.y, 1.2, height+overlap, c.accent)
	c.y += height
}

func (c *canvas) drawParagraph(text string) {
	c.as(c.structure.document.add("P", ""))
	for _, line := range c.wrap(c.body, c.clean(c.body, text), right-left) {
		c.ensureSpace(c.body.height)
		c.drawText(c.body, left, c.y, line)
		c.y += c.body.height
	}
	c.y += 1.5
}

// lines returns the lines of a row.
func (c *canvas) lines(r agreement.Row) (labels, values []string) {
	labels = c.wrap(c.label, c.clean(c.label, r.Label), valuesAt-left-4)
	for _, line := range agreement.Lines(r.Value) {
		values = append(values, c.wrap(c.body, c.clean(c.body, line), right-valuesAt)...)
	}
	return labels, values
}

// rowHeight returns the height of a row of so many lines, with the space below it.
func (c *canvas) rowHeight(lines int) float64 {
	height := float64(lines)*c.body.height + 0.5
	if lines > 1 {
		height += 1.2 // sets rows of several lines apart
	}
	return height
}

// drawRow draws a labelled value as an item of a list.
func (c *canvas) drawRow(list *element, r agreement.Row) {
	item := list.add("LI", "")
	label, value := item.add("Lbl", ""), item.add("LBody", "")
	labels, lines := c.lines(r)
	count := max(len(labels), len(lines))
	c.ensureSpace(float64(min(count, 8)) * c.body.height) // a short row stays on one page
	for i := range count {
		c.ensureSpace(c.body.height)
		if i < len(labels) {
			c.as(label)
			c.drawText(c.label, left, c.y, labels[i])
		}
		if i < len(lines) {
			c.as(value)
			c.drawText(c.body, valuesAt, c.y, lines[i])
		}
		c.y += c.body.height
	}
	c.y += c.rowHeight(count) - float64(count)*c.body.height
}

// drawTable draws t with its header on every page that it reaches.
func (c *canvas) drawTable(t agreement.Table) {
	const height = 5.5
	columns := c.columns(t)
	table := c.structure.document.add("Table", "")
	draw := func(st style, row *element, cells []string) {
		c.drawCells(st, columns, row, cells)
		c.y += height
	}
	turn := func() {
		if c.fits(height) {
			return
		}
		c.newPage()
		draw(c.strong, nil, t.Header) // for eyes: a reader knows the header already
		c.drawLine(c.y, c.accent)
	}
	c.ensureSpace(3 * height)
	header := table.add("THead", "").add("TR", "")
	for range t.Header {
		header.add("TH", ofColumn)
	}
	draw(c.strong, header, t.Header)
	c.drawLine(c.y, c.accent)
	body := table.add("TBody", "")
	for _, cells := range t.Rows {
		turn()
		row := body.add("TR", "")
		row.add("TH", ofRow)
		for range cells[1:] {
			row.add("TD", "")
		}
		draw(c.body, row, cells)
		c.drawLine(c.y, faint)
	}
	turn()
	foot := table.add("TFoot", "").add("TR", "")
	foot.add("TH", spanning(len(t.Foot)-1))
	foot.add("TD", "")
	c.drawCells(c.strong, columns, foot, t.Foot)
	c.y += height + 1.5
}

// columns returns the position of each column of t: where it begins, or for the last one where it ends. Columns are as
// wide as their widest cell, and share the rest of the page's width as gaps.
func (c *canvas) columns(t agreement.Table) []float64 {
	widths := make([]float64, len(t.Header))
	widen := func(st style, cells []string) {
		for i, cell := range cells {
			widths[i] = max(widths[i], c.width(st, c.clean(st, cell)))
		}
	}
	widen(c.strong, t.Header)
	widen(c.strong, t.Foot)
	for _, row := range t.Rows {
		widen(c.body, row)
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

// drawCells draws a row of a table on the line that begins at c.y: the last cell is an amount. The cells are the elements of
// row, of which the first is that of all cells before those that have one; where row is nil they are no part of the text.
func (c *canvas) drawCells(st style, columns []float64, row *element, cells []string) {
	y := c.y + 0.25
	c.asArtifact(runningHeader)
	for i, cell := range cells {
		if row != nil {
			c.as(row.kids[max(0, i-len(cells)+len(row.kids))].element)
		}
		cell = c.clean(st, cell)
		if i == len(cells)-1 {
			c.drawTextRight(st, columns[i], y, cell)
			continue
		}
		c.drawText(st, columns[i], y, cell)
	}
}
