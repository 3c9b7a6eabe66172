package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A restore is a copy of the backup to the place of the store, with its secret beside it.
func TestBackupIsAStoreWithEverythingOnRecord(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	out := filepath.Join(t.TempDir(), "backup.db")
	says(t, o.prints(t, "backup", "--out", out), "wrote "+out+", checked and synced", o.path+".secret, without which it cannot be used")
	o.fails(t, "is there already", "backup", "--out", out)
	newOperator(t).fails(t, "there is no store at", "backup", "--out", filepath.Join(t.TempDir(), "none.db"))

	secret, err := os.ReadFile(o.path + ".secret")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out+".secret", secret, 0o600); err != nil {
		t.Fatal(err)
	}
	again := operator{path: out}
	was := o.prints(t, "export")
	if is := again.prints(t, "export"); is != was {
		t.Errorf("the backup exports\n%s\nwant\n%s", is, was)
	}
	again.does(t, "keys", "issue", "--provider", "KOWHAI") // which needs the secret
	again.does(t, "agreements", "verify", number)
}
