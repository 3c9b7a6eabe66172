package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/agreementpdf"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// agreementPDF writes the PDF of an agreement to a file, or with --all the PDFs of many agreements to a folder, and names each
// written file on stderr.
func agreementPDF(ctx context.Context, c *call, db records) error {
	source, err := agreementpdf.New(db, time.Now)
	if err != nil {
		return err
	}
	source.Redraw = c.redraw
	if c.all {
		return writePDFs(ctx, c, source)
	}
	_, err = writePDF(ctx, c, source, c.Args[0], c.out)
	return err
}

// readPDF returns the PDF of an agreement, and reports whether it is the document that was stored.
func readPDF(ctx context.Context, db ports.Admin, number string) (data []byte, stored bool, err error) {
	source, err := agreementpdf.New(db, time.Now)
	if err != nil {
		return nil, false, err
	}
	found, err := source.Read(ctx, number)
	return found.Bytes, found.Copy == "", err
}

// checkPDF checks that the flags and arguments fit together, for one agreement or for many.
func (s *settings) checkPDF(args []string) error {
	switch {
	case !s.all && len(args) == 0:
		return cli.UsageError("NUMBER is missing; --all --since DATE writes many")
	case !s.all && s.accepted != (money.Date{}):
		return cli.UsageError("--since goes with --all")
	case s.all && len(args) > 0:
		return cli.UsageError("--all takes no NUMBER")
	case s.all && s.accepted == (money.Date{}):
		return cli.UsageError("--all needs --since DATE")
	case s.all && s.out == standard:
		return cli.UsageError("--all needs a folder for --out")
	}
	if len(args) > 0 && (agreement.Mistyped(args[0]) || !strings.HasPrefix(args[0], "PPA-")) {
		return readingAgreement(args[0], ports.ErrNotFound)
	}
	return nil
}

// writePDF writes the PDF of an agreement to a file, says so on stderr, and reports whether it is a copy.
func writePDF(ctx context.Context, c *call, source *agreementpdf.Source, number, path string) (copied bool, err error) {
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
func writePDFs(ctx context.Context, c *call, source *agreementpdf.Source) error {
	if err := os.MkdirAll(c.out, 0o700); err != nil {
		return err
	}
	written, copies := 0, 0
	var missing []string
	fail := func(what string, err error) error {
		missing = append(missing, what)
		_, failed := fmt.Fprintln(c.Stderr, cli.OneLine(err.Error()))
		return failed
	}
	numbers, err := source.Since(ctx, c.accepted, func(id string, err error) error {
		return fail("that of checkout "+id, fmt.Errorf("checkout %s cannot be read: %w", id, err))
	})
	if err != nil {
		return fmt.Errorf("list the agreements: %w", err)
	}
	for _, number := range numbers {
		if err := ctx.Err(); err != nil {
			return err
		}
		if filepath.Base(number) != number {
			if err := fail(number, fmt.Errorf("agreement number %q cannot name a file", number)); err != nil {
				return err
			}
			continue
		}
		copied, err := writePDF(ctx, c, source, number, filepath.Join(c.out, number+".pdf"))
		switch {
		case err != nil:
			if err := fail(number, err); err != nil {
				return err
			}
			continue
		case copied:
			copies++
		}
		written++
	}
	fmt.Fprintf(c.Stderr, "wrote %d agreements accepted since %s to %s, %d of them marked as copies\n", written, c.accepted, c.out, copies)
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
