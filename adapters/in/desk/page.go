package desk

import (
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// page is the data of a page, for its template.
type page struct {
	v       *visit
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

// Done says what was done by the act that led to the page; "" without such an act.
func (p page) Done() string { return doneTexts[web.One(p.v.r.URL.Query(), "done")] }

// doneTexts say that an act was done, by the last word of its route.
var doneTexts = map[string]string{
	"link":      "A new link goes to the e-mail address on record.",
	"notice":    "The e-mail is sent again.",
	"cancel":    "The checkout is cancelled.",
	"withdraw":  "The withdrawal was asked for. It is done once a second person approves it.",
	"erase":     "The erasure was asked for. It is done once a second person approves it.",
	"enable":    "It was asked for. The provider is enabled once a second person approves it.",
	"reveal":    "The personal data is shown for five minutes. The log has that you looked.",
	"retry":     "It is attempted in a moment.",
	"approve":   "Approved and done.",
	"decline":   "It will not be done. The log has that it was declined.",
	"redeliver": "The failed events are sent again in a moment.",
	"rate":      "The rate is changed.",
	"disable":   "The provider is disabled.",
	"keys":      "The key is revoked.",
	doneNothing: "There was nothing to do: no event failed in that time, but for events that wait to be sent again.",
	doneTaken:   "The receiver took the event.",
	doneRefused: "The receiver did not take the event; the page says why.",
	doneUnclean: "Approved and erased. But the files of the store may still hold the data in free space: have an engineer run the " +
		"command “privacy erase”, for any address, which cleans them.",
}

// Ends of acts that are not the usual ones.
const (
	doneNothing = "nothing"
	doneTaken   = "taken"
	doneRefused = "refused"
	doneUnclean = "erased" // but the store's files could not be cleaned
)

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
func (p page) Rows(content any) page { return page{p.v, content} }
