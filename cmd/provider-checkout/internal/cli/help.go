package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const helpName = "help"

// helpCommand returns the command that prints the help of another.
func helpCommand(root *cobra.Command) Command {
	return Command{Name: helpName, Args: []string{"[COMMAND...]"}, About: "Print the commands, or the help of one",
		Setup: func(*Flags) Action {
			return func(_ context.Context, c *Call) error {
				cmd, rest, err := root.Find(c.Args)
				switch {
				case err != nil:
					return err
				case len(rest) > 0 && cmd.HasSubCommands():
					return unknownCommand(cmd, rest[0])
				case len(rest) > 0:
					return unexpected(rest[0])
				}
				return cmd.Help()
			}
		}}
}

// overview lists the commands of a group, or all commands of the program.
func (p Program) overview(cmd *cobra.Command) {
	group := ""
	if cmd.HasParent() {
		group = cmd.Name() + " "
	}
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s COMMAND [flags]\n\n", cmd.CommandPath())
	for _, c := range p.Commands {
		if strings.HasPrefix(c.Name, group) {
			fmt.Fprintf(&b, "  %-21s%s\n", c.Name, c.About)
		}
	}
	fmt.Fprintf(&b, "\n%s help COMMAND says more.\n", p.Name)
	cmd.Print(b.String())
}

// help describes one command with its flags.
func (p Program) help(cmd *cobra.Command, command Command, fs *Flags) {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: %s\n\n%s.\n", p.synopsis(command, fs), command.About)
	if command.More != "" {
		fmt.Fprintf(&b, "\n%s\n", command.More)
	}
	b.WriteString("\nFlags:\n")
	fs.VisitAll(func(f *pflag.Flag) {
		_, usage := pflag.UnquoteUsage(f)
		usage = strings.ReplaceAll(usage+p.fallback(fs, f), "\n", "\n        ")
		fmt.Fprintf(&b, "  %s\n        %s\n", spelledWhole(f), usage)
	})
	cmd.Print(b.String())
}

// synopsis returns a command as it is typed with what it needs.
func (p Program) synopsis(command Command, fs *Flags) string {
	words := append([]string{p.Name, command.Name}, command.Args...)
	for _, name := range fs.required {
		words = append(words, spelled(fs.Lookup(name)))
	}
	return strings.Join(words, " ") + " [flags]"
}

// fallback returns the text about a flag's value when the flag is not given.
func (p Program) fallback(fs *Flags, f *pflag.Flag) string {
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
func spelled(f *pflag.Flag) string {
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand
	}
	value, _ := pflag.UnquoteUsage(f)
	return strings.TrimSpace(name + " " + value)
}

// spelledWhole returns a flag with its value and both of its names where it has two: "-f, --file FILE".
func spelledWhole(f *pflag.Flag) string {
	if f.Shorthand == "" {
		return spelled(f)
	}
	value, _ := pflag.UnquoteUsage(f)
	return strings.TrimSpace("-" + f.Shorthand + ", --" + f.Name + " " + value)
}
