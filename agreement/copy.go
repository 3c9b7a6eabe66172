package agreement

import (
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// Copy is a rendering of an agreement that was not made at the confirmation. Every page of it says so, so that nobody
// takes it for the document that was agreed.
type Copy struct {
	DrawnAt time.Time
	Lost    bool // the document is gone; otherwise the rendering failed at the confirmation
}

// Mark returns what every page of the copy says above its text. The day is that of zone.
func (c Copy) Mark(zone *time.Location) string {
	mark := "COPY drawn on " + money.DateOf(c.DrawnAt.In(zone)).Long()
	if c.Lost {
		return mark + ". This is not the document that was agreed."
	}
	return mark + ". No document was drawn when this was agreed."
}

// CopyFoot returns the footer of every page of a copy.
func (a Agreement) CopyFoot() string { return "Copy of " + a.Foot() }
