// Package jsonlines writes everything that a store has on record as JSON Lines: one object a line, each with a kind.
// Fields are named as in the contract with the provider and in the provider file. No secret is written, no token, and
// no text of a key.
package jsonlines

import (
	"io"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// NewVisitor returns a visitor for a store's export that writes each record to w as it comes. It writes a line at a
// time: give it a buffered writer, and flush that at the end. A checkout that cannot be read is passed to unreadable.
func NewVisitor(w io.Writer, env catalogue.Environment, unreadable func(checkoutID string, err error) error) checkout.Visitor {
	return checkout.Visitor{
		Configuration: func(c catalogue.Configuration) error { return Write(w, configurationLines(c)...) },
		Key:           func(k catalogue.Key) error { return Write(w, toWireKey(k)) },
		Checkout:      func(r checkout.CheckoutRecord) error { return Write(w, checkoutLines(r, env)...) },
		Unreadable:    unreadable,
	}
}

func configurationLines(c catalogue.Configuration) []Object {
	lines := []Object{toWireProvider(c.Provider)}
	for _, course := range c.Courses {
		lines = append(lines, toWireCourse(c.Provider.Code, course))
	}
	return lines
}

// checkoutLines returns the checkout, its CRM records, what was agreed, the events, the
// notices to the payer, and the timeline.
func checkoutLines(r checkout.CheckoutRecord, env catalogue.Environment) []Object {
	c := r.Checkout
	lines := []Object{toWireCheckout(c, env), toWireContact(c, env), toWireOpportunity(c, env), toWireDDA(c, env)}
	if r.Agreement != nil {
		lines = append(lines, toWireAgreement(c, env, *r.Agreement))
	}
	if r.Document > 0 {
		lines = append(lines, toWireDocument(c, env, r.Document))
	}
	for _, e := range r.Events() {
		lines = append(lines, toWireEvent(c, e))
	}
	for _, j := range r.Jobs {
		if j.Job.Kind == checkout.JobNotify {
			lines = append(lines, toWireNotice(j))
		}
	}
	for _, m := range c.Timeline(r.Moments) {
		lines = append(lines, toWireMoment(c, m))
	}
	return lines
}
