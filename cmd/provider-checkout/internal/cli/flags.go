package cli

import (
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags is a flag set in which a flag may be required, or have an environment variable.
type Flags struct {
	*pflag.FlagSet
	Stdin     io.Reader // for a flag whose value is a file that may be standard input
	variables map[string]bool
}

// NewFlags returns an empty flag set that belongs to no command.
func NewFlags() *Flags {
	return &Flags{FlagSet: pflag.NewFlagSet("", pflag.ContinueOnError), variables: map[string]bool{}}
}

// Require makes the named flag required.
func (fs *Flags) Require(name string) {
	if err := cobra.MarkFlagRequired(fs.FlagSet, name); err != nil {
		panic(err)
	}
	fs.Lookup(name).Usage += " (required)"
}

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

// Variable returns the environment variable of a program's flag.
func Variable(program, flag string) string {
	return strings.ToUpper(strings.ReplaceAll(program+"_"+flag, "-", "_"))
}

// setFromEnvironment sets the flags that were not given and whose variable is set.
func (p Program) setFromEnvironment(fs *Flags, env func(string) string) (fault error) {
	fs.VisitAll(func(f *pflag.Flag) {
		variable := Variable(p.Name, f.Name)
		if value := env(variable); !f.Changed && fs.variables[f.Name] && fault == nil && value != "" {
			if err := f.Value.Set(value); err != nil {
				fault = UsageError(fmt.Sprintf("invalid value %q of %s: %v", value, variable, err))
			}
		}
	})
	return fault
}

// made matches the rest of the names of variables that Kubernetes makes for a Service with the program's name.
var made = regexp.MustCompile(`^(SERVICE_HOST|SERVICE_PORT(_.*)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)?)$`)

// CheckVariables returns an error for a variable of the environment that begins as the variables of the program's flags do, and that
// nobody reads: of no flag of any command, and none of others, whose names may have _FILE after them. Passed over are variables that
// Kubernetes makes, and the variables of tests.
func (p Program) CheckVariables(environment []string, others ...string) error {
	known := slices.Clone(others)
	for _, other := range others {
		known = append(known, other+"_FILE")
	}
	for _, c := range p.Commands {
		fs := NewFlags()
		c.Setup(fs)
		for flag := range fs.variables {
			known = append(known, Variable(p.Name, flag))
		}
	}
	prefix := Variable(p.Name, "")
	for _, setting := range environment {
		name, value, _ := strings.Cut(setting, "=")
		rest, ours := strings.CutPrefix(name, prefix)
		if !ours || value == "" || slices.Contains(known, name) || made.MatchString(rest) || rest == "TEST" || strings.HasPrefix(rest, "TEST_") {
			continue
		}
		bare := make([]string, len(known))
		for i := range known {
			bare[i] = strings.TrimPrefix(known[i], prefix)
		}
		if meant := nearest(rest, bare); meant != "" {
			return UsageError(fmt.Sprintf("the variable %s is no setting, do you mean %s?", name, prefix+meant))
		}
		return UsageError(fmt.Sprintf("the variable %s is no setting", name))
	}
	return nil
}
