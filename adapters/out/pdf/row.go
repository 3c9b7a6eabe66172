package pdf

import (
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// row is a labelled value in lines.
type row struct {
	labels []string
	values []line
	height float64
	x      float64 // from where rows begin
	beside *row    // a row in the same line; optional
}

// above returns the space above the first line.
func (r row) above() float64 {
	if len(r.values) == 0 {
		return 0
	}
	return r.values[0].above
}

// line is a line of a value.
type line struct {
	text   string
	begins string  // the structure type of the paragraph, the list or the item that it begins: "P", "L", "LI"; "" if it goes on
	mark   string  // of the item that it begins
	indent float64 // from where values begin
	above  float64 // the space above it
}

const (
	itemIndent    = 6.0
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

// isShort reports whether a row leaves room for another beside it.
func (c *canvas) isShort(r row) bool {
	return len(r.labels) == 1 && len(r.values) == 1 && c.width(c.body, r.values[0].text) <= left+halfway-c.valuesAt-betweenHalves
}

// lay divides a labelled value into lines.
func (c *canvas) lay(label, value string) row {
	laid := row{labels: c.wrap(c.label, c.clean(c.label, label), c.valuesAt-left-2)}
	if !strings.Contains(value, "\n") {
		for _, text := range c.wrap(c.body, c.clean(c.body, value), right-c.valuesAt) {
			laid.values = append(laid.values, line{text: text})
		}
	} else {
		for _, p := range agreement.Paragraphs(value) {
			laid.values = append(laid.values, c.layPart(p)...)
		}
	}
	count := max(len(laid.labels), len(laid.values))
	laid.height = float64(count)*c.body.height + belowRow
	if count > 1 {
		laid.height = float64(count)*c.body.height + belowTallRow
	}
	for _, l := range laid.values {
		laid.height += l.above
	}
	return laid
}

// layPart divides a paragraph or a list into lines.
func (c *canvas) layPart(p agreement.Paragraph) (lines []line) {
	part := func(text string, first line) {
		for i, text := range c.wrap(c.body, c.clean(c.body, text), right-c.valuesAt-first.indent) {
			next := line{indent: first.indent}
			if i == 0 {
				next = first
			}
			next.text = text
			lines = append(lines, next)
		}
	}
	if p.Text != "" {
		part(p.Text, line{begins: "P", above: betweenParts})
	}
	for i, item := range p.Items {
		begins := "LI"
		if i == 0 {
			begins = "L"
		}
		part(item.Text, line{begins: begins, mark: item.Mark, indent: itemIndent, above: betweenParts})
	}
	return lines
}

// drawRows draws labelled values as a list. The last two stay on one page, and so does a tail that follows them.
func (c *canvas) drawRows(rows []row, tail float64) {
	if len(rows) == 0 {
		return
	}
	list := c.structure.document.add("L", ofTerms)
	for i, r := range rows {
		if last := rows[i:]; len(last) == 2 || len(rows) == 1 {
			height := tail
			for _, r := range last {
				height += r.height
			}
			if height <= together {
				c.ensureSpace(height)
			}
		}
		c.drawRow(list, r)
	}
}

// drawRow draws a labelled value as an item of a list, and after it the one beside it.
func (c *canvas) drawRow(list *element, r row) {
	if r.beside != nil {
		c.ensureSpace(r.height - belowRow)
		y, beside := c.y, *r.beside
		r.beside = nil
		c.drawRow(list, r)
		c.y = y
		r = beside
	}
	item := list.add("LI", "")
	label, value := item.add("Lbl", ""), item.add("LBody", "")
	body, inner := value, (*element)(nil)
	count := max(len(r.labels), len(r.values))
	if count <= unbrokenLines {
		c.ensureSpace(r.height - belowRow)
	}
	c.ensureSpace(float64(min(count, unbrokenLines)) * c.body.height)
	end := c.y + r.height
	labels := r.labels
	if len(labels) <= unbrokenLines { // they fit, and stand before the value also for readers that go by the order of drawing
		c.as(label)
		for i, text := range labels {
			c.drawText(c.label, left+r.x, c.y+r.above()+float64(i)*c.body.height, text)
		}
		labels = nil
	}
	for i := range count {
		var l line
		if i < len(r.values) {
			l = r.values[i]
		}
		c.y += l.above
		if !c.fits(c.body.height) {
			end -= c.y - top
			c.newPage()
		}
		if i < len(labels) {
			c.as(label)
			c.drawText(c.label, left+r.x, c.y, labels[i])
		}
		switch l.begins {
		case "P":
			value = body.add("P", "")
		case "L", "LI":
			if l.begins == "L" {
				inner = body.add("L", numbering(l.mark))
			}
			entry := inner.add("LI", "")
			c.as(entry.add("Lbl", ""))
			c.drawText(c.body, c.valuesAt, c.y, c.clean(c.body, l.mark))
			value = entry.add("LBody", "")
		}
		c.as(value)
		c.drawText(c.body, c.valuesAt+r.x+l.indent, c.y, l.text)
		c.y += c.body.height
	}
	c.y = end
}
