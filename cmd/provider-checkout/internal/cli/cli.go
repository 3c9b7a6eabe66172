// Package cli gives a program its commands. Package cobra finds the command, reads the flags and writes the help. This package
// adds that every mistake gives one line on stderr and nothing on stdout, that a mistake of the caller has an exit status of its
// own, and that flags have environment variables: that of --rate-limit in the program some-server is SOME_SERVER_RATE_LIMIT.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit statuses of a program.
const (
	ExitDone   = 0
	ExitFailed = 1
	ExitUsage  = 2 // usage error
)

// UsageError is a mistake in the command line or the environment.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Program is a program with its commands. It also has the command help.
type Program struct {
	Name     string
	About    string // one line
	Version  string // what --version prints
	Commands []Command
}

// Command is one command of a program.
type Command struct {
	Name  string   // as it is typed: "keys issue"
	Args  []string // arguments besides flags: "NUMBER", or "[NUMBER]" if it may be left out
	About string   // one line for the program's help
	More  string   // further lines for the command's own help
	// Setup defines the command's flags, and returns the function that runs the command once they are set.
	Setup func(*Flags) Action
}

// Action runs a command. If it returns a UsageError the program exits with ExitUsage, for any other error with
// ExitFailed.
type Action func(context.Context, *Call) error

// Call is one run of a command.
type Call struct {
	Args           []string // as many as the command names, or fewer where it may
	Env            func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs the command that args name and returns the exit status. A long-running command ends when ctx does, which is
// not a failure.
func (p Program) Run(ctx context.Context, args []string, env func(string) string,
	stdin io.Reader, stdout, stderr io.Writer) int {
	started := false // an error before that is of the command line
	root := p.tree(Call{Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr}, func() { started = true })
	root.SetArgs(append([]string{}, args...)) // of nil cobra makes the arguments of the process
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitDone
	}
	message := OneLine(err.Error())
	if !started {
		message = strings.ReplaceAll(message, "\t", "") + "; see " + cmd.CommandPath() + " --help"
	}
	fmt.Fprintf(stderr, "%s: %s\n", cmd.CommandPath(), message)
	if _, wrong := errors.AsType[UsageError](err); wrong || !started {
		return ExitUsage
	}
	return ExitFailed
}

// tree returns the program's commands as cobra has them. It calls started before an action.
func (p Program) tree(c Call, started func()) *cobra.Command {
	root := &cobra.Command{Use: p.Name, Short: p.About, Version: p.Version, SilenceErrors: true, SilenceUsage: true}
	root.SetIn(c.Stdin)
	root.SetOut(c.Stdout)
	root.SetErr(c.Stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "FlagUsages", "FlagUsagesWrapped 120"))
	root.SetHelpCommand(helpCommand(root))
	root.CompletionOptions.DisableDefaultCmd = true
	groups := map[string]*cobra.Command{"": root}
	for _, command := range p.Commands {
		group, name, grouped := strings.Cut(command.Name, " ")
		if !grouped {
			group, name = "", group
		}
		if groups[group] == nil {
			groups[group] = &cobra.Command{Use: group}
			root.AddCommand(groups[group])
		}
		groups[group].AddCommand(p.leaf(name, command, c, started))
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		var flags []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok && unknown.GetSpecifiedShortnames() == "" {
			if meant := nearest(unknown.GetSpecifiedName(), flags); meant != "" {
				return fmt.Errorf("%w, do you mean --%s?", err, meant)
			}
		}
		return err
	})
	needsCommand(root)
	for _, cmd := range root.Commands() {
		if cmd.HasSubCommands() {
			needsCommand(cmd)
			cmd.Args = cobra.ArbitraryArgs
			cmd.FParseErrWhitelist.UnknownFlags = true // the command is the mistake, not its flags
		}
	}
	return root
}

// needsCommand has a program, or a group of commands, refuse to run without one of its commands. Cobra would print the help.
func needsCommand(cmd *cobra.Command) {
	if cmd.Short == "" {
		cmd.Short = "Commands: " + below(cmd)
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknown(cmd, args[0])
		}
		return errors.New("needs one of: " + below(cmd))
	}
}

// below returns the names of the commands below a command.
func below(cmd *cobra.Command) string {
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return strings.Join(names, ", ")
}

func unknown(cmd *cobra.Command, name string) error {
	return fmt.Errorf("unknown command %q, needs one of: %s", name, below(cmd))
}

// helpCommand returns the command that prints the help of another.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND]", Short: "Print the help of a command", RunE: func(_ *cobra.Command, args []string) error {
		cmd, rest, err := root.Find(args)
		switch {
		case err != nil:
			return err
		case len(rest) > 0 && cmd.HasSubCommands():
			return unknown(cmd, rest[0])
		}
		return help(cmd)
	}}
}

// help prints the help of a command as its flag does.
func help(cmd *cobra.Command) error {
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	return cmd.Help()
}

// leaf returns a command that does something, by the last word of its name.
func (p Program) leaf(name string, command Command, c Call, started func()) *cobra.Command {
	cmd := &cobra.Command{Use: strings.Join(append([]string{name}, command.Args...), " "), Short: command.About,
		Long: strings.TrimSpace(command.About + ".\n\n" + command.More)}
	fs := &Flags{FlagSet: cmd.Flags(), Stdin: c.Stdin, variables: map[string]bool{}}
	run := command.Setup(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		if fs.variables[f.Name] {
			f.Usage += "\n$" + Variable(p.Name, f.Name)
		}
	})
	cmd.Args = command.takes
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		started()
		if err := p.setFromEnvironment(fs, c.Env); err != nil {
			return err
		}
		c.Args = args
		return run(cmd.Context(), &c)
	}
	return cmd
}

// takes checks the number of a command's arguments.
func (c Command) takes(cmd *cobra.Command, args []string) error {
	if n := len(c.Args); n > 0 && strings.HasPrefix(c.Args[n-1], "[") {
		return cobra.RangeArgs(n-1, n)(cmd, args)
	}
	return cobra.ExactArgs(len(c.Args))(cmd, args)
}

// OneLine joins the lines of a message, and makes the text Printable.
func OneLine(text string) string {
	return Printable(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; "))
}

// Printable puts a replacement character in the place of each control character but the tab and the end of a line: a terminal would
// obey it.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}

// Sleep waits, and reports whether the time has passed before ctx ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
