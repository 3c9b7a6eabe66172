package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// export writes everything on record as JSON Lines.
func export(ctx context.Context, c *call) error {
	db, err := c.openRecords(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	out := bufio.NewWriter(c.stdout)
	if err := db.Export(ctx, visitor(out)); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return out.Flush()
}

// visitor writes what it is shown to w, one object a line.
func visitor(w io.Writer) ports.Visitor {
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	return ports.Visitor{
		Configuration: func(c catalogue.Configuration) error { return encode(lines, configurationLines(c)) },
		Key:           func(k catalogue.Key) error { return lines.Encode(wireKey(k)) },
		Checkout:      func(d ports.Dossier) error { return encode(lines, dossierLines(d)) },
	}
}

func encode(to *json.Encoder, lines []any) error {
	for _, line := range lines {
		if err := to.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func configurationLines(c catalogue.Configuration) []any {
	lines := []any{wireProvider(c.Provider)}
	for _, course := range c.Courses {
		lines = append(lines, wireCourse(c.Provider.Code, course))
	}
	return lines
}

// dossierLines are the checkout, its CRM records, what was agreed, what will be charged, and the events.
func dossierLines(d ports.Dossier) []any {
	c := d.Checkout
	lines := []any{wireCheckout(c), wireContact(c), wireOpportunity(c), wireDDA(c)}
	if d.Agreement != nil {
		lines = append(lines, wireAgreement(c, *d.Agreement))
	}
	if d.Document != nil {
		lines = append(lines, wireDocument(c, *d.Document))
	}
	if d.Agreement != nil {
		lines = append(lines, chargeLines(c, *d.Agreement)...)
	}
	for _, e := range d.Events {
		lines = append(lines, wireEvent(e))
	}
	return lines
}

func chargeLines(c checkout.Checkout, a agreement.Agreement) []any {
	lines := make([]any, len(a.Schedule))
	for i, charge := range a.Schedule {
		lines[i] = wireCharge(c, a, charge)
	}
	return lines
}
