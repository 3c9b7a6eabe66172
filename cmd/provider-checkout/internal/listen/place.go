package listen

import (
	"slices"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// Entry is an event with its place in the list.
type Entry struct {
	Cursor checkout.Cursor
	Event  events.Event
}

// Place is the place of a listener in a provider's list of events.
type Place struct {
	BaseURL string
	Secret  string          // that the listener made
	Next    checkout.Cursor // every event up to it was taken or left out, or waits
	Waiting []Entry         // refused events and the later events of their checkouts, in their order
}

// maxWaiting is the number of events that may wait: then no further event is read.
const maxWaiting = 100

// Full reports whether no further event may wait.
func (p *Place) Full() bool { return len(p.Waiting) >= maxWaiting }

// Admits reports whether the listener has not come to an event before.
func (p *Place) Admits(e Entry) bool { return e.Cursor > p.Next }

// Blocked reports whether an earlier event of an event's checkout waits.
func (p *Place) Blocked(e Entry) bool {
	return slices.ContainsFunc(p.Waiting, func(w Entry) bool { return w.Event.CheckoutID == e.Event.CheckoutID })
}

// Done notes that the receiver took an event, or that it is left out.
func (p *Place) Done(e Entry) {
	p.Waiting = slices.DeleteFunc(p.Waiting, func(w Entry) bool { return w.Event.ID == e.Event.ID })
	p.Next = max(p.Next, e.Cursor)
}

// Wait notes that an event of the list waits.
func (p *Place) Wait(e Entry) { p.Waiting, p.Next = append(p.Waiting, e), max(p.Next, e.Cursor) }
