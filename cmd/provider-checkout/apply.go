package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/in/settingsfile"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// askTimeout bounds a command's wait for the processor.
const askTimeout = 10 * time.Second

// apply stores the configuration of a provider file, and prints the changes.
func apply(c *call) action {
	s := &systems{call: c}
	c.storeFlag()
	file := c.flags.StringP("file", "f", "", "provider `FILE`; - is standard input")
	c.flags.Require("file")
	prune := c.flags.Bool("prune", false, "remove providers that the file does not name (their keys and checkouts stay)")
	c.reasonFlag()
	dryRun := c.flags.Bool("dry-run", false, "print what would change, and store nothing")
	expect := c.flags.String("expect", "", "refuse the file unless `REVISION` is on record: the one that the latest apply or dry run printed")
	s.processorFlags()
	s.privateSetting()
	c.flags.AllowVariable("environment", "processor", "gocardless-url")
	return func(ctx context.Context) error {
		data, err := readText(c.Stdin, *file)
		if err != nil {
			return err
		}
		named, err := providerfile.ParseWith(data, c.referred)
		if err != nil {
			return fmt.Errorf("%s is refused: %w", inputName(*file), err)
		}
		return s.configure(ctx, "apply", operate.Change{Named: named, Prune: *prune, DryRun: *dryRun, Expect: *expect})
	}
}

// referred returns the secret to which a provider file refers. A secret of one line may end with it.
func (c *call) referred(variable, file string) (string, error) {
	list, err := c.resolve(source{Setting: settingsfile.Setting{Variable: variable, File: file}, name: "cannot be read"})
	return strings.TrimRight(list.text, "\r\n"), err
}

// configure makes the change that a command asks for, and prints what it changes.
func (s *systems) configure(ctx context.Context, command string, change operate.Change) error {
	differences, revision, err := s.change(ctx, command, change)
	if err != nil {
		return err
	}
	for _, line := range differences {
		fmt.Fprintln(s.Stdout, line)
	}
	switch {
	case change.DryRun && len(differences) == 0:
		fmt.Fprintln(s.Stderr, "nothing would change")
	case change.DryRun:
		fmt.Fprintln(s.Stderr, "this would change; a dry run stores nothing")
	case len(differences) == 0:
		fmt.Fprintln(s.Stderr, "nothing changed")
	}
	switch stored := !change.DryRun && len(differences) > 0; {
	case command != "apply":
	case stored:
		fmt.Fprintln(s.Stdout, "revision "+revision)
	default:
		fmt.Fprintln(s.Stderr, "revision "+revision+" is on record")
	}
	for _, conf := range change.Named {
		s.warn(conf.Provider)
	}
	s.warnOfAccounts(ctx, change.Named)
	return nil
}

// change makes a change on the store, and returns the differences, a line each, and the revision on record. A dry run makes no store: without a store it returns
// what a new one would get.
func (s *systems) change(ctx context.Context, command string, change operate.Change) (differences []string, revision string, err error) {
	db, err := s.open(ctx, opening{mustExist: change.DryRun})
	if change.DryRun && (errors.Is(err, errNoStore) || errors.Is(err, postgres.ErrNoStore)) {
		fmt.Fprintf(s.Stderr, "%v; compared with an empty store\n", err)
		after, err := change.On(nil)
		return catalogue.Diff(nil, after), catalogue.Revision(nil), err
	}
	if err != nil {
		return nil, "", err
	}
	defer db.Close()
	operator, err := s.acting(db)
	if err != nil {
		return nil, "", err
	}
	if differences, revision, err = operator.Configure(ctx, command, change); err != nil {
		return nil, "", fmt.Errorf("store the providers: %w", err)
	}
	return differences, revision, nil
}

// warnOfAccounts prints the providers for which no payments can be collected, where GoCardless is the processor.
func (s *systems) warnOfAccounts(ctx context.Context, named []catalogue.Configuration) {
	if s.processor != gocardlessName {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	account, err := s.gocardlessAPI(nil)
	if err == nil {
		err = account.Ready(ctx)
	}
	if err != nil {
		fmt.Fprintf(s.Stderr, "the providers' accounts are not checked: %v\n", err)
		return
	}
	for _, conf := range named {
		if conf.Provider.Environment != s.environment {
			continue
		}
		if _, err := service.CheckAccount(ctx, account, conf.Provider); err != nil {
			fmt.Fprintf(s.Stderr, "%v: the server is not ready while it may be used\n", err)
		}
	}
}

// warn prints the valid parts of a provider's configuration that prevent it from being served.
func (s *systems) warn(p catalogue.Provider) {
	if err := p.Usable(p.Environment); err != nil {
		fmt.Fprintf(s.Stderr, "%v: its calls are refused\n", err)
	}
	if strings.HasPrefix(p.Destination.URL, "http://") && !s.allowPrivate {
		fmt.Fprintf(s.Stderr, "provider %s has its events sent over plain http: only a server with --allow-private-destinations does\n", p.Code)
	}
}
