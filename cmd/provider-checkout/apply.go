package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/in/settingsfile"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// apply stores the configuration of a provider file, and prints the changes.
type apply struct {
	StoreFlags
	File   string `short:"f" required:"" placeholder:"FILE" help:"of providers; - is standard input (required)"`
	Prune  bool   `help:"remove providers that the file does not name (their keys and checkouts stay)"`
	DryRun bool   `help:"print what would change, and store nothing"`
	Expect string `placeholder:"REVISION" help:"refuse the file unless this revision is on record: that of the latest apply or dry run"`
	ReasonFlag
}

func (f *apply) Run(ctx context.Context, c *call) error {
	data, err := readText(c.Stdin, f.File)
	if err != nil {
		return err
	}
	named, err := providerfile.ParseWith(data, c.referred)
	if err != nil {
		return fmt.Errorf("%s is refused: %w", inputName(f.File), err)
	}
	change := operate.Change{Named: named, Prune: f.Prune, DryRun: f.DryRun, Expect: f.Expect}
	return c.configure(ctx, "apply", change)
}

// referred returns the secret to which a provider file refers. A secret of one line may end with it.
func (c *call) referred(variable, file string) (string, error) {
	list, err := c.read("cannot be read", settingsfile.Setting{Variable: variable, File: file})
	return strings.TrimRight(list.text, "\r\n"), err
}

// configure makes the change that a command asks for, and prints what it changes.
func (c *call) configure(ctx context.Context, command string, change operate.Change) error {
	differences, revision, err := c.change(ctx, command, change)
	if err != nil {
		return err
	}
	for _, line := range differences {
		fmt.Fprintln(c.Stdout, line)
	}
	switch {
	case change.DryRun && len(differences) == 0:
		fmt.Fprintln(c.Stderr, "nothing would change")
	case change.DryRun:
		fmt.Fprintln(c.Stderr, "this would change; a dry run stores nothing")
	case len(differences) == 0:
		fmt.Fprintln(c.Stderr, "nothing changed")
	}
	switch stored := !change.DryRun && len(differences) > 0; {
	case command != "apply":
	case stored:
		fmt.Fprintln(c.Stdout, "revision "+revision)
	default:
		fmt.Fprintln(c.Stderr, "revision "+revision+" is on record")
	}
	for _, conf := range change.Named { // the valid parts that prevent a provider from being served
		p := conf.Provider
		if err := p.Usable(p.Environment); err != nil {
			fmt.Fprintf(c.Stderr, "%v: its calls are refused\n", err)
		}
		if strings.HasPrefix(p.Destination.URL, "http://") {
			fmt.Fprintf(c.Stderr, "provider %s has its events sent over plain http: only a server with --allow-private-destinations does\n", p.Code)
		}
	}
	return nil
}

// change makes a change on the store, and returns the differences, a line each, and the revision on record. A dry run makes no store: without a store it returns
// what a new one would get.
func (c *call) change(ctx context.Context, command string, change operate.Change) (differences []string, revision string, err error) {
	db, err := c.open(ctx, opening{mustExist: change.DryRun})
	if change.DryRun && (errors.Is(err, errNoStore) || errors.Is(err, postgres.ErrNoStore)) {
		fmt.Fprintf(c.Stderr, "%v; compared with an empty store\n", err)
		after, err := change.On(nil)
		return catalogue.Diff(nil, after), catalogue.Revision(nil), err
	}
	if err != nil {
		return nil, "", err
	}
	operator, err := acting(c, db)
	if err != nil {
		return nil, "", err
	}
	if differences, revision, err = operator.Configure(ctx, command, change); err != nil {
		return nil, "", fmt.Errorf("store the providers: %w", err)
	}
	providers, err := db.Providers(ctx)
	for i := range change.Named { // providers that an operator has disabled are warned of
		named := &change.Named[i].Provider
		named.Disabled = slices.ContainsFunc(providers, func(p catalogue.Provider) bool { return p.Code == named.Code && p.Disabled })
	}
	return differences, revision, err
}
