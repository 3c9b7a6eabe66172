package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

func isHelp(arg string) bool { return arg == "--help" || arg == "-help" || arg == "-h" }

// overview lists the commands of a group, or all commands for "".
func (p Program) overview(w io.Writer, group string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s COMMAND [flags]\n\n", p.Name)
	for _, cmd := range p.Commands {
		if group == "" || strings.HasPrefix(cmd.Name, group+" ") {
			fmt.Fprintf(&b, "  %-21s%s\n", cmd.Name, cmd.About)
		}
	}
	fmt.Fprintf(&b, "\n%s COMMAND --help says more.\n", p.Name)
	_, err := io.WriteString(w, b.String())
	return err
}

// help describes one command with its flags.
func (p Program) help(w io.Writer, cmd Command, fs *Flags) error {
	var b strings.Builder
	b.WriteString("usage: " + strings.Join(append([]string{p.Name, cmd.Name}, cmd.Args...), " "))
	fs.VisitAll(func(f *flag.Flag) {
		if fs.required[f.Name] {
			b.WriteString(" " + spelled(f))
		}
	})
	fmt.Fprintf(&b, " [flags]\n\n%s.\n", cmd.About)
	if cmd.More != "" {
		fmt.Fprintf(&b, "\n%s\n", cmd.More)
	}
	b.WriteString("\nFlags:\n")
	fs.VisitAll(func(f *flag.Flag) {
		_, usage := flag.UnquoteUsage(f)
		fmt.Fprintf(&b, "  %s\n        %s%s\n", spelled(f), usage, p.fallback(fs, f))
	})
	b.WriteString("  --help\n        print this\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// fallback returns the text about a flag's value when the flag is not given.
func (p Program) fallback(fs *Flags, f *flag.Flag) string {
	var parts []string
	if f.DefValue != "" && f.DefValue != "false" {
		parts = append(parts, "default "+f.DefValue)
	}
	if fs.variables[f.Name] {
		parts = append(parts, "environment variable "+p.variable(f.Name))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// spelled returns a flag as it is typed: "--out FILE", "-f FILE", "--prune".
func spelled(f *flag.Flag) string {
	dashes := "--"
	if len(f.Name) == 1 {
		dashes = "-"
	}
	value, _ := flag.UnquoteUsage(f)
	return strings.TrimSpace(dashes + f.Name + " " + value)
}
