package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/provider-checkout/provider-checkout/adapters/pdf"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/ports"
)

// agreementPDF writes the PDF of an agreement to a file, and its size and hash to stderr.
func agreementPDF(ctx context.Context, c *call) error {
	db, err := c.openRecords(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	number := c.Args[0]
	data, stored, err := readPDF(ctx, db, number)
	if err != nil {
		return err
	}
	if !stored {
		fmt.Fprintf(c.Stderr, "agreement %s has no PDF on record; rendered now from its figures\n", number)
	}
	if err := writePrivate(c.out, data); err != nil {
		return fmt.Errorf("write the PDF of %s: %w", number, err)
	}
	fmt.Fprintf(c.Stderr, "wrote %s: %d bytes, SHA-256 %x\n", c.out, len(data), sha256.Sum256(data))
	return nil
}

// readPDF returns the stored PDF of an agreement, or renders one if none is stored.
func readPDF(ctx context.Context, db ports.Admin, number string) (data []byte, stored bool, err error) {
	if err := erasedAgreement(ctx, db, number); err != nil {
		return nil, false, err
	}
	switch doc, err := db.Document(ctx, number); {
	case errors.Is(err, ports.ErrNotFound):
	case err != nil:
		return nil, false, fmt.Errorf("read the PDF of %s: %w", number, err)
	case sha256.Sum256(doc.Bytes) != doc.SHA256:
		return nil, false, fmt.Errorf("the PDF of %s does not have the SHA-256 on record, %x", number, doc.SHA256)
	default:
		return doc.Bytes, true, nil
	}
	a, err := db.Agreement(ctx, number)
	if err != nil {
		return nil, false, readingAgreement(number, err)
	}
	printer, err := pdf.New(1)
	if err != nil {
		return nil, false, err
	}
	data, err = printer.Print(ctx, a)
	if err != nil {
		return nil, false, fmt.Errorf("print agreement %s: %w", number, err)
	}
	return data, false, nil
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

// writePrivate writes a file that only its owner may read and write. If it fails, path is as it was before.
func writePrivate(path string, data []byte) error {
	info, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".*.tmp") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no effect once renamed
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
