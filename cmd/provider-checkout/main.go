// Command provider-checkout runs the Provider Checkout service and manages its records.
// "provider-checkout --help" lists its commands; "provider-checkout demo" demonstrates it.
//
// It exits 0 on success, 1 on failure and 2 on a usage error. Results go to stdout, everything
// else to stderr.
package main

import (
	"context"
	"fmt"
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
	if err := checkVariables(os.Environ()); err != nil {
		fmt.Fprintln(os.Stderr, program+": "+err.Error())
		os.Exit(cli.ExitUsage)
	}
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr))
}

const program = "provider-checkout"

// checkVariables returns an error for a variable that begins as the program's do and is no setting of any command.
func checkVariables(environment []string) error {
	others := []string{operatorVariable, keyVariable, signingVariable}
	for _, c := range credentials() {
		others = append(others, c.variable)
	}
	return cli.Program{Name: program, Commands: commands()}.CheckVariables(environment, others...)
}

// run runs one command and returns the exit status.
func run(ctx context.Context, args []string, env func(string) string,
	stdin io.Reader, stdout, stderr io.Writer) int {
	built := build()
	return cli.Program{Name: program, About: "payment-plan enrolments by direct debit", Version: built.String(),
		Commands: commands()}.Run(ctx, args, env, stdin, stdout, stderr)
}

// call is one run of a command, with the settings that many commands have.
type call struct {
	*cli.Call
	flags *cli.Flags
	check func(args []string) error // reports whether flags and arguments fit together; may be nil

	configFile   string
	config       map[string]settingsfile.Setting // that file, by the names of its fields
	refused      map[string]bool                 // flags whose value in the file is not taken
	checksConfig bool                            // the command itself says what is wrong with the file
	wrongConfig  error

	store    string
	reason   string
	json     bool
	readOnly bool // the store is opened without the operator's secret, and nothing is written to it
}

// action is the work of a command.
type action = func(context.Context) error

// command returns the setup of a command. define defines its flags, and returns its work, which is done once they are set.
func command(define func(*call) action) func(*cli.Flags) cli.Action {
	return func(fs *cli.Flags) cli.Action {
		c := &call{flags: fs}
		work := define(c)
		return func(ctx context.Context, given *cli.Call) error {
			c.Call = given
			if c.check != nil {
				if err := c.check(c.Args); err != nil {
					return err
				}
			}
			if c.wrongConfig = c.readConfig(); c.wrongConfig != nil && !c.checksConfig {
				return cli.UsageError(c.wrongConfig.Error())
			}
			return work(ctx)
		}
	}
}
