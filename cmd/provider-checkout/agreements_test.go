package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/money"
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
			func(c *service.Config, _ *httpapi.Options) { c.Printer = failing{} }}, "no PDF was rendered at the confirm; rendered now from its figures, and marked as a copy"},
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
	o.fails(t, `there is no agreement "lost"`, "agreements", "pdf", "lost", "--out", filepath.Join(dir, "a.pdf"))
	o.fails(t, "is not a regular file", "agreements", "pdf", number, "--out", dir)
	o.fails(t, "no such file", "agreements", "pdf", number, "--out", filepath.Join(dir, "none", "a.pdf"))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v; want nothing", left, err)
	}
}

// A document that was agreed is not replaced in silence, and what is rendered in its place cannot pass for it.
func TestALostPDFIsRenderedOnlyAsACopy(t *testing.T) {
	t.Parallel()
	for name, loss := range map[string]string{
		"missing":                              `DELETE FROM documents`,
		"missing, before there was a log":      `DELETE FROM documents; DELETE FROM evidence`,
		"missing, and the checkout names none": `DELETE FROM documents; UPDATE checkouts SET document_id = ''`,
		"damaged":                              `UPDATE documents SET bytes = CAST(bytes || x'20' AS BLOB)`,
	} {
		t.Run(name, func(t *testing.T) {
			o := newOperator(t)
			number := o.confirmedOver(t)
			o.execute(t, loss)
			out := filepath.Join(t.TempDir(), "agreement.pdf")
			o.fails(t, "--redraw renders it again, marked as a copy", "agreements", "pdf", number, "--out", out)
			if _, err := os.Stat(out); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a file is left, %v", err)
			}

			_, stderr := o.does(t, "agreements", "pdf", number, "--out", out, "--redraw")
			copied, err := os.ReadFile(out)
			if err != nil || !strings.Contains(stderr, "marked as a copy on every page") {
				t.Fatalf("%v; stderr %q does not say that it is a copy", err, stderr)
			}
			isCopy(t, copied, "This is not the document that was agreed.")

		})
	}
}

func TestACopyInTheStoreIsNotTheDocument(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	o.storeRendered(t, number, func(p *pdf.Printer, a agreement.Agreement) ([]byte, error) {
		return p.PrintCopy(t.Context(), a, agreement.Copy{DrawnAt: time.Now(), Lost: true})
	})
	got := try(t, nil, "", "agreements", "verify", number, "--store", "sqlite:"+o.path)
	if want := "FAIL  the evidence log has another document_sha256\n"; got.code != cli.ExitFailed || !strings.Contains(got.stdout, want) {
		t.Errorf("verify = %+v, want status 1 and a line with %q", got, want)
	}
	o.fails(t, "is not the one in the evidence log", "agreements", "pdf", number, "--out", filepath.Join(t.TempDir(), "a.pdf"))
}

func TestAStoredPDFIsNotRedrawn(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	dir := t.TempDir()
	var written [2][]byte
	for i, flags := range [][]string{nil, {"--redraw"}} {
		out := filepath.Join(dir, fmt.Sprint(i))
		o.does(t, append([]string{"agreements", "pdf", number, "--out", out}, flags...)...)
		written[i], _ = os.ReadFile(out)
	}
	if len(written[0]) == 0 || !bytes.Equal(written[0], written[1]) {
		t.Errorf("with --redraw, a document of %d bytes is written as another of %d", len(written[0]), len(written[1]))
	}
}

func TestAPDFThatWasNeverRenderedIsACopy(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t, func(c *service.Config, _ *httpapi.Options) { c.Printer = failing{} })
	out := filepath.Join(t.TempDir(), "agreement.pdf")
	o.does(t, "agreements", "pdf", number, "--out", out)
	copied, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	isCopy(t, copied, "No document was drawn when this was agreed.")
}

func TestAPDFIsWrittenWithoutItsCheckout(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	o.execute(t, `UPDATE checkouts SET first_payment_date = 'damaged'`)
	o.fails(t, "read its checkout", "agreements", "verify", number)
	if _, stderr := o.does(t, "agreements", "pdf", number, "--out", filepath.Join(t.TempDir(), "a.pdf")); strings.Contains(stderr, "copy") {
		t.Errorf("it writes a copy: %s", stderr)
	}
}

// isCopy checks that the title of a PDF has today's mark, with these words at its end. The tests of package pdf hold that
// every page has the mark of the title.
func isCopy(t *testing.T, data []byte, words string) {
	t.Helper()
	zone, err := service.NewZealand()
	if err != nil {
		t.Fatal(err)
	}
	today := money.DateOf(time.Now().In(zone))
	marked := func(day money.Date) bool {
		return bytes.Contains(data, []byte(". COPY drawn on "+day.Long()+". "+words+")"))
	}
	if !marked(today) && !marked(today.AddDays(-1)) { // it may be midnight
		t.Errorf("the title has no mark of a copy of today with %q", words)
	}
}

func TestPDFsOfManyAreWritten(t *testing.T) {
	o := newOperator(t)
	numbers := o.confirmAll(t, []string{"ENROL-1", "ENROL-2", "ENROL-3", "ENROL-4"})
	for i, at := range []string{"2026-11-30T10:59:59.999Z", "2026-11-30T11:00:00Z", "2026-12-24T00:00:00Z", "2027-01-01T00:00:00Z"} {
		accepted, err := time.Parse(time.RFC3339, at) // the second is the beginning of 1 December in New Zealand
		if err != nil {
			t.Fatal(err)
		}
		o.execute(t, `UPDATE agreements SET accepted_ms = ? WHERE number = ?`, accepted.UnixMilli(), numbers[i])
	}
	lost := numbers[2]
	o.execute(t, `DELETE FROM documents WHERE agreement_number = ?`, lost)

	dir := filepath.Join(t.TempDir(), "agreements")
	args := []string{"agreements", "pdf", "--all", "--since", "2026-12-01", "--out", dir}
	got := try(t, nil, "", append(args, "--store", "sqlite:"+o.path)...)
	lines := strings.Split(strings.TrimSuffix(got.stderr, "\n"), "\n")
	if got.code != cli.ExitFailed || got.stdout != "" || len(lines) != 5 || !strings.Contains(lines[1], "--redraw") ||
		!strings.Contains(lines[3], "wrote 2 agreements accepted since 2026-12-01 to "+dir+", 0 of them ") ||
		!strings.HasSuffix(lines[4], "not written: "+lost) {
		t.Errorf("%q = %+v; want status 1, a line for each, a summary, and %s named", args, got, lost)
	}
	holds(t, dir, numbers[1], numbers[3])

	_, stderr := o.does(t, append(args, "--redraw")...)
	if !strings.Contains(stderr, "wrote 3 agreements accepted since 2026-12-01 to "+dir+", 1 of them marked as copies\n") {
		t.Errorf("with --redraw, stderr is %s", stderr)
	}
	holds(t, dir, numbers[1:]...)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode of the folder %v, %v; want 0700", info.Mode(), err)
	}
}

// holds checks that a folder has the PDFs of these agreements and nothing else, readable by their owner only.
func holds(t *testing.T, dir string, numbers ...string) {
	t.Helper()
	var got, want []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || info.Mode() != 0o600 || info.Size() < 1000 {
			t.Errorf("%s has mode %v and %d bytes, %v; want a PDF with 0600", e.Name(), info.Mode(), info.Size(), err)
		}
		got = append(got, e.Name())
	}
	for _, number := range numbers {
		want = append(want, number+".pdf")
	}
	if slices.Sort(want); !slices.Equal(got, want) {
		t.Errorf("the folder has %q, want %q", got, want)
	}
}
