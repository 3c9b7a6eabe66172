package bounded_test

import (
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
)

func TestTextIsWhatEveryStoreTakes(t *testing.T) {
	for text, want := range map[string]string{"": "", "answered 500": "answered 500", "a\x00b": "ab", "\xff": "",
		strings.Repeat("a", 21): strings.Repeat("a", 20), strings.Repeat("a", 19) + "ā": strings.Repeat("a", 19)} {
		if got := bounded.Text(text, 20); got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
	}
}
