package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Whoever has the file, and no secret, can read it by every command that only reads, and leaves it as it was.
func TestCommandsThatReadNeedNoSecretAndWriteNothing(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	number := o.confirmedOver(t)
	if err := os.Rename(o.path+".secret", o.path+".kept"); err != nil {
		t.Fatal(err)
	}
	job := o.objects(t, "jobs", "list", "--state", "done")[0]["id"].(string)
	before, err := os.ReadFile(o.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"find", "ENROL-1"}, {"show", "ENROL-1"}, {"today"}, {"jobs", "list"}, {"jobs", "show", job},
		{"acts"}, {"keys", "list"}, {"agreements", "verify", number}, {"agreements", "verify", "--all"}, {"agreements", "pdf", number, "--out", "-"},
		{"privacy", "export", "--email", "aroha.ngata@students.example.ac.nz"}, {"export"}} {
		o.does(t, args...)
	}
	if after, err := os.ReadFile(o.path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed, %v", err)
	}
	o.fails(t, ".secret is missing", "keys", "issue", "--provider", "KOWHAI")
	operator{path: o.path + ".new"}.fails(t, "there is no store", "find", "x")
	db, err := sqlite.Open(t.Context(), o.path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.AddKey(t.Context(), catalogue.Key{ID: "x"}, checkout.Act{ID: "act_1"}); err == nil || !strings.Contains(err.Error(), "to be read only") {
		t.Errorf("a write gives %v", err)
	}
	if err := db.Ready(t.Context()); err == nil {
		t.Error("a store that is only read is ready")
	}
}
