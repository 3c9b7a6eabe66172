// Command provider-checkout runs the Provider Checkout service and manages its records.
// "provider-checkout --help" lists its commands; "provider-checkout demo" demonstrates it.
//
// It exits 0 on success, 1 on failure and 2 on a usage error. Results go to stdout, everything
// else to stderr.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // due dates are New Zealand dates, wherever this runs

	"github.com/alecthomas/kong"
)

func main() {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // by nohup, for one
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the drain
	if os.Getenv("GOGC") == "" {
		// The live heap is a few megabytes: letting it grow fourfold saves most of the garbage collector's work.
		debug.SetGCPercent(300)
	}
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

const program = "provider-checkout"

// Exit statuses of the program.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a mistake in the command line, a variable or the file of settings: the program exits with exitUsage.
type usageError string

func (e usageError) Error() string { return string(e) }

// call is one run of a command, with the flags that many commands have.
type call struct {
	Env            func(string) string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	settings

	store  string
	reason string
	json   bool
	close  func() error // of the store, at the end of the call
}

// run runs one command in an environment, and returns the exit status. Every mistake gets one line on stderr.
func run(ctx context.Context, args, environment []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(args) > 0 && args[0] == "help" {
		args = append(args[1:len(args):len(args)], "--help")
	}
	c, printed := &call{Env: variables(environment), Stdin: stdin, Stdout: stdout, Stderr: stderr}, false
	c.wrong, c.close = checkVariables(environment), func() error { return nil }
	defer func() { c.close() }()
	parsed, err := parser(c, kong.Exit(func(int) { printed = true }), kong.BindTo(ctx, (*context.Context)(nil))).Parse(args)
	if printed { // the help, or the version
		return exitDone
	}
	at, advice := program, ""
	if wrong, ok := errors.AsType[*kong.ParseError](err); ok {
		parsed, advice = wrong.Context, "; see %[1]s --help"
	}
	if selected := parsed.Selected(); selected != nil {
		at = selected.FullPath()
	}
	switch {
	case err != nil:
		err = usageError(err.Error())
	case c.wrong != nil && parsed.Command() != "config check": // which prints all problems together
		err = usageError(c.wrong.Error())
	default:
		err = parsed.Run()
	}
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(stderr, "%s: %s"+advice+"\n", at, oneLine(err.Error()))
	if _, wrong := errors.AsType[usageError](err); wrong {
		return exitUsage
	}
	return exitFailed
}

// version prints the version, the commit and the Go version of the build.
type version struct{}

func (*version) Run(c *call) error {
	built, commit := "unknown", "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		built = info.Main.Version
		modified := ""
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				modified = " (modified)"
			}
		}
		commit += modified
	}
	_, err := fmt.Fprintf(c.Stdout, "%s %s, commit %s, %s\n", program, built, commit, runtime.Version())
	return err
}
