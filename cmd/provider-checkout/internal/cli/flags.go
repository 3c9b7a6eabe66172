package cli

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags is a flag set in which a flag may be required, or have an environment variable.
type Flags struct {
	*pflag.FlagSet
	Stdin     io.Reader // for a flag whose value is a file that may be standard input
	required  []string
	variables map[string]bool
	check     func(args []string) error
}

// NewFlags returns an empty flag set that belongs to no command.
func NewFlags() *Flags {
	return newFlags(pflag.NewFlagSet("", pflag.ContinueOnError), nil)
}

func newFlags(fs *pflag.FlagSet, stdin io.Reader) *Flags {
	return &Flags{FlagSet: fs, Stdin: stdin, variables: map[string]bool{}}
}

// Require makes the named flag required.
func (fs *Flags) Require(name string) { fs.required = append(fs.required, name) }

// AllowVariable makes the named flags default to their environment variables.
func (fs *Flags) AllowVariable(names ...string) {
	for _, name := range names {
		fs.variables[name] = true
	}
}

// HasVariable reports whether the named flag defaults to its environment variable.
func (fs *Flags) HasVariable(name string) bool { return fs.variables[name] }

// AllowVariables makes every flag that is defined default to its environment variable.
func (fs *Flags) AllowVariables() {
	fs.VisitAll(func(f *pflag.Flag) { fs.AllowVariable(f.Name) })
}

// Check has a function say whether the flags and the arguments fit together. It is called when all are set, and before a
// required flag is missed.
func (fs *Flags) Check(check func(args []string) error) { fs.check = check }

// Var defines a flag whose text is parsed by a function, and sets *at to its default. An empty default is not
// parsed and leaves *at unchanged.
func Var[T any](fs *Flags, at *T, name, fallback string, parse func(text string) (T, error), usage string) {
	value := &parsed[T]{at: at, parse: parse}
	if fallback != "" {
		if err := value.Set(fallback); err != nil {
			panic(name + ": its default is refused: " + err.Error())
		}
	}
	fs.FlagSet.Var(value, name, usage)
}

// parsed implements [pflag.Value] for a value that a function parses.
type parsed[T any] struct {
	at    *T
	text  string
	parse func(text string) (T, error)
}

func (v *parsed[T]) String() string { return v.text }

// Type returns the kind of the value: "number" or "list", or "value" for any other.
func (v *parsed[T]) Type() string {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Int, reflect.Float64:
		return "number"
	case reflect.Slice:
		return "list"
	}
	return "value"
}

func (v *parsed[T]) Set(text string) error {
	value, err := v.parse(text)
	if err != nil {
		return err
	}
	*v.at, v.text = value, text
	return nil
}

// flagError returns the usage error for what is wrong with a flag.
func flagError(cmd *cobra.Command, err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		typed := "--" + unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" { // -addr, in which -a is unknown
			name, _, _ := strings.Cut(short, "=")
			typed = "-" + name
		}
		return UsageError("unknown flag " + typed + meant(typed, flagNames(cmd), "; see "+cmd.CommandPath()+" --help"))
	}
	if without, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return UsageError("flag needs an argument: " + spelled(without.GetFlag()))
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return invalidValue(invalid.GetValue(), "--"+invalid.GetFlag().Name, invalid.Unwrap())
	}
	return UsageError(err.Error())
}

// invalidValue returns the error for a value that a flag does not take, from the flag or its variable.
func invalidValue(value, of string, err error) error {
	if errors.Is(err, strconv.ErrSyntax) {
		err = errors.New("must be true or false")
	}
	return UsageError(fmt.Sprintf("invalid value %q of %s: %v", value, of, err))
}

// flagNames returns the flags of a command as they are written.
func flagNames(cmd *cobra.Command) (written []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { written = append(written, "--"+f.Name) })
	return written
}

// meant asks whether a mistyped word was meant to be one that it resembles, and says instead what stands for that where it
// resembles none.
func meant(typed string, words []string, instead string) string {
	list := &cobra.Command{SuggestionsMinimumDistance: 2} // cobra compares the names of commands
	for _, word := range words {
		list.AddCommand(&cobra.Command{Use: word, Run: func(*cobra.Command, []string) {}})
	}
	alike := list.SuggestionsFor(typed)
	if len(alike) == 0 {
		return instead
	}
	return "; did you mean " + strings.Join(alike, " or ") + "?"
}

// Variable returns the environment variable of a program's flag.
func Variable(program, flag string) string {
	return strings.ToUpper(strings.ReplaceAll(program+"_"+flag, "-", "_"))
}

func (p Program) variable(name string) string { return Variable(p.Name, name) }

// setFromEnvironment sets the flags that were not given and whose variable is set.
func (p Program) setFromEnvironment(fs *Flags, env func(string) string) (fault error) {
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Changed || !fs.variables[f.Name] || fault != nil {
			return
		}
		if value := env(p.variable(f.Name)); value != "" {
			if err := f.Value.Set(value); err != nil {
				fault = invalidValue(value, p.variable(f.Name), err)
			}
		}
	})
	return fault
}

// complete checks that everything the command needs was given, and nothing else.
func (fs *Flags) complete(command Command, args []string) error {
	if len(args) < len(command.Args) && !strings.HasPrefix(command.Args[len(args)], "[") {
		return UsageError(command.Args[len(args)] + " is missing")
	}
	if len(args) > len(command.Args) && !command.takesMore() {
		return unexpected(args[len(command.Args)])
	}
	if fs.check != nil {
		if err := fs.check(args); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(slices.Values(fs.required)) {
		if f := fs.Lookup(name); f.Value.String() == "" {
			return UsageError(spelled(f) + " is missing")
		}
	}
	return nil
}

// takesMore reports whether the last argument may be repeated.
func (c Command) takesMore() bool {
	return len(c.Args) > 0 && strings.HasSuffix(c.Args[len(c.Args)-1], "...]")
}

func unexpected(arg string) error { return UsageError(fmt.Sprintf("unexpected argument %q", arg)) }
