package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// Flags is a flag set in which a flag may be required, or have an environment variable.
type Flags struct {
	*flag.FlagSet
	required  map[string]bool
	variables map[string]bool
}

// NewFlags returns the empty flag set of a command.
func NewFlags(command string) *Flags {
	fs := flag.NewFlagSet(command, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // Program.Run writes one line for an error
	return &Flags{fs, map[string]bool{}, map[string]bool{}}
}

// Require makes the named flag required.
func (fs *Flags) Require(name string) { fs.required[name] = true }

// AllowVariable makes the named flag default to its environment variable.
func (fs *Flags) AllowVariable(name string) { fs.variables[name] = true }

// Var defines a flag whose text is parsed by a function, and sets *at to its default. An empty default is not
// parsed and leaves *at unchanged.
func Var[T any](fs *Flags, at *T, name, fallback string, parse func(text string) (T, error), usage string) {
	value := &parsed[T]{at: at, parse: parse}
	if fallback != "" {
		if err := value.Set(fallback); err != nil {
			panic(name + ": its default is refused: " + err.Error())
		}
	}
	fs.Var(value, name, usage)
}

// parsed implements [flag.Value] for a value that a function parses.
type parsed[T any] struct {
	at    *T
	text  string
	parse func(text string) (T, error)
}

func (v *parsed[T]) String() string { return v.text }

func (v *parsed[T]) Set(text string) error {
	value, err := v.parse(text)
	if err != nil {
		return err
	}
	*v.at, v.text = value, text
	return nil
}

// variable returns the environment variable of a flag.
func (p Program) variable(name string) string {
	return strings.ToUpper(strings.ReplaceAll(p.Name+"_"+name, "-", "_"))
}

// parse sets the flags of cmd and returns its other arguments. Flags may be given before and after those. It returns
// flag.ErrHelp if help was requested.
func (p Program) parse(cmd Command, fs *Flags, given []string, env func(string) string) (args []string, err error) {
	for {
		if err := fs.Parse(given); errors.Is(err, flag.ErrHelp) {
			return nil, err
		} else if err != nil {
			return nil, UsageError(err.Error())
		}
		if fs.NArg() == 0 {
			break
		}
		if end := len(given) - fs.NArg(); end > 0 && given[end-1] == "--" {
			args = append(args, fs.Args()...)
			break
		}
		args, given = append(args, fs.Arg(0)), fs.Args()[1:]
	}
	if err := p.setFromEnvironment(fs, env); err != nil {
		return nil, err
	}
	return args, fs.complete(cmd, args)
}

// setFromEnvironment sets the flags that were not given and whose variable is set.
func (p Program) setFromEnvironment(fs *Flags, env func(string) string) error {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var fault error
	fs.VisitAll(func(f *flag.Flag) {
		if given[f.Name] || !fs.variables[f.Name] || fault != nil {
			return
		}
		if value := env(p.variable(f.Name)); value != "" {
			if err := fs.Set(f.Name, value); err != nil {
				fault = UsageError(fmt.Sprintf("invalid value %q of %s: %v", value, p.variable(f.Name), err))
			}
		}
	})
	return fault
}

// complete checks that everything the command needs was given, and nothing else.
func (fs *Flags) complete(cmd Command, args []string) error {
	if len(args) < len(cmd.Args) && !strings.HasPrefix(cmd.Args[len(args)], "[") {
		return UsageError(cmd.Args[len(args)] + " is missing")
	}
	if len(args) > len(cmd.Args) {
		return UsageError(fmt.Sprintf("unexpected argument %q", args[len(cmd.Args)]))
	}
	var fault error
	fs.VisitAll(func(f *flag.Flag) {
		if fault == nil && fs.required[f.Name] && f.Value.String() == "" {
			fault = UsageError(spelled(f) + " is missing")
		}
	})
	return fault
}
