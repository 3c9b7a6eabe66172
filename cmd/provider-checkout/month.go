package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// month writes the report of a month: a line for each agreement that was accepted in it, or of which payments are due in it.
func month(c *call) action {
	c.listFlags()
	c.reasonFlag()
	out := c.flags.String("out", standard, "write to `FILE`, whose SHA-256 the evidence log keeps; - is standard output")
	return c.onRecords(func(ctx context.Context, db records) error {
		zone, err := service.NewZealand()
		if err != nil {
			return err
		}
		m, err := checkout.ParseMonth(c.Args[0], zone)
		if err != nil {
			return cli.UsageError(err.Error())
		}
		if *out == standard {
			_, err := c.writeMonth(ctx, db, m, c.Stdout)
			return err
		}
		operator, err := c.acting(db)
		if err != nil {
			return err
		}
		var file bytes.Buffer
		n, err := c.writeMonth(ctx, db, m, &file)
		if err != nil {
			return err
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(file.Bytes()))
		if err := c.writeFile(*out, file.Bytes()); err != nil {
			return err
		}
		fmt.Fprintf(c.Stderr, "%s: %s, SHA-256 %s\n", *out, counted(n, "agreement"), sum)
		return operator.Record(ctx, evidence.Operation{Name: "month", Subject: c.Args[0],
			Changes: []string{fmt.Sprintf("+ %s, SHA-256 %s", counted(n, "agreement"), sum)}})
	})
}

// writeMonth writes the lines of a report as CSV under a heading, or with --json an object a line, and returns how many they are.
func (c *call) writeMonth(ctx context.Context, db records, m checkout.Month, out io.Writer) (n int, err error) {
	table := csv.NewWriter(out)
	if !c.json {
		err = table.Write(texts(monthLine(checkout.MonthLine{}), func(f jsonlines.Field) string { return f.Name }))
	}
	for more, after := true, ""; more && err == nil; more = after != "" {
		var page []checkout.Concluded
		if page, after, err = db.Concluded(ctx, time.Time{}, m.Ends(), after, checkout.MaxPage); err != nil {
			return n, err
		}
		for _, agreed := range page {
			line, ok := m.Line(agreed)
			if !ok {
				continue
			}
			n++
			if o := monthLine(line); c.json {
				err = jsonlines.Write(out, o)
			} else {
				err = table.Write(texts(o, func(f jsonlines.Field) string { return cell(f.Value) }))
			}
			if err != nil {
				return n, err
			}
		}
	}
	table.Flush()
	return n, cmp.Or(err, table.Error())
}

// monthLine returns the columns of an agreement. It has no personal data.
func monthLine(l checkout.MonthLine) jsonlines.Object {
	return jsonlines.Object{
		jsonlines.Put("provider_code", l.Agreement.Provider.Code),
		jsonlines.Put("provider_order_id", l.Agreement.OrderID),
		jsonlines.Put("checkout_id", l.Agreement.CheckoutID),
		jsonlines.Put("agreement_number", l.Agreement.Number),
		jsonlines.Put("accepted_on", l.Accepted.String()),
		jsonlines.Put("amount_financed", l.Financed),
		jsonlines.Put("upfront_payment", l.Upfront),
		jsonlines.Put("charges_due", l.Charges),
		jsonlines.Put("amount_due", l.Due),
		jsonlines.Put("mandate_status", string(l.Checkout.Setup.Mandate)),
		jsonlines.Put("differences", strings.Join(l.Differences, "; ")),
	}
}

// cell returns a value as a spreadsheet takes it: a text that would be a formula has an apostrophe before it.
func cell(value any) string {
	text := fmt.Sprint(value)
	if _, isText := value.(string); isText && text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

func texts(o jsonlines.Object, text func(jsonlines.Field) string) (list []string) {
	for f := range slices.Values(o) {
		list = append(list, text(f))
	}
	return list
}
