package operate

import (
	"cmp"
	"context"
	"encoding/csv"
	"io"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Month passes each agreement that a month concerns, the newest first.
func Month(ctx context.Context, store ports.Desk, m checkout.Month, each func(checkout.MonthLine) error) error {
	for more, after := true, ""; more; more = after != "" {
		page, next, err := store.Concluded(ctx, m, after, checkout.MaxPage)
		if err != nil {
			return err
		}
		for _, agreed := range page {
			if line, ok := m.Line(agreed); ok {
				if err := each(line); err != nil {
					return err
				}
			}
		}
		after = next
	}
	return nil
}

// WriteMonth writes the report of a month as CSV, and returns the number of its agreements.
func WriteMonth(ctx context.Context, store ports.Desk, m checkout.Month, out io.Writer) (n int, err error) {
	table := csv.NewWriter(out)
	row := func(l checkout.MonthLine, text func(checkout.Column) string) error {
		var cells []string
		for _, c := range l.Columns() {
			cells = append(cells, text(c))
		}
		return table.Write(cells)
	}
	err = row(checkout.MonthLine{}, func(c checkout.Column) string { return c.Name })
	if err == nil {
		err = Month(ctx, store, m, func(l checkout.MonthLine) error { n++; return row(l, checkout.Column.Cell) })
	}
	table.Flush()
	return n, cmp.Or(err, table.Error())
}

// MonthOperation returns the operation that hands out the report of a month, a file with this SHA-256.
func MonthOperation(month, agreements, sum string) evidence.Operation {
	return evidence.Operation{Name: "month", Subject: month, Changes: []string{"+ " + agreements + ", SHA-256 " + sum}}
}
