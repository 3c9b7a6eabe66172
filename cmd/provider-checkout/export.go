package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
)

// export writes everything on record as JSON Lines. A checkout that cannot be
// read is reported on stderr, and the other checkouts are still written.
type export struct{ ReadFlags }

func (*export) Run(ctx context.Context, c *call) error {
	return c.onRecords(ctx, func(db records) error {
		out := bufio.NewWriter(c.Stdout)
		unreadable := 0
		err := db.Export(ctx, "", jsonlines.NewVisitor(out, db.Environment(), func(checkoutID string, err error) error {
			unreadable++
			_, failed := fmt.Fprintf(c.Stderr, "checkout %s cannot be read: %s\n", checkoutID, oneLine(err.Error()))
			return failed
		}))
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if err := out.Flush(); err != nil {
			return err
		}
		if unreadable > 0 {
			return fmt.Errorf("%s could not be read; everything else is written", counted(unreadable, "checkout"))
		}
		return nil
	})
}
