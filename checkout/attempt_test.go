package checkout_test

import (
	"slices"
	"strings"
	"testing"
	"time"

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
		{"an e-mail address of other letters, in an address", "GET /?to=māia.ngāta%40student.example&x=1", "GET /?to=***&x=1"},
		{"characters that no store takes", "a\x00b\xffc", "abc"},
		{"a long page", strings.Repeat("x", 5000), strings.Repeat("x", 1024)},
		{"a secret at the end of what is kept", strings.Repeat("x", 1020) + secret, strings.Repeat("x", 1020) + "***"},
	} {
		if got := (checkout.Answer{Body: tt.body}).Masked("", secret); got != tt.want {
			t.Errorf("%s: %q is kept as %q, want %q", tt.name, tt.body, got, tt.want)
		}
	}
}

func TestNextRunFollowsTheTimesOfTheFurtherRuns(t *testing.T) {
	failed := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	runs := func(within, each time.Duration) (at []time.Duration) { // of a receiver that never takes the event, each run of which takes a time
		for now := failed; ; now = now.Add(each) {
			pause, again := checkout.NextRun(failed, now, within)
			if !again {
				return at
			}
			now = now.Add(pause)
			at = append(at, now.Sub(failed))
		}
	}
	all := []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 48 * time.Hour}
	for _, tt := range []struct {
		within, each time.Duration
		want         []time.Duration
	}{
		{0, 0, nil}, {time.Minute - 1, 0, nil}, {time.Minute, 0, all[:1]}, {time.Hour, 7 * time.Second, all[:3]},
		{24 * time.Hour, 7 * time.Second, all[:5]}, {72 * time.Hour, 7 * time.Second, all},
		{72 * time.Hour, time.Hour, []time.Duration{all[0], 6 * time.Hour, all[4], all[5]}}, // nobody had time for two of them
	} {
		if got := runs(tt.within, tt.each); !slices.Equal(got, tt.want) {
			t.Errorf("within %v, where a run takes %v: %v, want %v", tt.within, tt.each, got, tt.want)
		}
	}
}
