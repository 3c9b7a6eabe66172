package seal_test

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/internal/seal"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

func TestEnter(t *testing.T) {
	const sandbox, production = catalogue.Sandbox, catalogue.Production
	for _, tt := range []struct {
		name                string
		store, opened, want catalogue.Environment
		says                string
	}{
		{"a new store takes the environment of its server", "", sandbox, sandbox, ""},
		{"a new store takes none of a command", "", "", "", ""},
		{"a store keeps its own", production, production, production, ""},
		{"a command may open either", production, "", production, ""},
		{"the other is refused", production, sandbox, "", "belongs to the production environment"},
	} {
		got, err := seal.Enter(tt.store, tt.opened)
		if got != tt.want || (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %q, %v; want %q, %q", tt.name, got, err, tt.want, tt.says)
		}
	}
}

func TestNewSecretIsTheTextOfRandomBytes(t *testing.T) {
	got, err := seal.NewSecret(strings.NewReader(strings.Repeat("\x0f", 32)))
	if want := strings.Repeat("0f", 32); err != nil || got != want {
		t.Errorf("NewSecret = %q, %v; want %q", got, err, want)
	}
	if got, err := seal.NewSecret(strings.NewReader("too few")); err == nil {
		t.Errorf("NewSecret of too little randomness = %q, want an error", got)
	}
}
