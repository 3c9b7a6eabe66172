package checkout_test

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestMaskedKeepsNoSecretOfAnAnswer(t *testing.T) {
	const secret = "kept-between-us-0123456789"
	for _, tt := range []struct{ name, body, want string }{
		{"words", "no such order", "no such order"},
		{"nothing", "", ""},
		{"the signing secret", "signed with " + secret + "?", "signed with ***?"},
		{"a signature", "expected v1=5d5384b1ded2a36a1793b9621f44e4f348fba0fc71479e47910a59293573e447", "expected ***"},
		{"an API key", `{"key":"pck_sandbox_abcdefgh_aaaa_bbbbbbb"}`, `{"key":"***"}`},
		{"a bearer token", "Authorization: Bearer abc.DEF-123", "Authorization: ***"},
		{"a password", `{"password": "hunter2", "a": 1}`, `{"***", "a": 1}`},
		{"an e-mail address", "unknown aroha.ngata@student.example.", "unknown ***."},
		{"characters that no store takes", "a\x00b\xffc", "abc"},
		{"a long page", strings.Repeat("x", 5000), strings.Repeat("x", 1024)},
		{"a secret at the end of what is kept", strings.Repeat("x", 1020) + secret, strings.Repeat("x", 1020) + "***"},
	} {
		if got := (checkout.Answer{Body: tt.body}).Masked("", secret); got != tt.want {
			t.Errorf("%s: %q is kept as %q, want %q", tt.name, tt.body, got, tt.want)
		}
	}
}
