package web_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

func TestPolicy(t *testing.T) {
	for _, tt := range []struct {
		name   string
		policy web.Policy
		want   string
	}{
		{"nothing is allowed", web.Policy{}, "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"},
		{"a payer's page", web.Policy{Files: true, Forms: true, FormsTo: []string{"https://pay.bank.example"},
			Frames: []string{"https://enrol.example", "https://other.example"}},
			"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; form-action 'self' https://pay.bank.example; " +
				"base-uri 'none'; frame-ancestors https://enrol.example https://other.example"},
		{"a page with a logo of its own", web.Policy{Files: true, DataImages: true},
			"default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'none'; " +
				"base-uri 'none'; frame-ancestors 'none'"},
	} {
		if got := tt.policy.String(); got != tt.want {
			t.Errorf("%s: %s\nwant %s", tt.name, got, tt.want)
		}
	}
}
