package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBackupAndRestore(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	out := filepath.Join(t.TempDir(), "backup.db")
	stdout := o.prints(t, "backup", "--out", out)
	says(t, stdout, out, "1 checkout, 1 agreement, 1 PDF, 3 events", o.path+".secret, without which it cannot be restored")
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
	stdout = again.prints(t, "restore", "--in", out)
	says(t, stdout, "restored "+again.path+": 1 checkout,", "see to them before")
	was := o.prints(t, "export")
	if is := again.prints(t, "export"); is != was {
		t.Errorf("the restored store exports\n%s\nwant\n%s", is, was)
	}
	again.does(t, "agreements", "verify", number)
	says(t, again.prints(t, "evidence", "list", "--operations"), "restore backup.db by ")
}

// Without the key that signed its log a restored store is not sealed, and no other key is made in its place.
func TestRestoreNamesTheEvidenceKey(t *testing.T) {
	was := newSealedStore(t, 2)
	out := filepath.Join(t.TempDir(), "backup.db")
	was.does(t, "backup", "--out", out)
	if err := os.Rename(was.path+".secret", out+".secret"); err != nil {
		t.Fatal(err)
	}
	keys := testKeys(t)
	signer := keys.Public()[:strings.LastIndex(keys.Public(), "+")] // which its last part, in base64, has none of here

	o := newOperator(t)
	stdout := o.prints(t, "restore", "--in", out)
	says(t, stdout, "its evidence log was signed by the key "+signer+": put that key into "+o.path+".evidence",
		"its evidence log ends with record 2: where the file of --checkpoint-file has more")
	o.fails(t, ".evidence is missing, and the evidence log was signed by the key "+signer, "serve", "--addr", "127.0.0.1:0")
	if _, err := os.Stat(o.path + ".evidence"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key was made, %v", err)
	}
	again := newOperator(t)
	if err := os.WriteFile(again.path+".evidence", []byte(privateKey(t)), 0o600); err != nil {
		t.Fatal(err)
	}
	saysNot(t, again.prints(t, "restore", "--in", out), "put that key")
}
