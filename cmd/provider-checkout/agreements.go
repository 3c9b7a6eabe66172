package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/ports"
)

// agreementPDF writes the stored PDF of an agreement to a file.
func agreementPDF(c *call) action {
	c.readFlags()
	out := c.requiredFlag("out", "`FILE` to write; only its owner may read it; - is standard output")
	return c.onRecords(func(ctx context.Context, db records) error { return c.writePDF(ctx, db, c.Args[0], *out) })
}

// writePDF writes the stored PDF of an agreement to a file, and reports it on stderr.
func (c *call) writePDF(ctx context.Context, db records, number, path string) error {
	of, err := db.FindCheckout(ctx, checkout.Reference{AgreementNumber: number})
	if err != nil {
		return readingAgreement(number, err)
	}
	found, err := db.Document(ctx, of.ID)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return fmt.Errorf("agreement %s has no PDF: it could not be rendered at the confirm", number)
	case err != nil:
		return readingAgreement(number, err)
	case of.Erased():
		return fmt.Errorf("the personal data of agreement %s was erased, and its PDF with it; a copy that somebody kept has the SHA-256 %x",
			number, found.SHA256)
	case sha256.Sum256(found.Bytes) != found.SHA256:
		return fmt.Errorf("the PDF of agreement %s does not have the SHA-256 on record, %x", number, found.SHA256)
	}
	if err := c.writeFile(path, found.Bytes); err != nil {
		return fmt.Errorf("write the PDF of %s: %w", number, err)
	}
	fmt.Fprintf(c.Stderr, "wrote %s: %d bytes, SHA-256 %x\n", outputName(path), len(found.Bytes), found.SHA256)
	return nil
}

// verifyAgreement checks an agreement against the record, or every agreement.
func verifyAgreement(c *call) action {
	c.readFlags()
	all := c.flags.Bool("all", false, "check every agreement")
	c.check = func(args []string) error {
		if *all == (len(args) == 1) {
			return cli.UsageError("name one agreement, or give --all")
		}
		return nil
	}
	return c.onRecords(func(ctx context.Context, db records) error {
		numbers, failed := c.Args, 0
		if *all {
			var err error
			if numbers, err = agreementNumbers(ctx, db); err != nil {
				return err
			}
		}
		for _, number := range numbers {
			verdicts, err := verify(ctx, db, number)
			if err != nil {
				return err
			}
			for _, v := range verdicts {
				if v.failed {
					failed++
				}
				if _, err := fmt.Fprintf(c.Stdout, "%s  %s  %s\n", number, map[bool]string{true: "FAIL", false: "ok"}[v.failed], v.text); err != nil {
					return err
				}
			}
		}
		if failed > 0 {
			return fmt.Errorf("failed: %s", counted(failed, "check"))
		}
		return nil
	})
}

// verdict is the outcome of one check of an agreement.
type verdict struct {
	failed bool
	text   string
}

// verify compares what is on record about an agreement: its figures, its checkout and its document.
func verify(ctx context.Context, db records, number string) ([]verdict, error) {
	of, err := db.FindCheckout(ctx, checkout.Reference{AgreementNumber: number})
	if err != nil {
		return nil, readingAgreement(number, err)
	}
	a, err := db.Agreement(ctx, of.ID)
	if err != nil {
		return nil, readingAgreement(number, err)
	}
	stored, err := db.Document(ctx, of.ID)
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		return nil, fmt.Errorf("read the PDF of agreement %s: %w", number, err)
	}
	return append(verifyFigures(a, of), verifyDocument(of, stored)), nil
}

// verifyFigures checks that the schedule sums to the price, and that the agreement says what was confirmed.
func verifyFigures(a agreement.Agreement, c checkout.Checkout) []verdict {
	figures := verdict{text: fmt.Sprintf("the %d charges of the schedule sum to the course price, %s", len(a.Schedule), a.Pricing.Price)}
	if err := a.Check(); err != nil {
		figures = verdict{true, "the figures: " + cli.OneLine(err.Error())}
	}
	same := verdict{text: "plan, pricing and time are those of the confirm"}
	if a.Plan != c.Intent.Plan || a.Pricing != c.Intent.Pricing || !a.AcceptedAt.Equal(c.Confirmation.At) ||
		a.Number != c.Confirmation.AgreementNumber {
		same = verdict{true, "plan, pricing or time differ from the confirm"}
	}
	return []verdict{figures, same}
}

// verifyDocument checks that the bytes of the PDF have the SHA-256 on record.
func verifyDocument(c checkout.Checkout, d agreement.Document) verdict {
	switch {
	case c.Erased():
		return verdict{text: "erased on " + formatTime(c.ErasedAt)}
	case d.SHA256 == [32]byte{} && !c.Confirmation.PDFGenerated():
		return verdict{text: "no PDF was rendered at the confirm"}
	case d.SHA256 != c.Confirmation.DocumentSHA256:
		return verdict{true, "the PDF of the confirm is not on record"}
	case sha256.Sum256(d.Bytes) != d.SHA256:
		return verdict{true, fmt.Sprintf("the PDF does not have the SHA-256 on record, %x", d.SHA256)}
	}
	return verdict{text: fmt.Sprintf("the PDF has the SHA-256 on record, %x", d.SHA256)}
}

// agreementNumbers returns the number of every agreement, the oldest checkout first.
func agreementNumbers(ctx context.Context, db records) (numbers []string, err error) {
	err = db.Export(ctx, "", checkout.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Unreadable:    func(id string, err error) error { return fmt.Errorf("checkout %s cannot be read: %w", id, err) },
		Checkout: func(r checkout.CheckoutRecord) error {
			if r.Agreement != nil {
				numbers = append(numbers, r.Agreement.Number)
			}
			return nil
		},
	})
	return numbers, err
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
