package full_test

import (
	"database/sql"
	"encoding/json"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// did is an operation as evidence list --json prints it, without its id and its time.
type did struct {
	Operator, Operation, Subject, Reason string
	Changes                              []string
}

// What operators change is on record with who they are, why, and what was before and after; and no secret is.
func (b suite) recordsItsOperators(t *testing.T) {
	store := filepath.Join(t.TempDir(), "records.db")
	demo, err := os.ReadFile("../demo.json")
	if err != nil {
		t.Fatal(err)
	}
	raised := strings.Replace(string(demo), `"course_price": 2990.00`, `"course_price": 3190.00`, 1)
	raised = strings.Replace(raised, "whsec_", "whsec_new_", 1)
	run := func(operator string, args ...string) string {
		t.Helper()
		cmd := b.Command(append(args, "--store", "sqlite:"+store)...)
		if operator != "" {
			cmd.Env = append(cmd.Env, operator)
		}
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		return string(out)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	added := run("", "apply", "-f", "../demo.json")
	changed := run("PROVIDER_CHECKOUT_OPERATOR=Aroha Ngata", "apply", "-f", proc.TempFile(t, raised), "--reason", "prices of 2027")
	run("PROVIDER_CHECKOUT_OPERATOR=Aroha Ngata", "apply", "-f", proc.TempFile(t, raised)) // which changes nothing
	key := strings.TrimSpace(run("SUDO_USER=matiu", "keys", "issue", "--provider", "TUI"))
	id := strings.Split(key, "_")[2]
	run("SUDO_USER=matiu", "keys", "revoke", key, "--reason", "it was in a chat")
	run("SUDO_USER=matiu", "keys", "revoke", id) // which it is already

	lines := func(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
	want := []did{
		{Operator: me.Username, Operation: "apply", Subject: "KOWHAI TUI", Changes: lines(added)},
		{Operator: "Aroha Ngata", Operation: "apply", Subject: "KOWHAI", Reason: "prices of 2027", Changes: lines(changed)},
		{Operator: "matiu", Operation: "keys issue", Subject: id, Changes: []string{"+ key " + id + ": of provider TUI, for sandbox"}},
		{Operator: "matiu", Operation: "keys revoke", Subject: id, Reason: "it was in a chat",
			Changes: []string{"- key " + id + ": of provider TUI, for sandbox, live → revoked"}},
	}
	var got []did
	for _, line := range lines(run("", "evidence", "list", "--operations", "--json")) {
		var d did
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			t.Fatal(err)
		}
		got = append(got, d)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("on record are\n%+v\nwant\n%+v", got, want)
	}
	if !strings.Contains(changed, "course_price 2990.00 → 3190.00") || !strings.Contains(changed, "signing secret changed") {
		t.Errorf("apply prints\n%s", changed)
	}
	checkNoSecrets(t, store, "whsec", key, strings.Split(key, "_")[3])
}

// checkNoSecrets checks that no entry of the evidence log of a store holds any of the texts.
func checkNoSecrets(t *testing.T, store string, secrets ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+store+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query(`SELECT id || leaf || coalesce(hex(salt), '') FROM evidence`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	entries := 0
	for ; rows.Next(); entries++ {
		var text string
		if err := rows.Scan(&text); err != nil {
			t.Fatal(err)
		}
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("an entry holds the secret %s:\n%s", secret, text)
			}
		}
	}
	if err := rows.Err(); err != nil || entries == 0 {
		t.Errorf("%d entries were read, %v", entries, err)
	}
}
