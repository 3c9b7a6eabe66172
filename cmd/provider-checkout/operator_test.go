package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/sqlite"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/ports"
)

// operator runs commands over one store.
type operator struct{ path string }

func newOperator(t *testing.T) operator {
	return operator{filepath.Join(t.TempDir(), "records.db")}
}

// does runs a command that must succeed, and returns what it printed.
func (o operator) does(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	got := try(t, nil, "", append(args, "--store", "sqlite:"+o.path)...)
	if got.code != cli.ExitDone {
		t.Fatalf("%q = %+v", args, got)
	}
	return got.stdout, got.stderr
}

// fails runs a command that must fail with one line that holds the words.
func (o operator) fails(t *testing.T, words string, args ...string) {
	t.Helper()
	got := try(t, nil, "", append(args, "--store", "sqlite:"+o.path)...)
	if got.code != cli.ExitFailed || got.stdout != "" || !isLine(got.stderr) || !strings.Contains(got.stderr, words) {
		t.Errorf("%q = %+v, want status 1 and one line on stderr with %q", args, got, words)
	}
}

func TestApplyPrintsWhatChanges(t *testing.T) {
	o := newOperator(t)
	all, legacy := "demo.json", proc.TempFile(t, `{"providers": [{"provider_code": "KOWHAI", "name": "Kōwhai", "account_id": "a",
		"environment": "sandbox", "active": true, "api_enabled": true}]}`)

	added, _ := o.does(t, "apply", "-f", all)
	for _, want := range []string{"KOWHAI", "TUI", "NZDIP-BUS"} {
		if !strings.Contains(added, want) {
			t.Errorf("%q is missing in\n%s", want, added)
		}
	}
	if again, said := o.does(t, "apply", "-f", all); again != "" || !strings.HasPrefix(said, "nothing changed\n") {
		t.Errorf("an unchanged file prints %q and %q", again, said)
	}
	if changed, _ := o.does(t, "apply", "-f", legacy); !strings.Contains(changed, "KOWHAI") || strings.Contains(changed, "TUI") {
		t.Errorf("a file that names KOWHAI alone prints\n%s", changed)
	}
	if pruned, _ := o.does(t, "apply", "--prune", "-f", legacy); !strings.Contains(pruned, "TUI") || strings.Contains(pruned, "KOWHAI") {
		t.Errorf("--prune prints\n%s", pruned)
	}
	if left, _ := o.does(t, "export"); strings.Count(left, `"kind":"provider"`) != 1 || strings.Contains(left, `"kind":"course"`) {
		t.Errorf("on record are\n%s", left)
	}
}

func TestApplyWarnsOfWhatCannotBeServed(t *testing.T) {
	o := newOperator(t)
	const provider = `{"providers": [{"provider_code": "KOWHAI", "name": "Kōwhai", "environment": "sandbox", "active": true, "api_enabled": true,
		"webhook": {"url": "http://localhost:8081/", "signing_secret": "whsec_0123456789abcdefgh"}}]}`
	_, said := o.does(t, "apply", "-f", proc.TempFile(t, provider))
	want := "provider KOWHAI is not linked to an account: its calls are refused\n" +
		"provider KOWHAI has its events sent over plain http: only a server with --allow-private-destinations does\n"
	if said != want {
		t.Errorf("it says %q, want %q", said, want)
	}
	linked := strings.NewReplacer(`"name"`, `"account_id": "acc", "name"`, "http://", "https://").Replace(provider)
	if _, said := o.does(t, "apply", "-f", proc.TempFile(t, linked)); said != "" {
		t.Errorf("of a provider that can be served it says %q", said)
	}
}

func TestApplyReadsStandardInput(t *testing.T) {
	o := newOperator(t)
	got := try(t, nil, `{"providers": []}`, "apply", "-f", "-", "--store", "sqlite:"+o.path)
	if got.code != cli.ExitDone || got.stdout != "" {
		t.Errorf("apply = %+v", got)
	}
}

func TestFaultyFileIsRefusedWholeInOneLine(t *testing.T) {
	o := newOperator(t)
	o.does(t, "apply", "-f", "demo.json")
	before, _ := o.does(t, "export")
	faulty := proc.TempFile(t, `{"providers": [{"provider_code": "NEW", "name": "New", "account_id": "a", "environment": "sandbox",
		"active": true, "api_enabled": true}, {"provider_code": "lower", "name": "", "environment": "moon"}]}`)
	for _, place := range []string{"providers[1].provider_code", "providers[1].name", "providers[1].environment"} {
		o.fails(t, place, "apply", "--prune", "-f", faulty)
	}
	if after, _ := o.does(t, "export"); after != before {
		t.Errorf("a refused file changed the record to\n%s", after)
	}
}

func TestKeysAreIssuedListedAndRevoked(t *testing.T) {
	o := newOperator(t)
	o.does(t, "apply", "-f", "demo.json")
	key, _ := o.does(t, "keys", "issue", "--provider", "KOWHAI")
	if !isLine(key) || !strings.HasPrefix(key, "pck_sandbox_") {
		t.Fatalf("keys issue prints %q, want a sandbox key alone", key)
	}
	other, _ := o.does(t, "keys", "issue", "--environment", "production", "--provider", "TUI")
	if !strings.HasPrefix(other, "pck_production_") {
		t.Errorf("keys issue --environment production prints %q", other)
	}
	secret := strings.TrimSpace(key)
	id := strings.Split(secret, "_")[2]

	list, _ := o.does(t, "keys", "list")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	if len(lines) != 3 || strings.Contains(list, secret) || !strings.HasPrefix(lines[1], id) ||
		!strings.Contains(lines[1], "KOWHAI") || !strings.HasSuffix(lines[1], " -") {
		t.Errorf("keys list prints\n%s", list)
	}
	if said, _ := o.does(t, "keys", "revoke", secret); said != "revoked "+id+"\n" {
		t.Errorf("keys revoke prints %q", said)
	}
	if list, _ := o.does(t, "keys", "list"); strings.Count(list, " -\n") != 1 {
		t.Errorf("after the revocation keys list prints\n%s", list)
	}
	if said, _ := o.does(t, "keys", "revoke", strings.Split(strings.TrimSpace(other), "_")[2]); !strings.HasPrefix(said, "revoked ") {
		t.Errorf("keys revoke by id prints %q", said)
	}
	if out, _ := o.does(t, "export"); strings.Count(out, `"kind":"key"`) != 2 || strings.Contains(out, secret) || strings.Contains(out, "whsec_") {
		t.Errorf("export prints\n%s", out)
	}
	o.fails(t, "there is no such key", "keys", "revoke", "nosuchkey")
	o.fails(t, `there is no provider "MOA"`, "keys", "issue", "--provider", "MOA")
}

// confirmedOver confirms one checkout over the operator's store and returns its agreement number.
func (o operator) confirmedOver(t *testing.T, changes ...func(*service.Config, *httpapi.Options)) string {
	t.Helper()
	db, err := sqlite.Open(t.Context(), o.path, sqlite.Options{Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s := sandbox.New(t, db, changes...)
	created := s.Create(t, "ENROL-1")
	s.SetUp(t, created)
	return s.Confirm(t, created).String("agreement.number")
}

// jammed is a printer that prints nothing.
type jammed struct{}

func (jammed) Print(context.Context, agreement.Agreement) ([]byte, error) {
	return nil, errors.New("paper jam")
}

var _ ports.Printer = jammed{}

func TestAgreementPDFIsWrittenForItsOwnerAlone(t *testing.T) {
	for _, tt := range []struct {
		name    string
		changes []func(*service.Config, *httpapi.Options)
		says    string
	}{
		{"on record", nil, "wrote "},
		{"missing from the record", []func(*service.Config, *httpapi.Options){
			func(c *service.Config, _ *httpapi.Options) { c.Printer = jammed{} }}, "no PDF on record"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := newOperator(t)
			number := o.confirmedOver(t, tt.changes...)
			out := filepath.Join(t.TempDir(), "agreement.pdf")
			if err := os.WriteFile(out, []byte("an older file that anybody may read"), 0o644); err != nil {
				t.Fatal(err)
			}
			stdout, stderr := o.does(t, "agreements", "pdf", number, "--out", out)
			data, err := os.ReadFile(out)
			if err != nil || !bytes.HasPrefix(data, []byte("%PDF-")) || stdout != "" || !strings.Contains(stderr, tt.says) {
				t.Errorf("wrote %.20q, %v; stdout %q, stderr %q", data, err, stdout, stderr)
			}
			if info, err := os.Stat(out); err != nil || info.Mode() != 0o600 {
				t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
			}
		})
	}
}

func TestAgreementPDFIsRefused(t *testing.T) {
	o := newOperator(t)
	number := o.confirmedOver(t)
	dir := t.TempDir()
	o.fails(t, `there is no agreement "PPA-1999-000001"`, "agreements", "pdf", "PPA-1999-000001", "--out", filepath.Join(dir, "a.pdf"))
	o.fails(t, "is not a regular file", "agreements", "pdf", number, "--out", dir)
	o.fails(t, "no such file", "agreements", "pdf", number, "--out", filepath.Join(dir, "none", "a.pdf"))
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v; want nothing", left, err)
	}
}

func TestExportTellsEverythingOfACheckout(t *testing.T) {
	o := newOperator(t)
	o.confirmedOver(t)
	out, _ := o.does(t, "export")
	for kind, want := range map[string]int{"provider": 2, "course": 3, "key": 2, "checkout": 1, "contact": 1, "opportunity": 1,
		"dda": 1, "agreement": 1, "document": 1, "charge": 53, "event": 3} {
		if got := strings.Count(out, `{"kind":"`+kind+`"`); got != want {
			t.Errorf("%d of kind %s, want %d", got, kind, want)
		}
	}
}
