package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/agreementpdf"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// agreementPDF writes the PDF of an agreement to a file, or with --all the PDFs of many agreements to a folder, and names each
// written file on stderr.
func agreementPDF(c *call) action {
	c.storeFlag()
	out := c.requiredFlag("out", "`FILE` to write, or with --all the folder for the files; only their owner may read them; - is standard output")
	redraw := c.flags.Bool("redraw", false, "render a PDF that was stored and is missing again, marked as a copy on every page")
	all := c.flags.Bool("all", false, "write every agreement that was accepted since --since, each to NUMBER.pdf")
	var since money.Date
	cli.Var(c.flags, &since, "since", "", money.ParseDate, "with --all, the `DATE` in New Zealand, such as 2026-12-01")
	c.check = func(args []string) error {
		switch {
		case !*all && len(args) == 0:
			return cli.UsageError("NUMBER is missing; --all --since DATE writes many")
		case !*all && since != (money.Date{}):
			return cli.UsageError("--since goes with --all")
		case *all && len(args) > 0:
			return cli.UsageError("--all takes no NUMBER")
		case *all && since == (money.Date{}):
			return cli.UsageError("--all needs --since DATE")
		case *all && *out == standard:
			return cli.UsageError("--all needs a folder for --out")
		case !*all && (agreement.Mistyped(args[0]) || !strings.HasPrefix(args[0], "PPA-")):
			return readingAgreement(args[0], ports.ErrNotFound)
		}
		return nil
	}
	return c.onRecords(func(ctx context.Context, db records) error {
		source, err := agreementpdf.New(db)
		if err != nil {
			return err
		}
		source.Redraw = *redraw
		if *all {
			return c.writePDFs(ctx, source, since, *out)
		}
		_, err = c.writePDF(ctx, source, c.Args[0], *out)
		return err
	})
}

// writePDF writes the PDF of an agreement to a file, says so on stderr, and reports whether it is a copy.
func (c *call) writePDF(ctx context.Context, source *agreementpdf.Source, number, path string) (copied bool, err error) {
	found, err := source.Read(ctx, number)
	if err != nil {
		return false, readingAgreement(number, err)
	}
	if err := c.writeFile(path, found.Bytes); err != nil {
		return false, fmt.Errorf("write the PDF of %s: %w", number, err)
	}
	if found.Copy != "" {
		fmt.Fprintf(c.Stderr, "agreement %s: %s; rendered now from its figures, and marked as a copy on every page\n", number, found.Copy)
	}
	fmt.Fprintf(c.Stderr, "wrote %s: %d bytes, SHA-256 %x\n", outputName(path), len(found.Bytes), sha256.Sum256(found.Bytes))
	return found.Copy != "", nil
}

// writePDFs writes the PDF of every agreement since a day to a file of its number, in a folder that is made unless it
// exists. A PDF that cannot be written is named at the end, and the other PDFs are still written.
func (c *call) writePDFs(ctx context.Context, source *agreementpdf.Source, since money.Date, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	written, copies := 0, 0
	var missing []string
	fail := func(what string, err error) error {
		missing = append(missing, what)
		_, failed := fmt.Fprintln(c.Stderr, cli.OneLine(err.Error()))
		return failed
	}
	numbers, err := source.Since(ctx, since, func(id string, err error) error {
		return fail("that of checkout "+id, fmt.Errorf("checkout %s cannot be read: %w", id, err))
	})
	if err != nil {
		return fmt.Errorf("list the agreements: %w", err)
	}
	for _, number := range numbers {
		if err := ctx.Err(); err != nil {
			return err
		}
		copied, err := false, fmt.Errorf("agreement number %q cannot name a file", number)
		if filepath.Base(number) == number {
			copied, err = c.writePDF(ctx, source, number, filepath.Join(folder, number+".pdf"))
		}
		if err != nil {
			if err := fail(number, err); err != nil {
				return err
			}
			continue
		}
		if written++; copied {
			copies++
		}
	}
	fmt.Fprintf(c.Stderr, "wrote %s accepted since %s to %s, %d of them marked as copies\n", counted(written, "agreement"), since, folder, copies)
	if len(missing) > 0 {
		return fmt.Errorf("not written: %s", strings.Join(missing, ", "))
	}
	return nil
}

// readingAgreement returns the error of a command that could not read an agreement.
func readingAgreement(number string, err error) error {
	if !errors.Is(err, ports.ErrNotFound) {
		return fmt.Errorf("read agreement %s: %w", number, err)
	}
	if agreement.Mistyped(number) {
		return fmt.Errorf("there is no agreement %q; the number is mistyped: a character is wrong or two are swapped", number)
	}
	return fmt.Errorf("there is no agreement %q", number)
}
