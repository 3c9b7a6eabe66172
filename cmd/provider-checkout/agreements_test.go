package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/ports"
)

// failing is a printer that always fails.
type failing struct{}

func (failing) Print(context.Context, agreement.Agreement) ([]byte, error) {
	return nil, errors.New("no font")
}

var _ ports.Printer = failing{}

// withoutPDF makes the confirms of a sandbox render no PDF.
func withoutPDF(c *service.Config, _ *httpapi.Options) { c.Printer = failing{} }

func TestAgreementPDFIsReadableByItsOwnerOnly(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	out := filepath.Join(t.TempDir(), "agreement.pdf")
	if err := os.WriteFile(out, []byte("an older file that all users may read"), 0o644); err != nil {
		t.Fatal(err)
	}
	stdout, stderr := o.does(t, "agreements", "pdf", number, "--out", out)
	data, err := os.ReadFile(out)
	if err != nil || !bytes.HasPrefix(data, []byte("%PDF-")) || stdout != "" || !strings.HasPrefix(stderr, "wrote "+out) {
		t.Errorf("wrote %.20q, %v; stdout %q, stderr %q", data, err, stdout, stderr)
	}
	if info, err := os.Stat(out); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
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
	o.fails(t, `there is no agreement "lost"`, "agreements", "pdf", "lost", "--out", filepath.Join(dir, "a.pdf"))
	o.fails(t, "is not a regular file", "agreements", "pdf", number, "--out", dir)
	o.fails(t, "no such file", "agreements", "pdf", number, "--out", filepath.Join(dir, "none", "a.pdf"))
	o.execute(t, `UPDATE documents SET bytes = CAST(bytes || x'20' AS BLOB)`)
	o.fails(t, "does not have the SHA-256 on record", "agreements", "pdf", number, "--out", filepath.Join(dir, "a.pdf"))
	o.execute(t, `DELETE FROM documents`)
	o.fails(t, "has no PDF", "agreements", "pdf", number, "--out", filepath.Join(dir, "a.pdf"))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v; want nothing", left, err)
	}
}

func TestAPDFIsWrittenWithoutItsFacts(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	o.execute(t, `UPDATE agreements SET facts = 'damaged'`)
	o.fails(t, "read agreement "+number, "agreements", "verify", number)
	o.does(t, "agreements", "pdf", number, "--out", filepath.Join(t.TempDir(), "a.pdf"))
}

func TestVerifyFindsWhatDiffers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, edit, want string }{
		{"nothing", `SELECT 1`, ""},
		{"the PDF", `UPDATE documents SET bytes = CAST(bytes || x'20' AS BLOB)`, "the PDF does not have the SHA-256 on record"},
		{"the PDF is lost", `DELETE FROM documents`, "the PDF of the confirm is not on record"},
		{"the price", `UPDATE agreements SET facts = json_set(facts, '$.Pricing.Price', 100)`, "the figures: "},
		{"the price of the checkout", `UPDATE checkouts SET price_cents = price_cents + 100`, "plan, pricing or time differ from the confirm"},
		{"the time", `UPDATE agreements SET facts = json_set(facts, '$.AcceptedAt', '2026-01-01T00:00:00Z')`, "plan, pricing or time differ from the confirm"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOperator(t)
			number := o.confirmedOver(t)
			o.execute(t, tt.edit)
			got := o.try(t, "agreements", "verify", number)
			if tt.want == "" {
				if got.code != cli.ExitDone || got.stderr != "" || strings.Contains(got.stdout, "FAIL") || strings.Count(got.stdout, number+"  ok  ") != 3 {
					t.Errorf("verify = %+v, want three checks that pass", got)
				}
				return
			}
			if got.code != cli.ExitFailed || !strings.Contains(got.stdout, number+"  FAIL  "+tt.want) || !strings.Contains(got.stderr, "failed: ") {
				t.Errorf("verify = %+v, want status 1 and a check that says %q", got, tt.want)
			}
		})
	}
}

func TestVerifyTakesOneAgreementOrAll(t *testing.T) {
	o := newOperator(t)
	numbers := append(o.confirmAll(t, []string{"ENROL-1", "ENROL-2"}), o.confirmAll(t, []string{"ENROL-3"}, withoutPDF)...)
	out := o.prints(t, "agreements", "verify", "--all")
	for _, number := range numbers {
		if got := strings.Count(out, number+"  ok  "); got != 3 {
			t.Errorf("%s has %d checks that pass, want 3, in\n%s", number, got, out)
		}
	}
	says(t, out, numbers[2]+"  ok  no PDF was rendered at the confirm")
	o.execute(t, `DELETE FROM documents WHERE checkout_id = (SELECT checkout_id FROM agreements WHERE number = ?)`, numbers[1])
	if got := o.try(t, "agreements", "verify", "--all"); got.code != cli.ExitFailed || strings.Count(got.stdout, "FAIL") != 1 ||
		!strings.HasSuffix(got.stderr, "failed: 1 check\n") {
		t.Errorf("verify --all = %+v, want one check that fails", got)
	}
	o.fails(t, `there is no agreement "PPA-1999-1"`, "agreements", "verify", "PPA-1999-1")
	for _, args := range [][]string{{"agreements", "verify"}, {"agreements", "verify", numbers[0], "--all"}} {
		o.try(t, args...).refuses(t, cli.ExitUsage, "name one agreement, or give --all")
	}
}
