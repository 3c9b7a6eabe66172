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
		{"a file, one a line", map[string]string{secretFileVariable: file}, []string{first, second}},
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
