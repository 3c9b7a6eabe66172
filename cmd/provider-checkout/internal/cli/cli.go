// Package cli runs a program that consists of commands with flags. A usage error prints one line on stderr and nothing
// on stdout; --help, of the program, of a group of commands ("keys --help") or of a command, is a result and goes to
// stdout.
//
// A flag may be given before and after a command's other arguments, may be required, and may have an environment
// variable: that of --rate-limit in the program some-server is SOME_SERVER_RATE_LIMIT.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
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

// Program is a program with its commands, in the order of its help.
type Program struct {
	Name     string
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
	name, err := p.dispatch(ctx, args, &Call{Env: env, Stdin: stdin, Stdout: stdout, Stderr: stderr})
	if err == nil {
		return ExitDone
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, OneLine(err.Error()))
	if _, wrong := errors.AsType[UsageError](err); wrong {
		return ExitUsage
	}
	return ExitFailed
}

// dispatch finds the command that args name and runs it. It returns the name that errors are reported under.
func (p Program) dispatch(ctx context.Context, args []string, c *Call) (name string, err error) {
	if len(args) > 0 && (isHelp(args[0]) || args[0] == "help") {
		return p.Name, p.overview(c.Stdout, "")
	}
	cmd, rest, err := p.find(args)
	if err != nil {
		return p.Name, err
	}
	if cmd.Setup == nil {
		return p.Name, p.overview(c.Stdout, cmd.Name)
	}
	name = p.Name + " " + cmd.Name
	fs := NewFlags(cmd.Name)
	run := cmd.Setup(fs)
	c.Args, err = p.parse(cmd, fs, rest, c.Env)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return name, p.help(c.Stdout, cmd, fs)
	case err != nil:
		return name, err
	}
	return name, run(ctx, c)
}

// find returns the command that args begin with, and the arguments after its name. For the bare name of a group
// with --help after it, it returns a command without Setup.
func (p Program) find(args []string) (Command, []string, error) {
	if len(args) == 0 {
		return Command{}, nil, UsageError("no command; see " + p.Name + " --help")
	}
	var group []string
	for _, cmd := range p.Commands {
		words := strings.Fields(cmd.Name)
		if len(args) >= len(words) && slices.Equal(args[:len(words)], words) {
			return cmd, args[len(words):], nil
		}
		if words[0] == args[0] {
			group = append(group, words[1])
		}
	}
	switch {
	case group == nil:
		return Command{}, nil, UsageError(fmt.Sprintf("unknown command %q; see %s --help", args[0], p.Name))
	case len(args) > 1 && isHelp(args[1]):
		return Command{Name: args[0]}, nil, nil
	}
	return Command{}, nil, UsageError(fmt.Sprintf("%s needs one of: %s", args[0], strings.Join(group, ", ")))
}

// OneLine joins the lines of a message into one.
func OneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
