package main

import (
	"database/sql"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// operator runs commands over one store.
type operator struct {
	path string // of the file, and of what is kept beside the store
}

func newOperator(t *testing.T) operator {
	return operator{path: filepath.Join(t.TempDir(), "records.db")}
}

// try runs a command over the store.
func (o operator) try(t *testing.T, args ...string) result {
	t.Helper()
	return try(t, nil, "", append(args, "--store", "sqlite:"+o.path)...)
}

// does runs a command that must succeed, and returns what it printed.
func (o operator) does(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	got := o.try(t, args...)
	if got.code != exitDone {
		t.Fatalf("%q = %+v", args, got)
	}
	return got.stdout, got.stderr
}

// prints returns what a command that must succeed prints on stdout.
func (o operator) prints(t *testing.T, args ...string) string {
	t.Helper()
	stdout, _ := o.does(t, args...)
	return stdout
}

// fails runs a command that must fail with one line that contains words.
func (o operator) fails(t *testing.T, words string, args ...string) {
	t.Helper()
	o.try(t, args...).refuses(t, exitFailed, words)
}

// open opens the operator's store.
func (o operator) open(t *testing.T) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), o.path, sqlite.Options{Environment: catalogue.Sandbox})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// execute executes statements on the file of the store.
func (o operator) execute(t *testing.T, statements string, args ...any) {
	t.Helper()
	db, err := sql.Open("sqlite", o.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), statements, args...); err != nil {
		t.Fatal(err)
	}
}

// column returns the texts of a query's one column.
func (o operator) column(t *testing.T, query string) (texts []string) {
	t.Helper()
	db, err := sql.Open("sqlite", o.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return texts
}

// keyringOf returns the keyring of a store's own secret.
func keyringOf(t *testing.T, db interface{ Secrets() [][]byte }) checkout.Keyring {
	t.Helper()
	keyring, err := checkout.NewKeyring(db.Secrets()...)
	if err != nil {
		t.Fatal(err)
	}
	return keyring
}

// served returns a sandbox over the operator's store.
func (o operator) served(t *testing.T, changes ...func(*service.Config, *httpapi.Options)) *sandbox.Sandbox {
	t.Helper()
	db := o.open(t)
	own := func(c *service.Config, _ *httpapi.Options) { c.Keyring = keyringOf(t, db) }
	return sandbox.New(t, sandbox.On(db), append([]func(*service.Config, *httpapi.Options){own}, changes...)...)
}

// act is an operator's act as acts --json prints it.
type act struct {
	Operator, Act, Subject, Reason string
	Changes                        []string
}

// acts returns the acts on record with a name, the oldest first.
func (o operator) acts(t *testing.T, name string) (list []act) {
	t.Helper()
	for line := range strings.Lines(o.prints(t, "acts", "--json")) {
		var a act
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		if a.Act == name {
			list = append(list, a)
		}
	}
	slices.Reverse(list)
	return list
}

// confirmedOver confirms one checkout over the operator's store and returns its agreement number.
func (o operator) confirmedOver(t *testing.T, changes ...func(*service.Config, *httpapi.Options)) string {
	t.Helper()
	return o.confirmAll(t, []string{"ENROL-1"}, changes...)[0]
}

// confirmAll confirms a checkout of each order over the operator's store and returns their agreement numbers.
func (o operator) confirmAll(t *testing.T, orders []string, changes ...func(*service.Config, *httpapi.Options)) (numbers []string) {
	t.Helper()
	s := o.served(t, changes...)
	for _, order := range orders {
		created := s.Create(t, order)
		s.SetUp(t, created)
		numbers = append(numbers, s.Confirm(t, created).String("agreement.number"))
	}
	return numbers
}

// says checks that a text has every one of these parts.
func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
}

// saysNot checks that a text has none of these parts.
func saysNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in\n%s", part, text)
		}
	}
}

// refuses checks that a run of the program printed nothing on stdout, and one line on stderr with every one of these parts.
func (r result) refuses(t *testing.T, code int, parts ...string) {
	t.Helper()
	if r.code != code || r.stdout != "" || !isLine(r.stderr) {
		t.Errorf("%+v, want status %d and one line on stderr", r, code)
	}
	says(t, r.stderr, parts...)
}

// refusal is a run of a command that is refused.
type refusal struct {
	name          string
	code          int
	env, args     []string
	says, saysNot []string
}

// of checks that a command is refused with one line, in which is no secret.
func (r refusal) of(t *testing.T, command ...string) {
	t.Run(r.name, func(t *testing.T) {
		got := try(t, r.env, "", append(command, r.args...)...)
		got.refuses(t, r.code, r.says...)
		saysNot(t, got.stderr, append(r.saysNot, "hunter2")...)
	})
}

// get returns the body of an answer.
func get(t *testing.T, url string) string {
	t.Helper()
	return sandbox.Fetch(t, url).Body
}
