// Package cli gives a program its commands. Package cobra finds the command and reads the flags; what this package adds
// is that a usage error prints one line on stderr and nothing on stdout, and that flags have environment variables.
// --help, of the program, of a group of commands ("keys --help") or of a command, is a result and goes to stdout.
//
// A flag may be given before and after a command's other arguments, may be required, and may have an environment
// variable: that of --rate-limit in the program some-server is SOME_SERVER_RATE_LIMIT.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
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

// Program is a program with its commands, in the order of its help. It also has the commands help, completion and man.
type Program struct {
	Name     string
	About    string // one line for its manual page
	Version  string // what --version prints
	Date     string // of the manual pages
	Commands []Command
}

// Command is one command of a program.
type Command struct {
	Name  string   // as it is typed: "keys issue"
	Args  []string // arguments besides flags: "NUMBER", or "[NUMBER]" for one that may be left out
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
	root := p.tree(args, Call{Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr})
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ExitDone
	}
	fmt.Fprintf(stderr, "%s: %s\n", cmd.CommandPath(), OneLine(err.Error()))
	if _, wrong := errors.AsType[UsageError](err); wrong {
		return ExitUsage
	}
	return ExitFailed
}

// tree returns the program's commands as cobra has them, ready to run args.
func (p Program) tree(args []string, c Call) *cobra.Command {
	root := branch(p.Name, args)
	root.Version = p.Version
	root.SilenceErrors, root.SilenceUsage = true, true
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetArgs(append([]string{}, args...)) // of nil cobra makes the arguments of the process
	root.SetIn(c.Stdin)
	root.SetOut(c.Stdout)
	root.SetErr(c.Stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	p.Commands = append(slices.Clone(p.Commands), helpCommand(root), completionCommand(root))
	p.Commands = append(p.Commands, manCommand(p))
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { p.overview(cmd) })
	groups := map[string]*cobra.Command{"": root}
	for _, command := range p.Commands {
		group, name := "", command.Name
		if first, second, grouped := strings.Cut(name, " "); grouped {
			group, name = first, second
		}
		if groups[group] == nil {
			groups[group] = branch(group, nil)
			root.AddCommand(groups[group])
		}
		cmd := p.leaf(name, command, c)
		if name == helpName {
			root.SetHelpCommand(cmd) // cobra adds it, and its own if there is none
			continue
		}
		groups[group].AddCommand(cmd)
	}
	return root
}

// branch returns a command that has commands and does nothing itself. Of the program given are all arguments.
func branch(name string, given []string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Args:               cobra.ArbitraryArgs,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}, // the command is what is wrong
		RunE: func(cmd *cobra.Command, args []string) error {
			if args = append(args, given...); len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return UsageError(needs(cmd))
		},
	}
}

// needs says what is missing after the name of a program or of a group of commands.
func needs(cmd *cobra.Command) string {
	if !cmd.HasParent() {
		return "no command; see " + cmd.Name() + " --help"
	}
	return cmd.Name() + " needs one of: " + strings.Join(commandNames(cmd), ", ")
}

// unknownCommand returns the error for a word that is no command of a program or of a group.
func unknownCommand(cmd *cobra.Command, word string) error {
	text, known := fmt.Sprintf("unknown command %q", word), append(commandNames(cmd), flagNames(cmd)...)
	if cmd.HasParent() {
		return UsageError(text + meant(word, known, ";") + " " + needs(cmd))
	}
	return UsageError(text + meant(word, known, "; see "+cmd.CommandPath()+" --help"))
}

// commandNames returns the names of the commands of a program or a group.
func commandNames(cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return names
}

// leaf returns a command that does something, by the last word of its name.
func (p Program) leaf(name string, command Command, c Call) *cobra.Command {
	cmd := &cobra.Command{Use: strings.Join(append([]string{name}, command.Args...), " "), Short: command.About, Long: command.More}
	fs := newFlags(cmd.Flags(), c.Stdin)
	run := command.Setup(fs)
	fs.BoolP("help", "h", false, "print this")
	if err := fs.completeValues(cmd); err != nil {
		panic(command.Name + ": " + err.Error())
	}
	cmd.ValidArgsFunction = completeArgs(command.Args)
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) { p.help(cmd, command, fs) })
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := p.setFromEnvironment(fs, c.Env); err != nil {
			return err
		}
		if err := fs.complete(command, args); err != nil {
			return err
		}
		c.Args = args
		return run(cmd.Context(), &c)
	}
	return cmd
}

// OneLine joins the lines of a message into one.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
