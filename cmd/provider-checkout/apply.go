package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/providerfile"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// askTimeout bounds how long apply waits for the processor.
const askTimeout = 10 * time.Second

// apply stores the configuration of a provider file, and prints what that changes.
func apply(ctx context.Context, c *call) error {
	data, err := c.readFile()
	if err != nil {
		return err
	}
	named, err := providerfile.Parse(data)
	if err != nil {
		return fmt.Errorf("%s is refused: %w", c.file, err)
	}
	db, err := c.openStore(ctx, "", observer{})
	if err != nil {
		return err
	}
	defer db.Close()
	var changes []string
	err = db.ReplaceProviders(ctx, func(before []catalogue.Configuration) ([]catalogue.Configuration, error) {
		after := replaced(before, named, c.prune)
		changes = catalogue.Diff(before, after)
		return after, nil
	})
	if err != nil {
		return fmt.Errorf("apply %s: %w", c.file, err)
	}
	if changes == nil {
		fmt.Fprintln(c.Stderr, "nothing changed")
	}
	for _, line := range changes {
		fmt.Fprintln(c.Stdout, line)
	}
	for _, conf := range named {
		warn(c.Stderr, conf.Provider)
	}
	c.warnOfAccounts(ctx, named)
	return nil
}

// warnOfAccounts prints for which providers no payments can be collected, where GoCardless is the processor.
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

// warn prints what is valid in a provider's configuration but prevents it from being served.
func warn(w io.Writer, p catalogue.Provider) {
	if err := p.Usable(p.Environment); err != nil {
		fmt.Fprintf(w, "%v: its calls are refused\n", err)
	}
	if strings.HasPrefix(p.Destination.URL, "http://") {
		fmt.Fprintf(w, "provider %s has its events sent over plain http: only a server with --allow-private-destinations does\n", p.Code)
	}
}

func (c *call) readFile() ([]byte, error) {
	if c.file == "-" {
		return io.ReadAll(c.Stdin)
	}
	return os.ReadFile(c.file)
}

// replaced returns the named configurations and, unless prune is set, the earlier ones that are not named, in the order
// of their codes.
func replaced(before, named []catalogue.Configuration, prune bool) []catalogue.Configuration {
	after := slices.Clone(named)
	for _, b := range before {
		isNamed := slices.ContainsFunc(named, func(n catalogue.Configuration) bool {
			return n.Provider.Code == b.Provider.Code
		})
		if !isNamed && !prune {
			after = append(after, b)
		}
	}
	slices.SortFunc(after, func(a, b catalogue.Configuration) int {
		return cmp.Compare(a.Provider.Code, b.Provider.Code)
	})
	return after
}
