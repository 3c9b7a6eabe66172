// Command provider-checkout runs the Provider Checkout service and manages its records.
// "provider-checkout --help" lists its commands; "provider-checkout demo" demonstrates it.
//
// It exits 0 on success, 1 on failure and 2 on a usage error. Results go to stdout, everything
// else to stderr.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	_ "time/tzdata" // due dates are New Zealand dates, wherever this runs

	"github.com/provider-checkout/provider-checkout/adapters/in/settingsfile"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal does not wait for the drain
	if os.Getenv("GOGC") == "" {
		// The live heap is a few megabytes: letting it grow fourfold saves most of the garbage collector's work.
		debug.SetGCPercent(300)
	}
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

const program = "provider-checkout"

// run runs one command and returns the exit status.
func run(ctx context.Context, args []string, env func(string) string,
	stdin io.Reader, stdout, stderr io.Writer) int {
	built := build()
	return cli.Program{Name: program, About: "payment-plan enrolments by direct debit", Version: built.String(), Date: built.CommittedOn,
		Commands: commands()}.Run(ctx, args, env, stdin, stdout, stderr)
}

// call is one run of a command.
type call struct {
	settings
	*cli.Call
	flags  *cli.Flags
	config map[string]settingsfile.Setting // the file of --config, by the names of its fields
}

// command returns the setup of a command: flags defines its flags, and run runs it.
func command(flags func(*cli.Flags, *settings), run func(context.Context, *call) error) func(*cli.Flags) cli.Action {
	return withConfig(flags, func(ctx context.Context, c *call, wrongConfig error) error {
		if wrongConfig != nil {
			return cli.UsageError(wrongConfig.Error())
		}
		return run(ctx, c)
	})
}

// withConfig is command for a command that reports the faults in the file of --config itself.
func withConfig(flags func(*cli.Flags, *settings), run func(context.Context, *call, error) error) func(*cli.Flags) cli.Action {
	return func(fs *cli.Flags) cli.Action {
		c := &call{flags: fs}
		flags(fs, &c.settings)
		return func(ctx context.Context, given *cli.Call) error {
			c.Call = given
			return run(ctx, c, c.readConfig())
		}
	}
}
