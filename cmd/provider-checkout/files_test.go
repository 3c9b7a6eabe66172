package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

func TestADashIsStandardOutput(t *testing.T) {
	temporary := inEmptyTemp(t)
	o := newOperator(t)
	number, file := o.confirmedOver(t), filepath.Join(t.TempDir(), "a.pdf")
	o.does(t, "agreements", "pdf", number, "--out", file)
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if document, said := o.does(t, "agreements", "pdf", number, "--out", "-"); document != string(written) || !strings.HasPrefix(said, "wrote standard output: ") {
		t.Errorf("agreements pdf --out - writes %d bytes and says %q, want the document alone", len(document), said)
	}
	if left := temporary(); len(left) > 0 {
		t.Errorf("%q are left, want nothing", left)
	}
}

func TestTermsComeFromStandardInput(t *testing.T) {
	got := try(t, nil, `{"lender": {"name": "Pūtea"}}`, "serve", "--terms", "-")
	if got.code != exitUsage || !strings.Contains(got.stderr, "standard input is refused: lender.address must be given") {
		t.Errorf("serve --terms - = %+v, want its text judged", got)
	}
}

func TestAFileThatCannotBeWrittenIsNamedAsItWasGiven(t *testing.T) {
	o := newOperator(t)
	number, path := o.confirmedOver(t), filepath.Join(t.TempDir(), "none", "a.pdf")
	o.fails(t, "write "+path+": no such file or directory\n", "agreements", "pdf", number, "--out", path)
}

func TestATakenPortIsSaidWithItsFlag(t *testing.T) {
	ln := sample.Listen(t)
	addr := ln.Addr().String()
	for _, tt := range []struct{ flag, args string }{
		{"--addr", "serve --addr " + addr},
		{"--ops-addr", "serve --addr 127.0.0.1:0 --ops-addr " + addr},
	} {
		got := try(t, nil, "", strings.Fields(tt.args)...)
		if want := addr + " is taken; choose another address with " + tt.flag + "\n"; got.code != exitFailed || !strings.HasSuffix(got.stderr, want) {
			t.Errorf("%s = %+v, want %q", tt.args, got, want)
		}
	}
}

// Editors put a byte order mark before a text. It is no part of a secret, nor of a file that is applied.
func TestAByteOrderMarkIsNoPartOfAFile(t *testing.T) {
	const mark = "\uFEFF"
	o := newOperator(t)
	o.does(t, "apply", "-f", proc.TempFile(t, mark+strings.ReplaceAll(sandbox.Providers, "HOOKS", "https://hooks.example")))
	c := call{Env: variables([]string{secretVariable + "_FILE=" + proc.TempFile(t, mark+strings.Repeat("0123456789abcdef", 4)+"\n")})}
	secrets, err := c.secrets()
	if err != nil || string(secrets[0]) != strings.Repeat("0123456789abcdef", 4) {
		t.Errorf("the secret is %q, %v", secrets, err)
	}
}
