package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// agreementPDF writes the stored PDF of an agreement to a file.
type agreementPDF struct {
	StoreFlags
	Number string `arg:""`
	Out    string `required:"" placeholder:"FILE" help:"to write; only its owner may read it; - is standard output (required)"`
}

func (f *agreementPDF) Run(ctx context.Context, c *call, db reader) error {
	return c.writePDF(ctx, db, f.Number, f.Out)
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
	if path == standard {
		path = "standard output"
	}
	fmt.Fprintf(c.Stderr, "wrote %s: %d bytes, SHA-256 %x\n", path, len(found.Bytes), found.SHA256)
	return nil
}

// verifyAgreement checks an agreement against the record, or every agreement, or a document that somebody has kept.
type verifyAgreement struct {
	StoreFlags
	Number string `arg:"" optional:""`
	All    bool   `help:"check every agreement"`
	File   string `placeholder:"FILE" help:"check a PDF, without a store unless --store is given"`
}

func (f *verifyAgreement) Run(ctx context.Context, c *call) error {
	one, all, file := f.Number != "", f.All, f.File != ""
	if !one && !all && !file || one && all || one && file || all && file {
		return usageError("name one agreement, or give --all, or --file")
	}
	signer, err := parsed(c, signerVariable, parseSigner)
	if err != nil {
		return err
	}
	v := verifier{call: c, signer: signer}
	if !file || c.given["store"] != "" {
		if v.db, err = openReader(ctx, c); err != nil {
			return err
		}
	}
	switch {
	case file:
		err = v.file(ctx, f.File)
	case all:
		err = v.all(ctx)
	default:
		err = v.agreement(ctx, f.Number)
	}
	if err == nil && v.failed > 0 {
		err = fmt.Errorf("failed: %s", counted(v.failed, "check"))
	}
	return err
}

// verifier checks agreements, and prints a line for each check.
type verifier struct {
	*call
	db     records     // nil: a document alone is checked
	signer *pdf.Signer // nil: its certificates are not known
	failed int
}

// all checks every agreement.
func (v *verifier) all(ctx context.Context) error {
	var numbers []string // the oldest checkout first
	err := v.db.Export(ctx, "", checkout.Visitor{
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
	for i := 0; err == nil && i < len(numbers); i++ {
		err = v.agreement(ctx, numbers[i])
	}
	return err
}

// agreement checks what is on record about an agreement: its figures, its checkout and its document.
func (v *verifier) agreement(ctx context.Context, number string) error {
	of, err := v.db.FindCheckout(ctx, checkout.Reference{AgreementNumber: number})
	if err != nil {
		return readingAgreement(number, err)
	}
	a, err := v.db.Agreement(ctx, of.ID)
	if err != nil {
		return readingAgreement(number, err)
	}
	stored, err := v.db.Document(ctx, of.ID)
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		return fmt.Errorf("read the PDF of agreement %s: %w", number, err)
	}
	stated, err := v.stated(ctx, a, of)
	if err != nil {
		return err
	}
	verdicts := []verdict{verifyFigures(a), stated}
	document := verifyDocument(of, stored)
	if verdicts = append(verdicts, document); document.outcome == passed && len(stored.Bytes) > 0 {
		attached, signed := v.signed(stored.Bytes)
		if verdicts = append(verdicts, signed...); attached.Number != "" {
			verdicts = append(verdicts, same("the facts on record are those of the PDF", "the PDF states otherwise", attached.Differences(a)))
		}
	}
	return v.print(number, verdicts)
}

// file checks a document, and what is on record about its agreement.
func (v *verifier) file(ctx context.Context, path string) error {
	document, err := readFile(v.Stdin, path)
	if err != nil {
		return err
	}
	attached, verdicts := v.signed(document)
	if attached.Number == "" {
		return v.print(path, verdicts)
	}
	number := attached.Number
	if verdicts = append(verdicts, verifyFigures(attached)); v.db == nil {
		return v.print(number, verdicts)
	}
	of, err := v.db.FindCheckout(ctx, checkout.Reference{AgreementNumber: number})
	switch {
	case errors.Is(err, ports.ErrNotFound):
		verdicts = append(verdicts, verdict{failed, "the store has no such agreement"})
	case err != nil:
		return readingAgreement(number, err)
	case sha256.Sum256(document) != of.Confirmation.DocumentSHA256:
		verdicts = append(verdicts, verdict{failed, "it is another PDF than that of the confirm"})
	case of.Erased():
		verdicts = append(verdicts, verdict{passed, "it is the PDF of the confirm; the store erased its own on " + formatTime(of.ErasedAt)})
	default:
		stated, err := v.stated(ctx, attached, of)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, verdict{passed, "it is the PDF of the confirm"}, stated)
	}
	return v.print(number, verdicts)
}

// signed checks the signature of a document, and returns the agreement that it states. Anybody can sign under any name: without the
// operator's certificates it reports that the signer is not known.
func (v *verifier) signed(document []byte) (agreement.Agreement, []verdict) {
	attached, under, err := pdf.Verify(document)
	if err != nil {
		return attached, []verdict{{failed, "the PDF: " + oneLine(err.Error())}}
	}
	name := oneLine(under.Subject.String()) + ", certificate " + pdf.Fingerprint(under)
	switch {
	case v.signer != nil && !v.signer.Knows(under):
		return attached, []verdict{{failed, "the PDF is signed by somebody else: " + name}}
	case attached.SignedBy != pdf.Fingerprint(under):
		return attached, []verdict{{failed, "the PDF is signed by " + name + ", and states another certificate"}}
	case v.signer == nil:
		return attached, []verdict{{passed, "the PDF was not changed since it was signed"},
			{unchecked, "the signer names itself " + name + "; compared with no certificate of yours: " + signerVariable + " is not set"}}
	}
	return attached, []verdict{{passed, "the PDF is signed by your certificate: " + name}}
}

// print prints the outcome of each check of an agreement.
func (v *verifier) print(number string, verdicts []verdict) error {
	for _, of := range verdicts {
		if of.outcome == failed {
			v.failed++
		}
		if _, err := fmt.Fprintf(v.Stdout, "%s  %s  %s\n", number, of.outcome, of.text); err != nil {
			return err
		}
	}
	return nil
}

// verdict is the outcome of one check of an agreement.
type verdict struct{ outcome, text string }

const (
	passed    = "ok"
	failed    = "FAIL"
	unchecked = "not checked" // a certificate is missing for it
)

// verifyFigures checks that the schedule sums to the price.
func verifyFigures(a agreement.Agreement) verdict {
	if err := a.Check(); err != nil {
		return verdict{failed, "the figures: " + oneLine(err.Error())}
	}
	return verdict{passed, fmt.Sprintf("the %d charges of the schedule sum to the course price, %s", len(a.Schedule), a.Pricing.Price)}
}

// ofMandate are the facts that change where the processor puts another mandate in the place of the agreement's.
var ofMandate = []string{"direct_debit.account_holder_name", "direct_debit.account_mask", "direct_debit.mandate_id"}

// stated checks that an agreement states what is on record of its checkout.
func (v *verifier) stated(ctx context.Context, a agreement.Agreement, c checkout.Checkout) (verdict, error) {
	const ok = "the agreement states what the checkout does"
	differences := a.Differences(c.Stated(a, v.db.Environment()))
	others := slices.DeleteFunc(slices.Clone(differences), func(name string) bool { return slices.Contains(ofMandate, name) })
	if len(differences) > 0 && len(others) == 0 {
		moments, err := v.db.Moments(ctx, c.ID)
		if err != nil {
			return verdict{}, fmt.Errorf("read the timeline of checkout %s: %w", c.ID, err)
		}
		for _, m := range moments {
			if m.Replaces() && m.At.After(a.AcceptedAt) {
				return verdict{passed, ok + "; the processor replaced its mandate on " + formatTime(m.At)}, nil
			}
		}
	}
	return same(ok, "the checkout states otherwise", differences), nil
}

// same is the outcome of a comparison.
func same(ok, otherwise string, differences []string) verdict {
	if len(differences) > 0 {
		return verdict{failed, otherwise + ": " + strings.Join(differences, ", ")}
	}
	return verdict{passed, ok}
}

// verifyDocument checks that the bytes of the PDF have the SHA-256 on record.
func verifyDocument(c checkout.Checkout, d agreement.Document) verdict {
	switch {
	case c.Erased():
		return verdict{passed, "erased on " + formatTime(c.ErasedAt)}
	case d.SHA256 == [32]byte{} && !c.Confirmation.PDFGenerated():
		return verdict{passed, "no PDF was rendered at the confirm"}
	case d.SHA256 != c.Confirmation.DocumentSHA256:
		return verdict{failed, "the PDF of the confirm is not on record"}
	case sha256.Sum256(d.Bytes) != d.SHA256:
		return verdict{failed, fmt.Sprintf("the PDF does not have the SHA-256 on record, %x", d.SHA256)}
	}
	return verdict{passed, fmt.Sprintf("the PDF has the SHA-256 on record, %x", d.SHA256)}
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
