package pdf

import "github.com/provider-checkout/provider-checkout/agreement"

// WidthsOfCopy returns the width of what every page of a copy says, in millimetres.
func (p *Printer) WidthsOfCopy(a agreement.Agreement, made agreement.Copy) map[string]float64 {
	c := newCanvas(p.regular, p.bold, newShaper(p.regular.others), a, scales[0])
	mark, foot := made.Mark(p.zone), a.CopyFoot()
	return map[string]float64{mark: c.width(c.stamp, mark), foot: c.width(c.small, foot)}
}
