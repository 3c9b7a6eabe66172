package main

import (
	"bufio"
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/jsonlines"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// export writes everything on record as JSON Lines, and last the newest checkpoint of the evidence log. A checkout that cannot be read is reported on stderr, and the
// others are still written.
func export(ctx context.Context, c *call) error {
	db, log, err := c.evidenceLog(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	out := bufio.NewWriter(c.Stdout)
	unreadable := 0
	err = db.Export(ctx, jsonlines.NewVisitor(out, func(checkoutID string, err error) error {
		unreadable++
		_, failed := fmt.Fprintf(c.Stderr, "checkout %s cannot be read: %s\n", checkoutID, cli.OneLine(err.Error()))
		return failed
	}))
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	head, err := db.EvidenceHead(ctx)
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := jsonlines.WriteCheckpoint(out, string(head.Checkpoint), log.Keys.Public()); err != nil {
		return err
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if unreadable > 0 {
		return fmt.Errorf("%d checkouts could not be read; everything else is written", unreadable)
	}
	return nil
}
