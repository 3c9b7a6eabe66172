package pdf

import (
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

// line is a line of a value.
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

// isShort reports whether a row leaves room for another beside it.
func (c *canvas) isShort(r row) bool {
	return len(r.labels) == 1 && len(r.values) == 1 && c.width(c.body, r.values[0].text) <= left+halfway-valuesAt-betweenHalves
}

// lay divides a labelled value into lines.
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

// drawRows draws labelled values as a list.
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
