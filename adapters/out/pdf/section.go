package pdf

import (
	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/agreement"
)

// drawSection draws sec in the order in which it is read; first is the one with the document's title.
func (c *canvas) drawSection(sec agreement.Section, first bool) {
	if sec.AtAGlance {
		c.drawBox(sec)
		c.noteMissing()
		return
	}
	rows := c.layRows(sec)
	c.startSection(sec, rows, first)
	for _, p := range sec.Paragraphs {
		c.drawParagraph(p)
	}
	c.drawRows(rows)
	if !sec.Table.IsZero() {
		c.drawTable(sec.Table)
	}
	c.noteMissing()
}

// together is the most that is kept on one page although it is several things.
const together = (bottom - top) / 2

const (
	aboveHeading   = 3.0
	belowParagraph = 1.5
)

// startSection writes a section's title, on a page where its paragraphs and its first two rows stand too.
func (c *canvas) startSection(sec agreement.Section, rows []row, first bool) {
	st, kind, above := c.heading, "H2", aboveHeading
	if first {
		st, kind, above = c.title, "H1", 0
	}
	height := above + st.height
	for _, p := range sec.Paragraphs {
		height += float64(len(c.wrap(c.body, c.clean(c.body, p), right-left)))*c.body.height + belowParagraph
	}
	for _, r := range rows[:min(len(rows), 2)] {
		height += r.height
	}
	c.ensureSpace(max(min(height, together), st.height+4*c.body.height))
	if c.y > top {
		c.y += above
	}
	c.bookmark(sec.Heading())
	c.as(c.structure.document.add(kind, ""))
	for _, line := range c.wrap(st, c.clean(st, sec.Heading()), right-left) {
		c.drawText(st, left, c.y, line)
		c.y += st.height
	}
}

// drawBox draws the section that is seen first: its title and rows on a tint of the accent, all on one page if they
// fit.
func (c *canvas) drawBox(sec agreement.Section) {
	const pad = 5.0
	title := c.heading
	title.colour = colour.Black // what can be read on white might not be on the tint
	values := make([][]string, len(sec.Rows))
	height := pad + title.height
	for i, r := range sec.Rows {
		values[i] = c.wrap(c.glance, c.clean(c.glance, r.Value), right-pad-valuesAt)
		height += float64(len(values[i])) * c.glanceLabel.height
	}
	c.y += 2
	c.ensureSpace(min(height, bottom-top))
	c.bookmark(sec.Heading())
	c.fillBand(pad / 2)
	draw := func(st style, label, value string, labelled, valued *element) {
		c.ensureSpace(st.height)
		y := c.y
		c.fillBand(st.height)
		c.as(labelled)
		c.drawText(st, left+pad, y, label)
		c.as(valued)
		c.drawText(c.glance, valuesAt, y, value)
	}
	draw(title, sec.Title, "", c.structure.document.add("H2", ""), nil)
	list := c.structure.document.add("L", ofTerms)
	for i, r := range sec.Rows {
		item := list.add("LI", "")
		label, labelled, valued := c.clean(c.glanceLabel, r.Label), item.add("Lbl", ""), item.add("LBody", "")
		for _, value := range values[i] {
			draw(c.glanceLabel, label, value, labelled, valued)
			label = ""
		}
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
	c.y += belowParagraph
}

// drawTable draws t with its header on every page that it reaches.
func (c *canvas) drawTable(t agreement.Table) {
	height := c.body.height + 1.2
	columns := c.columns(t)
	table := c.structure.document.add("Table", "")
	draw := func(st style, row *element, cells []string, note string) {
		c.drawCells(st, columns, row, cells, note)
		c.y += height + c.noteHeight(note)
	}
	turn := func(height float64) {
		if c.fits(height) {
			return
		}
		c.newPage()
		draw(c.strong, nil, t.Header, "") // for eyes: a reader knows the header already
		c.drawLine(c.y, c.accent)
	}
	c.ensureSpace(3 * height)
	header := table.add("THead", "").add("TR", "")
	for range t.Header {
		header.add("TH", ofColumn)
	}
	draw(c.strong, header, t.Header, "")
	c.drawLine(c.y, c.accent)
	body := table.add("TBody", "")
	for i, cells := range t.Rows {
		turn(height + c.noteHeight(t.Note(i)))
		row := body.add("TR", "")
		row.add("TH", ofRow)
		for range cells[1:] {
			row.add("TD", "")
		}
		draw(c.body, row, cells, t.Note(i))
		c.drawLine(c.y, faint)
	}
	turn(height)
	foot := table.add("TFoot", "").add("TR", "")
	foot.add("TH", spanning(len(t.Foot)-1))
	foot.add("TD", "")
	c.drawCells(c.strong, columns, foot, t.Foot, "")
	c.y += height + 1.5
}

func (c *canvas) noteHeight(note string) float64 {
	if note == "" {
		return 0
	}
	return c.small.height
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

// drawCells draws a row of a table on the line that begins at c.y: the last cell is an amount, and a note stands below the second
// cell and belongs to it. The last cells belong to the
// elements of row, one each, and the cells before them to its first element; where row is nil they are no part of the text.
func (c *canvas) drawCells(st style, columns []float64, row *element, cells []string, note string) {
	y := c.y + 0.5
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
		if i == 1 && note != "" {
			c.drawText(c.small, columns[i], y+st.height-0.5, c.clean(c.small, note))
		}
	}
}

type row struct {
	labels []string
	values []line
	height float64
	x      float64 // from where rows begin
	beside *row    // a row in the same line; optional
}

type line struct {
	text   string
	begins bool // a paragraph of several
}

const (
	belowRow      = 0.5
	belowTallRow  = 1.0 // sets rows of several lines apart
	betweenParts  = 1.0
	betweenHalves = 2.0
	unbrokenLines = 8 // a row of so many lines stays on one page
)

// layRows divides the rows of a section into lines; two short facts share a line.
func (c *canvas) layRows(sec agreement.Section) []row {
	var rows []row
	for i, r := range sec.Rows {
		next := c.lay(sec.Label(i), r.Value)
		if last := len(rows) - 1; !sec.Clauses && last >= 0 && rows[last].beside == nil && c.isShort(rows[last]) && c.isShort(next) {
			next.x = halfway
			rows[last].beside = &next
			continue
		}
		rows = append(rows, next)
	}
	return rows
}

// halfway is the distance from the first of two rows in one line to the second.
const halfway = (right - left) / 2

func (c *canvas) isShort(r row) bool {
	return len(r.labels) == 1 && len(r.values) == 1 && c.width(c.body, r.values[0].text) <= left+halfway-valuesAt-betweenHalves
}

func (c *canvas) lay(label, value string) row {
	laid := row{labels: c.wrap(c.label, c.clean(c.label, label), valuesAt-left-2)}
	paragraphs := agreement.Lines(value)
	for _, paragraph := range paragraphs {
		for i, text := range c.wrap(c.body, c.clean(c.body, paragraph), right-valuesAt) {
			laid.values = append(laid.values, line{text, i == 0 && len(paragraphs) > 1})
		}
	}
	count := max(len(laid.labels), len(laid.values))
	laid.height = float64(count)*c.body.height + belowRow
	if count > 1 {
		laid.height = float64(count)*c.body.height + belowTallRow
	}
	if len(paragraphs) > 1 {
		laid.height += float64(len(paragraphs)) * betweenParts
	}
	return laid
}

func (c *canvas) drawRows(rows []row) {
	if len(rows) == 0 {
		return
	}
	list := c.structure.document.add("L", ofTerms)
	for _, r := range rows {
		c.drawRow(list, r)
		if r.beside != nil {
			c.y -= r.height
			c.drawRow(list, *r.beside)
		}
	}
}

// drawRow draws a labelled value as an item of a list. The label stands before the value also for readers that go by the order of drawing.
func (c *canvas) drawRow(list *element, r row) {
	item := list.add("LI", "")
	label, value := item.add("Lbl", ""), item.add("LBody", "")
	body := value
	together := r.height - belowRow
	if len(r.values) > unbrokenLines {
		together = float64(max(unbrokenLines, len(r.labels))) * c.body.height
	}
	c.ensureSpace(together)
	end, y := c.y+r.height, c.y
	if len(r.values) > 0 && r.values[0].begins {
		y += betweenParts
	}
	c.as(label)
	for i, text := range r.labels {
		c.drawText(c.label, left+r.x, y+float64(i)*c.body.height, text)
	}
	for _, l := range r.values {
		if l.begins {
			c.y += betweenParts
			value = body.add("P", "")
		}
		if !c.fits(c.body.height) {
			end -= c.y - top
			c.newPage()
		}
		c.as(value)
		c.drawText(c.body, valuesAt+r.x, c.y, l.text)
		c.y += c.body.height
	}
	c.y = end
}
