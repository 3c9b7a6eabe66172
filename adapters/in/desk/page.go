package desk

import (
	"time"

	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// page is the data of a page, for its template.
type page struct {
	v       *visit
	Title   string
	Content any
}

// timeLayout is the form of times on the desk.
const timeLayout = "2 Jan 2006, 15:04:05"

// Name returns who is signed in.
func (p page) Name() string { return p.v.session.Name }

// Roles returns the roles of who is signed in.
func (p page) Roles() []operate.Role { return p.v.session.roles }

// May reports whether a role of the session may do an act, or ask for it.
func (p page) May(act operate.Act) bool { return p.v.session.roleFor(act) != "" }

// Fresh reports whether dangerous acts need no new sign-in.
func (p page) Fresh() bool { return p.v.session.fresh(p.v.Now()) }

// Again returns the address of a new sign-in that leads back to the page.
func (p page) Again() string { return signInPath + "?fresh&to=" + p.v.r.URL.Path }

// At returns a time in New Zealand; "" for the zero time.
func (p page) At(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.In(p.v.zone).Format(timeLayout)
}

// Stamp returns a time for programs that read the page.
func (p page) Stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// Ago returns how long ago a time was, in one unit.
func (p page) Ago(t time.Time) string {
	d := p.v.Now().Sub(t)
	switch {
	case d < time.Minute:
		return "less than a minute"
	case d < 2*time.Hour:
		return count(int(d.Minutes()), "minute")
	case d < 48*time.Hour:
		return count(int(d.Hours()), "hour")
	}
	return count(int(d.Hours()/24), "day")
}

// ThisMonth returns the month that it is.
func (p page) ThisMonth() string { return p.v.thisMonth() }

// Rows returns a part of the page's content, for a template that shows it with the page's words for times.
func (p page) Rows(content any) page { return page{p.v, p.Title, content} }
