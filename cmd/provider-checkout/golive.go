package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
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
		if *provider == "" {
			return p.askGoLive(ctx)
		}
		var check golive.Check
		err := c.onRecords(func(ctx context.Context, db records) (err error) {
			check, err = goLiveOn(ctx, db, *provider)
			return err
		})(ctx)
		if err == nil && *report != "" {
			err = c.reportGoLive(check, *report)
		}
		if err != nil {
			return err
		}
		answer, err := json.Marshal(check.Answer())
		if err == nil {
			err = c.printGoLive(answer)
		}
		return err
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

// askGoLive asks the sandbox, and prints the steps.
func (p *client) askGoLive(ctx context.Context) error {
	api, err := p.api()
	if err != nil {
		return err
	}
	r, err := api.Call(ctx, "", http.MethodGet, golive.CheckPath, "")
	switch {
	case err != nil:
		return err
	case r.Status == http.StatusNotFound:
		return fmt.Errorf("%s answers 404 at %s: it is no sandbox", p.baseURL, golive.CheckPath)
	case r.Status != http.StatusOK:
		return fmt.Errorf("%s answers %d: %s", p.baseURL, r.Status, oneLine(r.String("error.message")))
	}
	return p.printGoLive([]byte(r.Body))
}

// printGoLive prints the steps of the answer to a provider.
func (c *call) printGoLive(answer []byte) error {
	check, err := apiclient.ParseObject(answer)
	steps, _ := check.At("steps").([]any)
	if err != nil || len(steps) == 0 {
		return cmp.Or(err, errors.New("the answer has no steps"))
	}
	var rows []record
	missing := 0
	for _, item := range steps {
		fields, _ := item.(map[string]any)
		s, todo := apiclient.Object(fields), ""
		if s.At("done") != true {
			missing++
			todo = s.Text("missing") + " See " + s.Text("help")
		}
		rows = append(rows, record{{"step", "step", s.Text("step")}, {"done", "", s.At("done") == true}, {"at", "done at", s.Text("at")},
			{"request_id", "request", s.Text("request_id")}, {"help", "", s.Text("help")}, {"missing", "", s.Text("missing")},
			{"", "what to do", todo}})
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

// verifyGoLive prints what a signed report says, and fails unless it says that the integration is ready.
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
		switch {
		case err != nil && bytes.Contains(signed, []byte("\r\n")):
			return fmt.Errorf("%s is refused: its line ends were changed, as an e-mail does; attach it as a file", inputName(c.Args[0]))
		case err != nil:
			return fmt.Errorf("%s is refused: %w", inputName(c.Args[0]), err)
		}
		if _, err = fmt.Fprint(c.Stdout, text); err == nil && !strings.Contains(text, "\nready yes\n") {
			err = errors.New("not ready: the report is genuine, and steps are missing")
		}
		return err
	}
}
