package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
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
		return operator.Record(ctx, operate.MonthOperation(c.Args[0], counted(n, "agreement"), sum))
	})
}

// writeMonth writes the lines of a report as CSV under a heading, or with --json an object a line, and returns how many they are.
func (c *call) writeMonth(ctx context.Context, db records, m checkout.Month, out io.Writer) (n int, err error) {
	if !c.json {
		return operate.WriteMonth(ctx, db, m, out)
	}
	err = operate.Month(ctx, db, m, func(l checkout.MonthLine) error {
		var o jsonlines.Object
		for _, column := range l.Columns() {
			o = append(o, jsonlines.Put(column.Name, column.Value))
		}
		n++
		return jsonlines.Write(out, o)
	})
	return n, err
}
