package main

import (
	"crypto/rand"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
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

// fails runs a command that must fail with one line that contains words.
func (o operator) fails(t *testing.T, words string, args ...string) {
	t.Helper()
	got := try(t, nil, "", append(args, "--store", "sqlite:"+o.path)...)
	if got.code != cli.ExitFailed || got.stdout != "" || !isLine(got.stderr) || !strings.Contains(got.stderr, words) {
		t.Errorf("%q = %+v, want status 1 and one line on stderr with %q", args, got, words)
	}
}

// confirmedOver confirms one checkout over the operator's store and returns its agreement number.
func (o operator) confirmedOver(t *testing.T, changes ...func(*service.Config, *httpapi.Options)) string {
	t.Helper()
	return o.confirmAll(t, []string{"ENROL-1"}, changes...)[0]
}

// confirmAll confirms a checkout of each order over the operator's store and returns their agreement numbers.
func (o operator) confirmAll(t *testing.T, orders []string, changes ...func(*service.Config, *httpapi.Options)) (numbers []string) {
	t.Helper()
	db, err := sqlite.Open(t.Context(), o.path, sqlite.Options{Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	own := func(c *service.Config, _ *httpapi.Options) { c.Keyring = keyringOf(t, db) }
	s := sandbox.New(t, db, append([]func(*service.Config, *httpapi.Options){own}, changes...)...)
	for _, order := range orders {
		created := s.Create(t, order)
		s.SetUp(t, created)
		numbers = append(numbers, s.Confirm(t, created).String("agreement.number"))
	}
	return numbers
}
