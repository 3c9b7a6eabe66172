package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/conformance"
)

// conform tests a deployment against the contract.
func conform(c *call) action {
	p := newClient(c)
	c.flags.Lookup("key-file").Usage = "`FILE` with the API key"
	var cfg conformance.Config
	c.flags.StringVar(&cfg.Course, "course", "", "`CODE` of a course of the provider's catalogue; without one the provider has no catalogue")
	c.flags.StringVar(&cfg.Provider, "provider", "", "`CODE` of the provider; needed only before its first checkout")
	cli.Var(c.flags, &cfg.Events, "events", "", parseEventNames,
		"`NAMES` of the events that the operator lists for the provider, comma-separated (default the contract's three)")
	junit := c.flags.String("junit", "", "`FILE` for the report as JUnit's XML")
	asJSON := c.flags.String("json", "", "`FILE` for the report as JSON")
	return func(ctx context.Context) (err error) {
		if *junit == standard && *asJSON == standard {
			return cli.UsageError("only one of --junit and --json can be standard output")
		}
		cfg.BaseURL = p.baseURL
		if cfg.Key, err = p.key(); err != nil {
			return err
		}
		report, err := conformance.Run(ctx, cfg)
		switch {
		case errors.Is(err, conformance.ErrProvider):
			return cli.UsageError(err.Error())
		case err != nil:
			return err
		}
		if *junit != standard && *asJSON != standard {
			err = report.Write(c.Stdout)
		}
		err = errors.Join(err, c.writeReport(*junit, report.JUnit), c.writeReport(*asJSON, report.JSON))
		if n := report.Failed; err == nil && n > 0 {
			err = fmt.Errorf("%s failed", counted(n, "check"))
		}
		return err
	}
}

// writeReport writes a form of the report to a file, if one is named.
func (c *call) writeReport(path string, form func() ([]byte, error)) error {
	if path == "" {
		return nil
	}
	data, err := form()
	if err != nil {
		return err
	}
	return c.writeFile(path, data)
}
