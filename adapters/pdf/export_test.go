package pdf

import "github.com/provider-checkout/provider-checkout/agreement"

// PrintWithoutSubsets renders a with the whole fonts, as the library does by itself.
func (p *Printer) PrintWithoutSubsets(a agreement.Agreement) ([]byte, error) {
	sections, err := a.Text(p.zone)
	if err != nil {
		return nil, err
	}
	press, err := newPress()
	if err != nil {
		return nil, err
	}
	c := newCanvas(p.regular, p.bold, a.AcceptedAt, a.Provider.Colour)
	c.alwaysWhole = true
	c.document(a, sections)
	return press.document(c)
}

// WidthsOfCopy returns the width of what every page of a copy says, in millimetres.
func (p *Printer) WidthsOfCopy(a agreement.Agreement, made agreement.Copy) map[string]float64 {
	c := newCanvas(p.regular, p.bold, made.DrawnAt, "")
	mark, foot := made.Mark(p.zone), a.CopyFoot()
	return map[string]float64{mark: c.width(c.mark, mark), foot: c.width(c.small, foot)}
}
