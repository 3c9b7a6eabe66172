package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/provider-checkout/provider-checkout/adapters/out/jsonlines"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/evidencelog"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/progress"
)

// export writes everything on record as JSON Lines, and last the newest checkpoint of the evidence log. A checkout that cannot be
// read is reported on stderr, and the other checkouts are still written.
func export(c *call) action {
	c.storeFlag()
	return c.onLog(func(ctx context.Context, db records, log evidencelog.Log) error {
		line := c.progress()
		defer line.End()
		out := bufio.NewWriter(&counter{to: c.Stdout, line: line})
		unreadable := 0
		err := db.Export(ctx, jsonlines.NewVisitor(out, func(checkoutID string, err error) error {
			unreadable++
			line.End()
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
		line.End()
		if unreadable > 0 {
			return fmt.Errorf("%s could not be read; everything else is written", counted(unreadable, "checkout"))
		}
		return nil
	})
}

// counter is a writer that shows the count of the bytes and lines that it passes on.
type counter struct {
	to           io.Writer
	line         *progress.Line
	bytes, lines int
}

func (w *counter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	w.bytes += n
	w.lines += bytes.Count(p[:n], []byte("\n"))
	w.line.Show("exported %d records, %.1f MB", w.lines, float64(w.bytes)/1e6)
	return n, err
}

// progress returns the line that shows a command's progress, or nil where its results go to the terminal too and show it.
func (c *call) progress() *progress.Line {
	if progress.Terminal(c.Stdout) {
		return nil
	}
	return progress.On(c.Stderr)
}
