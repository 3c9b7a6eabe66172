package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/httpapi"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// failing is a printer that always fails.
type failing struct{}

func (failing) Print(context.Context, agreement.Agreement) ([]byte, error) {
	return nil, errors.New("no font")
}

var _ ports.Printer = failing{}

func TestAgreementPDFIsReadableByItsOwnerOnly(t *testing.T) {
	for _, tt := range []struct {
		name    string
		changes []func(*service.Config, *httpapi.Options)
		stderr  string // contains
	}{
		{"stored", nil, "wrote "},
		{"not stored", []func(*service.Config, *httpapi.Options){
			func(c *service.Config, _ *httpapi.Options) { c.Printer = failing{} }}, "has no PDF on record; rendered now from its figures"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOperator(t)
			number := o.confirmedOver(t, tt.changes...)
			out := filepath.Join(t.TempDir(), "agreement.pdf")
			if err := os.WriteFile(out, []byte("an older file that all users may read"), 0o644); err != nil {
				t.Fatal(err)
			}
			stdout, stderr := o.does(t, "agreements", "pdf", number, "--out", out)
			data, err := os.ReadFile(out)
			if err != nil || !bytes.HasPrefix(data, []byte("%PDF-")) || stdout != "" || !strings.Contains(stderr, tt.stderr) {
				t.Errorf("wrote %.20q, %v; stdout %q, stderr %q", data, err, stdout, stderr)
			}
			if info, err := os.Stat(out); err != nil || info.Mode() != 0o600 {
				t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
			}
		})
	}
}

// mistyped returns an agreement number with a wrong check character, and with a character that no number has.
func mistyped(number string) []string {
	last, wrong := number[len(number)-1:], "0"
	if last == wrong {
		wrong = "1"
	}
	without := strings.TrimSuffix(number, last)
	return []string{without + wrong, without[:len(without)-1] + "O" + last}
}

func TestAgreementPDFIsRefused(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	dir := t.TempDir()
	o.fails(t, `there is no agreement "PPA-1999-000001"`, "agreements", "pdf", "PPA-1999-000001", "--out", filepath.Join(dir, "a.pdf"))
	for _, typo := range mistyped(number) {
		o.fails(t, "the number is mistyped", "agreements", "pdf", typo, "--out", filepath.Join(dir, "a.pdf"))
	}
	o.fails(t, "is not a regular file", "agreements", "pdf", number, "--out", dir)
	o.fails(t, "no such file", "agreements", "pdf", number, "--out", filepath.Join(dir, "none", "a.pdf"))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v; want nothing", left, err)
	}
}
