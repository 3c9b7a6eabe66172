package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

// Whoever has the file, and no secret, can read it by every command that only reads, and leaves it as it was.
func TestReadOnlyNeedsNoSecretAndWritesNothing(t *testing.T) {
	t.Parallel()
	o := newOperator(t)
	number := o.confirmedOver(t)
	if err := os.Rename(o.path+".secret", o.path+".kept"); err != nil {
		t.Fatal(err)
	}
	event := o.firstEvent(t)
	before, err := os.ReadFile(o.path)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"find", "ENROL-1"}, {"show", "ENROL-1"}, {"today"}, {"funnel"}, {"month", "2026-01"}, {"jobs", "list"},
		{"events", "list"}, {"events", "show", event}, {"keys", "list"}, {"evidence", "list"}, {"agreements", "verify", number},
		{"agreements", "verify", "--all"}} {
		got := try(t, nil, "", append(args, "--read-only", "--store", "sqlite:"+o.path)...)
		if got.code != cli.ExitDone && !strings.Contains(got.stdout, "none") {
			t.Errorf("%q = %+v", args, got)
		}
	}
	if after, err := os.ReadFile(o.path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed, %v", err)
	}
	o.fails(t, ".secret is missing", "find", "ENROL-1")
	for _, args := range [][]string{{"show", "ENROL-1", "--reveal", "--reason", "x"}, {"month", "2026-01", "--out", "x.csv"}} {
		try(t, nil, "", append(args, "--read-only", "--store", "sqlite:"+o.path)...).refuses(t, cli.ExitUsage, "--read-only records nothing")
	}
	try(t, nil, "", "find", "x", "--read-only", "--store", "sqlite:"+o.path+".new").refuses(t, cli.ExitFailed, "there is no store")
	db, err := sqlite.Open(t.Context(), o.path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.AddKey(t.Context(), catalogue.Key{ID: "x"}, nil); err == nil || !strings.Contains(err.Error(), "to be read only") {
		t.Errorf("a write gives %v", err)
	}
	if err := db.Ready(t.Context()); err == nil {
		t.Error("a store that is only read is ready")
	}
}

// firstEvent returns the id of an event of the store, read without a secret.
func (o operator) firstEvent(t *testing.T) string {
	t.Helper()
	return o.objects(t, "events", "list", "--read-only")[0]["event_id"].(string)
}
