package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

const program = "provider-checkout"

// command is one thing that the program can do.
type command struct {
	name  string   // as it is typed: "keys issue"
	args  []string // what it needs beside flags: "NUMBER"
	about string   // one line; its own help adds more
	more  string
	flags func(*flags, *settings)
	run   func(context.Context, *call) error
}

// call is one run of a command: what it was given, and where its words go.
type call struct {
	settings
	args           []string // as many as the command names
	env            func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// commands lists every command, in the order in which an operator meets them.
func commands() []command {
	return []command{
		{name: "demo", flags: demoFlags, run: demo,
			about: "Serve a sandbox with two providers, or walk the whole flow (--walk)",
			more: "Everything is kept in a temporary folder, which is removed at the end; only the PDF of --walk\n" +
				"stays. Prints the keys and curl lines for the whole flow, and every event that its own\n" +
				"receiver verified.\n" +
				"With --walk it walks that flow itself over HTTP, and exits 0 only if everything held."},
		{name: "serve", flags: serveFlags, run: serve,
			about: "Serve the API and the setup pages",
			more:  secretHelp + "\n\n" + opsHelp},
		{name: "apply", flags: applyFlags, run: apply,
			about: "Create or update providers and their catalogues from a file",
			more: "All or nothing. A provider that the file names is replaced whole; one that it does not name\n" +
				"stays, unless --prune is given. Prints what changed. A running server sees it within 5 s."},
		{name: "keys issue", flags: issueFlags, run: issueKey,
			about: "Make an API key for a provider and print it, once",
			more:  "Only its hash is stored: keep what is printed."},
		{name: "keys list", flags: storeFlag, run: listKeys,
			about: "List the API keys"},
		{name: "keys revoke", args: []string{"KEY-OR-ID"}, flags: storeFlag, run: revokeKey,
			about: "Revoke an API key",
			more:  "A running server refuses it within 1 s."},
		{name: "agreements pdf", args: []string{"NUMBER"}, flags: pdfFlags, run: agreementPDF,
			about: "Write the PDF of an agreement to a file",
			more:  "An agreement whose PDF is missing from the record is drawn again from its figures."},
		{name: "agreements verify", args: []string{"NUMBER"}, flags: storeFlag, run: verifyAgreement,
			about: "Check an agreement's PDF and figures against the record",
			more: "Prints a line for each check: ok, FAIL, or none where there is nothing to check. The stored bytes\n" +
				"must have the SHA-256 on record; the charges must sum to the course price and be the schedule of\n" +
				"the plan; the checkout must have been confirmed with this agreement; and the text of the PDF must\n" +
				"have every figure. Exits 0 if everything held, and 1 if anything did not."},
		{name: "export", flags: storeFlag, run: export,
			about: "Write everything on record as JSON Lines",
			more:  "One moment's state, one object a line, each with a kind. Secrets and the text of keys are left out."},
		{name: "version", run: version,
			about: "Print the version, the commit and the version of Go"},
	}
}

// find returns the command that args begin with, and the arguments after its name. The bare name
// of a group with --help after it is a command that cannot run.
func find(args []string) (command, []string, error) {
	if len(args) == 0 {
		return command{}, nil, usageError("no command; see " + program + " --help")
	}
	var group []string
	for _, cmd := range commands() {
		words := strings.Fields(cmd.name)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return cmd, args[len(words):], nil
		}
		if words[0] == args[0] {
			group = append(group, words[1])
		}
	}
	switch {
	case group == nil:
		return command{}, nil, usageError(fmt.Sprintf("unknown command %q; see %s --help", args[0], program))
	case len(args) > 1 && isHelp(args[1]):
		return command{name: args[0]}, nil, nil
	}
	return command{}, nil, usageError(fmt.Sprintf("%s needs one of: %s", args[0], strings.Join(group, ", ")))
}

func isHelp(arg string) bool { return arg == "--help" || arg == "-help" || arg == "-h" }

// overview lists the commands of a group, or all of them for "".
func overview(w io.Writer, group string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s COMMAND [flags]\n\n", program)
	for _, cmd := range commands() {
		if group == "" || strings.HasPrefix(cmd.name, group+" ") {
			fmt.Fprintf(&b, "  %-19s%s\n", cmd.name, cmd.about)
		}
	}
	fmt.Fprintf(&b, "\n%s COMMAND --help says more.\n", program)
	_, err := io.WriteString(w, b.String())
	return err
}

// help describes one command with its flags.
func (cmd command) help(fs *flags) string {
	var b strings.Builder
	b.WriteString("usage: " + strings.Join(append([]string{program, cmd.name}, cmd.args...), " "))
	fs.VisitAll(func(f *flag.Flag) {
		if fs.required[f.Name] {
			b.WriteString(" " + spelled(f))
		}
	})
	fmt.Fprintf(&b, " [flags]\n\n%s.\n", cmd.about)
	if cmd.more != "" {
		fmt.Fprintf(&b, "\n%s\n", cmd.more)
	}
	b.WriteString("\nFlags:\n")
	fs.VisitAll(func(f *flag.Flag) {
		_, usage := flag.UnquoteUsage(f)
		fmt.Fprintf(&b, "  %s\n        %s%s\n", spelled(f), usage, fs.fallback(f))
	})
	b.WriteString("  --help\n        print this\n")
	return b.String()
}
