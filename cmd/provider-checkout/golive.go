package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/golive"
	"github.com/provider-checkout/provider-checkout/ports"
)

// checkGoLive prints the steps of a provider's integration, and fails while a step is missing: for the operator, who has the store, or
// for the provider, who has an API key.
func checkGoLive(c *call) action {
	p := client{call: c}
	c.storeFlag()
	c.jsonFlag()
	provider := c.flags.String("provider", "", "`CODE` of the provider, for its operator: the store is read")
	cli.Var(c.flags, &p.baseURL, "base-url", "", parseBaseURL, "`URL` of the sandbox, for the provider itself: the API is asked")
	c.flags.StringVar(&p.keyFile, "key-file", "", "`FILE` with the API key")
	report := c.flags.String("report", "", "write a signed report to `FILE` (with --provider)")
	c.check = func([]string) error {
		switch {
		case (*provider == "") == (p.baseURL == ""):
			return cli.UsageError("give one of --provider and --base-url")
		case *report != "" && *provider == "":
			return cli.UsageError("--report needs --provider: the operator's evidence key signs it")
		}
		return nil
	}
	return func(ctx context.Context) error {
		var check golive.Check
		var err error
		if *provider == "" {
			check, err = p.goLive(ctx)
		} else {
			err = c.onRecords(func(ctx context.Context, db records) (err error) {
				check, err = goLiveOn(ctx, db, *provider)
				return err
			})(ctx)
		}
		if err == nil && *report != "" {
			err = c.reportGoLive(check, *report)
		}
		if err != nil {
			return err
		}
		return c.printGoLive(check)
	}
}

// goLiveOn checks the records of a store.
func goLiveOn(ctx context.Context, db records, provider string) (golive.Check, error) {
	switch p, err := db.Provider(ctx, provider); {
	case errors.Is(err, ports.ErrNotFound):
		return golive.Check{}, noProvider(provider)
	case err != nil:
		return golive.Check{}, err
	case p.Environment != catalogue.Sandbox:
		return golive.Check{}, fmt.Errorf("provider %s is not of the sandbox, and production keeps no requests", provider)
	}
	return golive.Run(ctx, db, provider, "", time.Now())
}

// goLive asks the sandbox.
func (p *client) goLive(ctx context.Context) (golive.Check, error) {
	api, err := p.api()
	if err != nil {
		return golive.Check{}, err
	}
	r, err := api.Call(ctx, "", http.MethodGet, golive.CheckPath, "")
	switch {
	case err != nil:
		return golive.Check{}, err
	case r.Status == http.StatusNotFound:
		return golive.Check{}, fmt.Errorf("%s answers 404 at %s: it is no sandbox", p.baseURL, golive.CheckPath)
	case r.Status != http.StatusOK:
		return golive.Check{}, fmt.Errorf("%s answers %d: %s", p.baseURL, r.Status, oneLine(r.String("error.message")))
	}
	return golive.ParseCheck([]byte(r.Body))
}

// printGoLive prints the steps.
func (c *call) printGoLive(check golive.Check) error {
	var rows []record
	missing := 0
	for _, s := range check.Steps {
		lacks, todo := "", ""
		if !s.Done() {
			missing++
			lacks, todo = s.Todo(), s.Todo()+" See "+s.Help
		}
		rows = append(rows, record{{"step", "step", s.Name}, {"done", "", s.Done()}, {"at", "done at", s.At}, {"request_id", "request", s.RequestID},
			{"help", "", s.Help}, {"missing", "", lacks}, {"", "what to do", todo}})
	}
	if err := c.table(rows, "step", "done at", "request", "what to do"); err != nil {
		return err
	}
	if missing > 0 {
		return fmt.Errorf("not ready: %d of %d steps are missing", missing, len(rows))
	}
	if !c.json {
		_, err := fmt.Fprintf(c.Stdout, "ready: all %d steps are done\n", len(rows))
		return err
	}
	return nil
}

// reportGoLive writes the signed report.
func (c *call) reportGoLive(check golive.Check, file string) error {
	keys, err := c.evidenceKeys()
	if err == nil && !keys.CanSign() {
		err = errNoEvidenceKey
	}
	if err != nil {
		return err
	}
	signed, err := check.Report(keys)
	if err != nil {
		return err
	}
	return c.writeFile(file, signed)
}

// verifyGoLive prints what a signed report says.
func verifyGoLive(c *call) action {
	key := c.requiredFlag("key", "public evidence `KEY`, as \"evidence key\" prints it")
	return func(context.Context) error {
		keys, err := publicKeys("--key", *key)
		if err != nil {
			return err
		}
		signed, err := readFile(c.Stdin, c.Args[0])
		if err != nil {
			return err
		}
		text, err := keys.OpenStatement(golive.ReportKind, signed)
		if err != nil {
			return fmt.Errorf("%s is refused: %w", inputName(c.Args[0]), err)
		}
		_, err = fmt.Fprint(c.Stdout, text)
		return err
	}
}
