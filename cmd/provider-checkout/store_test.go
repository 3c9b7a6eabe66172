package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSecretsComeFromTheEnvironmentOrAFile(t *testing.T) {
	first, second := strings.Repeat("abcdefgh", 4), strings.Repeat("b", 40)
	file := filepath.Join(t.TempDir(), "secrets")
	if err := os.WriteFile(file, []byte(first+"\r\n"+second+"\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		env  map[string]string
		want []string
	}{
		{"none", nil, nil},
		{"one", map[string]string{secretVariable: first}, []string{first}},
		{"a list", map[string]string{secretVariable: first + ", " + second}, []string{first, second}},
		{"a file, one a line", map[string]string{secretVariable + "_FILE": file}, []string{first, second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := call{Env: func(name string) string { return tt.env[name] }}
			secrets, err := c.secrets()
			var got []string
			for _, s := range secrets {
				got = append(got, string(s))
			}
			if err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("secrets = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestDistributeOfASQLiteStoreIsRefused(t *testing.T) {
	o := newOperator(t)
	o.confirmedOver(t)
	o.fails(t, "only a store in PostgreSQL can be distributed", "store", "distribute")
}

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

func TestExportTellsEverythingOfACheckout(t *testing.T) {
	o := newOperator(t)
	o.confirmedOver(t)
	out := o.prints(t, "export")
	for kind, want := range map[string]int{"provider": 2, "course": 3, "key": 2, "checkout": 1, "contact": 1, "opportunity": 1,
		"dda": 1, "agreement": 1, "document": 1, "event": 3} {
		if got := strings.Count(out, `{"kind":"`+kind+`"`); got != want {
			t.Errorf("%d of kind %s, want %d", got, kind, want)
		}
	}
	if got := strings.Count(out, `"collection_date":"`); got != 53 {
		t.Errorf("%d payments, want 53", got)
	}
}
