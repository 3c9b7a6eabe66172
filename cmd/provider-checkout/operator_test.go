package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
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

func TestTheOperatorIsTheFirstWhoIsNamed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		env   map[string]string
		user  user.User
		fault error
		want  string // "" for an error
	}{
		{"the variable", map[string]string{operatorVariable: "Aroha Ngata", "SUDO_USER": "deploy"}, user.User{Username: "root"}, nil, "Aroha Ngata"},
		{"the caller of sudo", map[string]string{"SUDO_USER": "aroha"}, user.User{Username: "root"}, nil, "aroha"},
		{"the user", nil, user.User{Username: "aroha"}, nil, "aroha"},
		{"a user without a name", nil, user.User{Uid: "1001"}, nil, "uid 1001"},
		{"no user", nil, user.User{}, errors.New("no such user"), ""},
		{"no user, but the variable", map[string]string{operatorVariable: "Aroha"}, user.User{}, errors.New("no such user"), "Aroha"},
		{"two spellings that look the same", map[string]string{operatorVariable: " Ma\u0304ui "}, user.User{}, nil, "Māui"},
		{"white space", map[string]string{operatorVariable: " "}, user.User{Username: "root"}, nil, ""},
		{"a line break", map[string]string{operatorVariable: "Aroha\nroot"}, user.User{}, nil, ""},
		{"another direction of the text", map[string]string{operatorVariable: "toor\u202e"}, user.User{}, nil, ""},
		{"a name that is too long", map[string]string{operatorVariable: strings.Repeat("a", 256)}, user.User{}, nil, ""},
	} {
		got, err := operatorName(func(name string) string { return tt.env[name] }, func() (*user.User, error) { return &tt.user, tt.fault })
		if tt.want == "" {
			if err == nil || !strings.Contains(err.Error(), operatorVariable) {
				t.Errorf("%s: %q, %v; want an error that names %s", tt.name, got, err, operatorVariable)
			}
		} else if got != tt.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", tt.name, got, err, tt.want)
		}
	}
}

// What operators change is on record with who they are, why, and what was before and after; and no secret is.
func TestWhatOperatorsChangeIsOnRecord(t *testing.T) {
	o := newOperator(t)
	demo, err := os.ReadFile("demo.json")
	if err != nil {
		t.Fatal(err)
	}
	raised := strings.Replace(string(demo), `"course_price": 2990.00`, `"course_price": 3190.00`, 1)
	raised = strings.Replace(raised, "whsec_", "whsec_new_", 1)
	as := func(operator string, args ...string) string {
		t.Helper()
		got := try(t, []string{operator}, "", append(args, "--store", "sqlite:"+o.path)...)
		if got.code != exitDone {
			t.Fatalf("%q = %+v", args, got)
		}
		return strings.TrimSpace(got.stdout)
	}
	const aroha, matiu = operatorVariable + "=Aroha Ngata", "SUDO_USER=matiu"
	as(matiu, "apply", "-f", "demo.json")
	changed := as(aroha, "apply", "-f", proc.TempFile(t, raised), "--reason", "prices of 2027")
	as(matiu, "apply", "-f", proc.TempFile(t, raised)) // which changes nothing
	key := as(matiu, "keys", "issue", "--provider", "TUI")
	id := strings.Split(key, "_")[2]
	as(matiu, "keys", "revoke", key, "--reason", "it was in a chat")
	as(matiu, "keys", "revoke", id) // which it is already

	says(t, changed, "course_price 2990.00 → 3190.00", "signing secret changed")
	lines := strings.Split(changed, "\n")
	want := []act{
		{Operator: "Aroha Ngata", Act: "apply", Subject: "KOWHAI", Reason: "prices of 2027", Changes: lines[:len(lines)-1]}, // the last is the revision
		{Operator: "matiu", Act: "keys issue", Subject: id, Changes: []string{"+ key " + id + ": of provider TUI, for sandbox"}},
		{Operator: "matiu", Act: "keys revoke", Subject: id, Reason: "it was in a chat",
			Changes: []string{"- key " + id + ": of provider TUI, for sandbox, live → revoked"}},
	}
	applied := o.acts(t, "apply")
	if got := slices.Concat(applied[2:], o.acts(t, "keys issue"), o.acts(t, "keys revoke")); len(applied) != 3 || !reflect.DeepEqual(got, want) {
		t.Errorf("on record are %+v and %+v, want an act of each provider and\n%+v", applied, got, want)
	}
	secrets := append(o.column(t, `SELECT operator || act || subject || reason || changes FROM acts`), o.prints(t, "acts", "--json"))
	saysNot(t, strings.Join(secrets, "\n"), "whsec", strings.Split(key, "_")[3])
}
