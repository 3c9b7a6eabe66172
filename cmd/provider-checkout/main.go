// Command provider-checkout runs the Provider Checkout service and looks after its records.
// "provider-checkout --help" lists what it can do; "provider-checkout demo" shows it.
//
// It exits 0 when the work is done, 1 when it failed and 2 when it was called wrongly. Results
// go to stdout, everything else to stderr.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	_ "time/tzdata" // due dates are New Zealand dates, wherever this runs
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the drain
	if os.Getenv("GOGC") == "" {
		// What lives is a few megabytes: letting it grow fivefold spares the collector most of its work.
		debug.SetGCPercent(400)
	}
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

// Exit statuses.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in how the program was called.
type usageError string

func (e usageError) Error() string { return string(e) }

// run runs one command to its end and returns the exit status. A long-running command ends
// when ctx does, and that is not a failure.
func run(ctx context.Context, args []string, env func(string) string,
	stdin io.Reader, stdout, stderr io.Writer) int {
	name, err := dispatch(ctx, args, call{env: env, stdin: stdin, stdout: stdout, stderr: stderr})
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(stderr, "%s: %s\n", name, oneLine(err.Error()))
	if _, wrong := errors.AsType[usageError](err); wrong {
		return exitUsage
	}
	return exitFailed
}

// dispatch finds the command that args name and runs it. It returns the name to complain under.
func dispatch(ctx context.Context, args []string, c call) (name string, err error) {
	if len(args) > 0 && (isHelp(args[0]) || args[0] == "help") {
		return program, overview(c.stdout, "")
	}
	cmd, rest, err := find(args)
	if err != nil {
		return program, err
	}
	if cmd.run == nil {
		return program, overview(c.stdout, cmd.name)
	}
	name = program + " " + cmd.name
	help, err := c.parse(cmd, rest)
	switch {
	case err != nil:
		return name, err
	case help != "":
		_, err := io.WriteString(c.stdout, help)
		return name, err
	}
	return name, cmd.run(ctx, &c)
}

// oneLine keeps a message on the one line that a mistake gets.
func oneLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}
