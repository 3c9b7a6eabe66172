package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// example is a program with a command of each kind.
func example() Program {
	var text string
	nothing := func(*Flags) Action { return nil }
	return Program{Name: "provider-checkout", Commands: []Command{
		{Name: "serve", About: "Serve", Setup: func(fs *Flags) Action {
			fs.StringVar(&text, "environment", "", "`sandbox|production`")
			fs.StringVar(&text, "terms", "", "`FILE` with the terms")
			fs.StringVar(&text, "timestamps", "", "`FOLDER` for them")
			fs.StringVar(&text, "addr", "", "`HOST:PORT`")
			return nil
		}},
		{Name: "keys issue", About: "Issue", Setup: nothing},
		{Name: "keys revoke", Args: []string{"KEY-OR-ID"}, About: "Revoke", Setup: nothing},
		{Name: "verify-proof", Args: []string{"FILE"}, About: "Check", Setup: nothing},
		{Name: "conformance", About: "Test", Setup: printing("the service")},
		{Name: "conformance provider", About: "Test", Setup: printing("an integration")},
	}}
}

// printing is the setup of a command that prints a text.
func printing(text string) func(*Flags) Action {
	return func(*Flags) Action {
		return func(_ context.Context, c *Call) error {
			_, err := fmt.Fprint(c.Stdout, text)
			return err
		}
	}
}

// A command may do something itself and have others below it.
func TestACommandHasOthersBelowIt(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"conformance", "the service"},
		{"conformance provider", "an integration"},
	} {
		if got := run(t, strings.Fields(tt.args)...); got != tt.want {
			t.Errorf("%s prints %q, want %q", tt.args, got, tt.want)
		}
	}
	for _, args := range []string{"conformance provder", "help conformance provder"} {
		var stdout, stderr strings.Builder
		if code := example().Run(t.Context(), strings.Fields(args), func(string) string { return "" }, nil, &stdout, &stderr); code != ExitUsage || stdout.Len() > 0 {
			t.Errorf("%s: status %d, %s%s", args, code, stdout.String(), stderr.String())
		}
	}
}

// run runs the example, and returns what it printed on stdout.
func run(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr strings.Builder
	if code := example().Run(t.Context(), args, func(string) string { return "" }, nil, &stdout, &stderr); code != ExitDone {
		t.Fatalf("%q: status %d, %s", args, code, stderr.String())
	}
	return stdout.String()
}

func TestCompletionsFollowFromNames(t *testing.T) {
	const files, nothing = ":0", ":4" // cobra's directives
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{""}, []string{"completion", "conformance", "help", "keys", "man", "serve", "verify-proof", nothing}},
		{[]string{"keys", ""}, []string{"issue", "revoke", nothing}},
		{[]string{"serve", "--env"}, []string{"--environment", nothing}},
		{[]string{"serve", "--environment", ""}, []string{"sandbox", "production", nothing}},
		{[]string{"serve", "--terms", ""}, []string{files}},
		{[]string{"verify-proof", ""}, []string{files}},
		{[]string{"completion", ""}, []string{"bash", "fish", "powershell", "zsh", nothing}},
	} {
		var got []string
		for line := range strings.Lines(run(t, append([]string{"__complete"}, tt.args...)...)) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, word)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q is completed by %q, want %q", tt.args, got, tt.want)
		}
	}
}
