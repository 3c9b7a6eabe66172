package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

// flags is a flag set in which a flag may be required, or have an environment variable.
type flags struct {
	*flag.FlagSet
	required  map[string]bool
	variables map[string]bool
}

func newFlags(name string) *flags {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // a mistake gets one line, which run writes
	return &flags{fs, map[string]bool{}, map[string]bool{}}
}

func (fs *flags) require(name string)     { fs.required[name] = true }
func (fs *flags) hasVariable(name string) { fs.variables[name] = true }

// variable returns the environment variable of a flag.
func variable(name string) string {
	return "PROVIDER_CHECKOUT_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// fallback says, for the help, what a flag is when it is not given.
func (fs *flags) fallback(f *flag.Flag) string {
	var parts []string
	if f.DefValue != "" && f.DefValue != "false" {
		parts = append(parts, "default "+f.DefValue)
	}
	if fs.variables[f.Name] {
		parts = append(parts, "environment variable "+variable(f.Name))
	}
	if parts == nil {
		return ""
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// parse reads the arguments of cmd into c; flags may stand before and after the others. The text
// that it returns is the command's help, where that was asked for.
func (c *call) parse(cmd command, args []string) (help string, err error) {
	fs := newFlags(cmd.name)
	if cmd.flags != nil {
		cmd.flags(fs, &c.settings)
	}
	for {
		if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
			return cmd.help(fs), nil
		} else if err != nil {
			return "", usageError(err.Error())
		}
		if fs.NArg() == 0 {
			break
		}
		if end := len(args) - fs.NArg(); end > 0 && args[end-1] == "--" {
			c.args = append(c.args, fs.Args()...)
			break
		}
		c.args, args = append(c.args, fs.Arg(0)), fs.Args()[1:]
	}
	if err := fs.fromEnvironment(c.env); err != nil {
		return "", err
	}
	return "", fs.complete(cmd, c.args)
}

// fromEnvironment sets the flags that were not given and whose variable is set.
func (fs *flags) fromEnvironment(env func(string) string) error {
	given := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var fault error
	fs.VisitAll(func(f *flag.Flag) {
		if given[f.Name] || !fs.variables[f.Name] || fault != nil {
			return
		}
		if value := env(variable(f.Name)); value != "" {
			if err := fs.Set(f.Name, value); err != nil {
				fault = usageError(fmt.Sprintf("invalid value %q of %s: %v", value, variable(f.Name), err))
			}
		}
	})
	return fault
}

// complete checks that everything the command needs was given, and nothing else.
func (fs *flags) complete(cmd command, args []string) error {
	if len(args) < len(cmd.args) {
		return usageError(cmd.args[len(args)] + " is missing")
	}
	if len(args) > len(cmd.args) {
		return usageError(fmt.Sprintf("unexpected argument %q", args[len(cmd.args)]))
	}
	var fault error
	fs.VisitAll(func(f *flag.Flag) {
		if fault == nil && fs.required[f.Name] && f.Value.String() == "" {
			fault = usageError(spelled(f) + " is missing")
		}
	})
	return fault
}

// spelled writes a flag as it is typed: "--out FILE", "-f FILE", "--prune".
func spelled(f *flag.Flag) string {
	dashes := "--"
	if len(f.Name) == 1 {
		dashes = "-"
	}
	value, _ := flag.UnquoteUsage(f)
	return strings.TrimSpace(dashes + f.Name + " " + value)
}

// read is a flag whose text a function reads.
type read[T any] struct {
	at   *T
	text string
	from func(text string) (T, error)
}

func (r *read[T]) String() string { return r.text }

func (r *read[T]) Set(text string) error {
	value, err := r.from(text)
	if err != nil {
		return err
	}
	*r.at, r.text = value, text
	return nil
}

// add defines a flag that from reads, and puts its default, which from need not accept where it
// is empty, in place.
func add[T any](fs *flags, at *T, name, fallback string, from func(string) (T, error), usage string) {
	value := &read[T]{at: at, from: from}
	if fallback != "" {
		if err := value.Set(fallback); err != nil {
			panic(name + ": its default is refused: " + err.Error())
		}
	}
	fs.Var(value, name, usage)
}

func readEnvironment(text string) (catalogue.Environment, error) {
	if e := catalogue.Environment(text); e.Valid() {
		return e, nil
	}
	return "", errors.New("must be sandbox or production")
}

func readProcessor(text string) (string, error) {
	if text != "fake" {
		return "", errors.New("the only processor is fake")
	}
	return text, nil
}

func readLifetime(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errors.New("must be a duration above zero, such as 168h")
	}
	return d, nil
}

func readRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || rate < 0 || math.IsInf(rate, 0) || math.IsNaN(rate) {
		return 0, errors.New("must be a number of requests a second, or 0")
	}
	return rate, nil
}

// readPrefixes reads networks, and single addresses as networks of their own.
func readPrefixes(text string) ([]netip.Prefix, error) {
	var prefixes []netip.Prefix
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if addr, err := netip.ParseAddr(part); err == nil {
			prefixes = append(prefixes, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		prefix, err := netip.ParsePrefix(part)
		if err != nil {
			return nil, errors.New("must be addresses or networks such as 10.0.0.0/8, comma-separated")
		}
		prefixes = append(prefixes, prefix.Masked())
	}
	return prefixes, nil
}
