package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// pipes runs a command over the operator's store that must succeed, with text on standard input.
func (o operator) pipes(t *testing.T, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	got := try(t, nil, stdin, append(args, "--store", "sqlite:"+o.path)...)
	if got.code != cli.ExitDone {
		t.Fatalf("%q = %+v", args, got)
	}
	return got.stdout, got.stderr
}

func TestADashIsStandardInputOrOutput(t *testing.T) {
	temporary := inEmptyTemp(t)
	o := newSealedStore(t, 1)
	number, dir := o.numbers[0], t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	read := func(path string) string {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}

	o.does(t, "agreements", "pdf", number, "--out", file("a.pdf"))
	document, said := o.pipes(t, "", "agreements", "pdf", number, "--out", "-")
	if document != read(file("a.pdf")) || !strings.HasPrefix(said, "wrote standard output: ") {
		t.Errorf("agreements pdf --out - writes %d bytes and says %q, want the document alone", len(document), said)
	}
	o.does(t, "agreements", "prove", number, "--out", file("a.json"))
	proof, _ := o.pipes(t, "", "agreements", "prove", number, "--out", "-")
	if proof != read(file("a.json")) {
		t.Errorf("agreements prove --out - writes %s, want the proof alone", proof)
	}
	key := o.prints(t, "evidence", "key")
	verified := try(t, nil, proof, "verify-proof", "-", "--key", strings.TrimSpace(key), "--pdf", file("a.pdf"))
	if verified.code != cli.ExitDone || !strings.Contains(verified.stdout, number) {
		t.Errorf("verify-proof - = %+v", verified)
	}
	if got := try(t, nil, document, "verify-proof", file("a.json"), "--key", strings.TrimSpace(key), "--pdf", "-"); got.code != cli.ExitDone {
		t.Errorf("verify-proof --pdf - = %+v", got)
	}
	checkpoint := o.prints(t, "evidence", "checkpoint")
	o.pipes(t, checkpoint, "agreements", "verify", number, "--checkpoint", "-")

	backup, said := o.pipes(t, "", "backup", "--out", "-")
	if !strings.HasPrefix(backup, "SQLite format 3\x00") || !strings.HasPrefix(said, "wrote standard output, checked: 1 checkout,") {
		t.Errorf("backup --out - writes %d bytes and says %q, want the store alone", len(backup), said)
	}
	again := newOperator(t)
	secret := read(o.path + ".secret")
	if err := os.WriteFile(again.path+".secret", []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	again.pipes(t, backup, "restore", "--in", "-")
	again.does(t, "agreements", "verify", number)
	says(t, again.prints(t, "evidence", "list", "--operations"), "restore standard input by ")
	if left := temporary(); len(left) > 0 {
		t.Errorf("%q are left, want nothing", left)
	}
}

func TestTermsComeFromStandardInput(t *testing.T) {
	got := try(t, nil, `{"lender": {"name": "Pūtea"}}`, "serve", "--terms", "-")
	if got.code != cli.ExitUsage || !strings.Contains(got.stderr, "standard input is refused: lender.address must be given") {
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
		{"--addr", "simulate gocardless --addr " + addr},
	} {
		got := try(t, nil, "", strings.Fields(tt.args)...)
		if want := addr + " is taken; choose another address with " + tt.flag + "\n"; got.code != cli.ExitFailed || !strings.HasSuffix(got.stderr, want) {
			t.Errorf("%s = %+v, want %q", tt.args, got, want)
		}
	}
}
