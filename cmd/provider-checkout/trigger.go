package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/conformance"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
)

// trigger creates a checkout as its provider does, and has a scenario happen to it.
func trigger(c *call) action {
	t := &triggered{client: newClient(c), create: apiclient.CreateRequest{FirstName: "Aroha", LastName: "Ngata", Email: "aroha@example.nz",
		Frequency: "Weekly"}}
	c.flags.StringVar(&t.create.OrderID, "order", "", "`ID` of the order (default a new one)")
	c.flags.StringVar(&t.create.CourseCode, "course", "",
		"`CODE` of a course of the provider's catalogue, paid weekly; without one the provider has no catalogue")
	c.flags.StringVar(&t.create.ProviderCode, "provider", "", "`CODE` of the provider; needed only before its first checkout")
	c.check = func(args []string) error {
		if !slices.Contains(scenario.All(), scenario.Scenario(args[0])) {
			return cli.UsageError(fmt.Sprintf("%q is no scenario; there are %v", args[0], scenario.All()))
		}
		return nil
	}
	return func(ctx context.Context) (err error) {
		if t.api, err = t.client.api(); err != nil {
			return err
		}
		created, err := t.begin(ctx)
		if err != nil {
			return err
		}
		for _, s := range stepsTo(scenario.Scenario(c.Args[0])) {
			path, body := created.CheckoutPath()+apiclient.ConfirmSuffix, created.ConfirmBody()
			if s.scenario != "" {
				path = "/sandbox/v1/checkouts/" + created.String("checkout.checkout_id") + "/scenarios"
				body = fmt.Sprintf(`{"scenario":%q}`, s.scenario)
			}
			if _, err := t.send(ctx, http.MethodPost, path, body, !s.mayFail); err != nil {
				return err
			}
		}
		end, err := t.send(ctx, http.MethodGet, created.CheckoutPath(), "", true)
		for _, field := range []string{"checkout.status", "direct_debit.billing_request_status", "direct_debit.setup_complete",
			"direct_debit.mandate_status"} {
			if err == nil && end.String(field) != "" {
				_, err = fmt.Fprintf(c.Stdout, "  %s: %s\n", field, oneLine(end.String(field)))
			}
		}
		return err
	}
}

// step is a step on the way of a checkout to a scenario: a scenario or, without one, a confirm.
type step struct {
	scenario scenario.Scenario
	mayFail  bool // the confirm is refused or lost, as the scenario before has it
}

// stepsTo returns the steps after the create.
func stepsTo(s scenario.Scenario) []step {
	setUp, confirm, hit := step{scenario: scenario.SetupSucceeds}, step{}, step{mayFail: true}
	switch name := string(s); {
	case strings.HasPrefix(name, "mandate_"), s == scenario.OperatorWithdraws: // whose events are of a confirmed checkout
		return []step{setUp, confirm, {scenario: s}}
	case strings.HasPrefix(name, "next_answer_"):
		return []step{setUp, {scenario: s}, hit, confirm}
	case s == scenario.CRMBack:
		return []step{setUp, {scenario: scenario.CRMAway}, hit, {scenario: s}, confirm}
	case strings.HasPrefix(name, "setup_"), s == scenario.LinkExpires, s == scenario.OperatorCancels:
		return []step{{scenario: s}}
	}
	return []step{setUp, {scenario: s}, hit} // it shows at the confirm
}

// triggered is a checkout that is driven to a scenario.
type triggered struct {
	*client
	api    *apiclient.Client
	create apiclient.CreateRequest
}

// send sends a request and prints its answer. An answer other than 2xx, or no answer, is an error if it must succeed.
func (t *triggered) send(ctx context.Context, method, path, body string, must bool) (apiclient.Response, error) {
	r, err := t.api.Call(ctx, "", method, path, body)
	said := "no answer: " + fmt.Sprint(err)
	if err == nil {
		said = fmt.Sprintf("%s, request %s", r.StatusLine(), r.Header.Get("X-Request-Id"))
	}
	act := method + " " + path
	if strings.HasPrefix(path, "/sandbox/") {
		act += " " + body
	}
	act = oneLine(act) // the path has an id that the server made
	_, failed := fmt.Fprintf(t.Stdout, "%s: %s\n", act, oneLine(said))
	switch {
	case failed != nil || ctx.Err() != nil:
		return r, cmp.Or(failed, ctx.Err())
	case !must || r.Status == http.StatusOK || r.Status == http.StatusCreated:
		return r, nil
	case err == nil:
		err = errors.New(cmp.Or(oneLine(r.Body), r.StatusLine()))
	}
	return r, fmt.Errorf("%s: %w", act, err)
}

// begin creates the checkout, in a sandbox.
func (t *triggered) begin(ctx context.Context) (created apiclient.Response, err error) {
	at, err := t.send(ctx, http.MethodGet, apiclient.EnvironmentPath, "", true)
	if environment := at.String("environment"); err == nil && environment != "sandbox" {
		err = fmt.Errorf("%s is no sandbox: its environment is %q", t.baseURL, environment)
	}
	if err == nil && t.create.ProviderCode == "" {
		var list apiclient.Response
		list, err = t.send(ctx, http.MethodGet, "/v1/enrolments?limit=1", "", true)
		if t.create.ProviderCode = checkout.ProviderOf(list.String("enrolments.0.checkout_id")); err == nil && t.create.ProviderCode == "" {
			err = cli.UsageError(conformance.ErrProvider.Error())
		}
	}
	if err != nil {
		return created, err
	}
	now := time.Now()
	t.create.OrderID = cmp.Or(t.create.OrderID, "TRIGGER-"+now.UTC().Format("20060102-150405.000000"))
	t.create.FirstPayment = now.AddDate(0, 0, 30).Format(time.DateOnly)
	created, err = t.send(ctx, http.MethodPost, apiclient.CheckoutsPath, t.create.String(), true)
	if t.create.CourseCode == "" && strings.Contains(created.Body, `"course.course_code"`) {
		return created, errors.New("this provider has a catalogue: give --course")
	}
	if err == nil {
		_, err = fmt.Fprintf(t.Stdout, "  order %s, checkout %s\n", t.create.OrderID, oneLine(created.String("checkout.checkout_id")))
	}
	return created, err
}
