// Package jsonlines writes everything that a store has on record as JSON Lines: one object a line, each with a kind.
// Fields are named as in the contract with the provider and in the provider file. No secret is written, no token, and
// no text of a key.
package jsonlines

import (
	"io"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// NewVisitor returns a visitor for a store's export that writes each record to w as it comes. It writes a line at a
// time: give it a buffered writer, and flush that at the end. A checkout that cannot be read is passed to unreadable.
func NewVisitor(w io.Writer, unreadable func(checkoutID string, err error) error) checkout.Visitor {
	return checkout.Visitor{
		Configuration: func(c catalogue.Configuration) error { return Write(w, configurationLines(c)...) },
		Key:           func(k catalogue.Key) error { return Write(w, toWireKey(k)) },
		Checkout:      func(r checkout.CheckoutRecord) error { return Write(w, checkoutLines(r)...) },
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

// checkoutLines returns the checkout, its CRM records, what was agreed, what will be charged, the events, and
// the notices to the payer. A checkout that is only reserved has no records yet. The ids of what was agreed are empty until the
// CRM has completed the enrolment.
func checkoutLines(r checkout.CheckoutRecord) []Object {
	c := r.Checkout
	lines := []Object{toWireCheckout(c)}
	if c.Status != checkout.Reserved {
		lines = append(lines, toWireContact(c), toWireOpportunity(c), toWireDDA(c))
	}
	if r.Agreement != nil {
		lines = append(lines, toWireAgreement(c, *r.Agreement))
	}
	if r.Document != nil {
		lines = append(lines, toWireDocument(c, *r.Document))
	}
	if r.Agreement != nil {
		lines = append(lines, chargeLines(c, *r.Agreement)...)
	}
	for _, e := range r.Events() {
		lines = append(lines, toWireEvent(e))
	}
	for _, j := range r.Jobs {
		if j.Job.Kind == checkout.JobNotify {
			lines = append(lines, toWireNotice(j))
		}
	}
	return lines
}

func chargeLines(c checkout.Checkout, a agreement.Agreement) []Object {
	lines, payments := make([]Object, len(a.Schedule)), a.Payments()
	for i, charge := range a.Schedule {
		lines[i] = toWireCharge(c, charge, payments[i])
	}
	return lines
}
