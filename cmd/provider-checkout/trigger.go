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
	p := newClient(c)
	t := &triggered{client: p}
	c.flags.StringVar(&t.order, "order", "", "`ID` of the order (default a new one)")
	c.flags.StringVar(&t.course, "course", "",
		"`CODE` of a course of the provider's catalogue, paid weekly; without one the provider has no catalogue")
	c.flags.StringVar(&t.provider, "provider", "", "`CODE` of the provider; needed only before its first checkout")
	c.check = func(args []string) error {
		if !slices.Contains(scenario.All(), scenario.Scenario(args[0])) {
			return cli.UsageError(fmt.Sprintf("%q is no scenario; there are %v", args[0], scenario.All()))
		}
		return nil
	}
	return func(ctx context.Context) error {
		key, err := p.key()
		if err != nil {
			return err
		}
		t.api = apiclient.New(p.baseURL, map[string]string{"": key})
		if err := t.create(ctx); err != nil {
			return err
		}
		for _, s := range stepsTo(scenario.Scenario(c.Args[0])) {
			if err := t.take(ctx, s); err != nil {
				return err
			}
		}
		end, err := t.send(ctx, http.MethodGet, t.created.CheckoutPath(), "", true)
		for _, field := range []string{"checkout.status", "direct_debit.setup_complete", "direct_debit.mandate_status"} {
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
	api                     *apiclient.Client
	order, course, provider string
	created                 apiclient.Response
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

// create creates the checkout, in a sandbox.
func (t *triggered) create(ctx context.Context) error {
	at, err := t.send(ctx, http.MethodGet, apiclient.EnvironmentPath, "", true)
	if err != nil {
		return err
	}
	if environment := at.String("environment"); environment != "sandbox" {
		return fmt.Errorf("%s is no sandbox: its environment is %q", t.baseURL, environment)
	}
	if t.provider == "" {
		list, err := t.send(ctx, http.MethodGet, "/v1/enrolments?limit=1", "", true)
		if err != nil {
			return err
		}
		if t.provider = checkout.ProviderOf(list.String("enrolments.0.checkout_id")); t.provider == "" {
			return cli.UsageError(conformance.ErrProvider.Error())
		}
	}
	now := time.Now()
	if t.order == "" {
		t.order = "TRIGGER-" + now.UTC().Format("20060102-150405.000000")
	}
	body := apiclient.CreateRequest{ProviderCode: t.provider, OrderID: t.order, FirstName: "Aroha", LastName: "Ngata",
		Email: "aroha@example.nz", CourseCode: t.course, Frequency: "Weekly", FirstPayment: now.AddDate(0, 0, 30).Format(time.DateOnly)}
	t.created, err = t.send(ctx, http.MethodPost, apiclient.CheckoutsPath, body.String(), true)
	if t.course == "" && strings.Contains(t.created.Body, `"course.course_code"`) {
		return errors.New("this provider has a catalogue: give --course")
	}
	if err == nil {
		_, err = fmt.Fprintf(t.Stdout, "  order %s, checkout %s\n", t.order, oneLine(t.created.String("checkout.checkout_id")))
	}
	return err
}

// take takes a step.
func (t *triggered) take(ctx context.Context, s step) error {
	path, body := t.created.CheckoutPath()+apiclient.ConfirmSuffix, t.created.ConfirmBody()
	if s.scenario != "" {
		path = "/sandbox/v1/checkouts/" + t.created.String("checkout.checkout_id") + "/scenarios"
		body = fmt.Sprintf(`{"scenario":%q}`, s.scenario)
	}
	_, err := t.send(ctx, http.MethodPost, path, body, !s.mayFail)
	return err
}
