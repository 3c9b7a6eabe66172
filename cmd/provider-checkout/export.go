package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/jsonlines"
)

// export writes everything on record as JSON Lines.
func export(ctx context.Context, c *call) error {
	db, err := c.openRecords(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	out := bufio.NewWriter(c.Stdout)
	if err := db.Export(ctx, jsonlines.NewVisitor(out)); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	return out.Flush()
}
