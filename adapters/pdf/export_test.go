package pdf

import "github.com/provider-checkout/provider-checkout/agreement"

// PrintWithoutSubsets renders a with the whole fonts, as the library does by itself.
func (p *Printer) PrintWithoutSubsets(a agreement.Agreement) ([]byte, error) {
	sections, err := a.Text(p.zone)
	if err != nil {
		return nil, err
	}
	c := newCanvas(p.regular, p.bold, a.AcceptedAt, a.Provider.Colour)
	c.alwaysWhole = true
	return c.document(a, sections)
}
