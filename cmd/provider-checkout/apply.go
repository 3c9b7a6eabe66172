package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/out/pdf"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
)

// askTimeout bounds a command's wait for the processor.
const askTimeout = 10 * time.Second

// apply stores the configuration of a provider file, and prints the changes.
func apply(ctx context.Context, c *call) error {
	data, err := readFile(c.Stdin, c.file)
	if err != nil {
		return err
	}
	named, err := providerfile.Parse(data)
	if err != nil {
		return fmt.Errorf("%s is refused: %w", inputName(c.file), err)
	}
	printer, err := pdf.New(1)
	if err != nil {
		return err
	}
	if err := operate.Unprintable(named, printer); err != nil {
		return fmt.Errorf("%s is refused: %w", c.file, err)
	}
	return c.configure(ctx, "apply", operate.Change{Named: named, Prune: c.prune})
}

// configure makes the change that a command asks for, and prints what it changes.
func (c *call) configure(ctx context.Context, command string, change operate.Change) error {
	open := func() (records, error) { return c.openStore(ctx, "", observer{}) }
	if change.DryRun { // which makes no store either
		open = func() (records, error) { return c.openRecords(ctx) }
	}
	db, err := open()
	if err != nil {
		return err
	}
	defer db.Close()
	operator, err := c.acting(db)
	if err != nil {
		return err
	}
	differences, err := operator.Configure(ctx, command, change)
	if err != nil {
		return fmt.Errorf("store the providers: %w", err)
	}
	if differences == nil {
		fmt.Fprintln(c.Stderr, "nothing changed")
	}
	for _, line := range differences {
		fmt.Fprintln(c.Stdout, line)
	}
	for _, conf := range change.Named {
		warn(c.Stderr, conf.Provider, time.Now())
	}
	c.warnOfAccounts(ctx, change.Named)
	return nil
}

// warnOfAccounts prints the providers for which no payments can be collected, where GoCardless is the processor.
func (c *call) warnOfAccounts(ctx context.Context, named []catalogue.Configuration) {
	if c.processor != gocardlessName {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	account, err := c.gocardlessAPI()
	if err == nil {
		err = account.Ready(ctx)
	}
	if err != nil {
		fmt.Fprintf(c.Stderr, "the providers' accounts are not checked: %v\n", err)
		return
	}
	for _, conf := range named {
		if conf.Provider.Environment != c.environment {
			continue
		}
		if err := service.CheckAccount(ctx, account, conf.Provider); err != nil {
			fmt.Fprintf(c.Stderr, "%v: the server is not ready while it may be used\n", err)
		}
	}
}

// warn prints the valid parts of a provider's configuration that prevent it from being served.
func warn(w io.Writer, p catalogue.Provider, now time.Time) {
	if err := p.Usable(p.Environment); err != nil {
		fmt.Fprintf(w, "%v: its calls are refused\n", err)
	}
	if strings.HasPrefix(p.Destination.URL, "http://") {
		fmt.Fprintf(w, "provider %s has its events sent over plain http: only a server with --allow-private-destinations does\n", p.Code)
	}
	if d := p.Destination; d.PreviousSecret != "" && len(d.Secrets(now)) == 1 {
		fmt.Fprintf(w, "provider %s: previous_secret_until is over: the previous signing secret signs nothing\n", p.Code)
	}
}
