package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

func TestBackupAndRestore(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	out := filepath.Join(t.TempDir(), "backup.db")
	stdout, _ := o.does(t, "backup", "--out", out)
	for _, want := range []string{out, "1 checkouts, 1 agreements, 1 PDFs, 3 events", o.path + ".secret, without which it cannot be restored"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("backup prints %q, want it to say %q", stdout, want)
		}
	}
	o.fails(t, "is there already", "backup", "--out", out)
	o.fails(t, "may be of a live store", "restore", "--in", out)
	again := newOperator(t)
	again.fails(t, "there is no store at", "backup", "--out", filepath.Join(t.TempDir(), "none.db"))
	again.fails(t, "there is no backup at", "restore", "--in", filepath.Join(t.TempDir(), "none.db"))
	again.fails(t, ".secret is there", "restore", "--in", out)

	secret, err := os.ReadFile(o.path + ".secret")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out+".secret", secret, 0o600); err != nil {
		t.Fatal(err)
	}
	stdout, _ = again.does(t, "restore", "--in", out)
	for _, want := range []string{"restored " + again.path + ": 1 checkouts", "revoke them before"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("restore prints %q, want it to say %q", stdout, want)
		}
	}
	was, _ := o.does(t, "export")
	if is, _ := again.does(t, "export"); is != was {
		t.Errorf("the restored store exports\n%s\nwant\n%s", is, was)
	}
	again.does(t, "agreements", "verify", number)
	if out, _ := again.does(t, "evidence", "list", "--operations"); !strings.Contains(out, "restore backup.db by ") {
		t.Errorf("the restore is not in the evidence log:\n%s", out)
	}
}

func TestBackupOfAPostgreSQLStoreNamesTheWay(t *testing.T) {
	for _, args := range [][]string{{"backup", "--out", "x.db"}, {"restore", "--in", "x.db"}} {
		got := try(t, nil, "", append(args, "--store", "postgres://user:hunter2@127.0.0.1:1/none")...)
		if got.code != cli.ExitFailed || got.stdout != "" || !isLine(got.stderr) || !strings.Contains(got.stderr, "adapters/postgres/BACKUP.md") {
			t.Errorf("%q = %+v, want one line that names the way", args, got)
		}
	}
	if _, err := os.Stat("../../adapters/postgres/BACKUP.md"); err != nil {
		t.Error(err)
	}
}
