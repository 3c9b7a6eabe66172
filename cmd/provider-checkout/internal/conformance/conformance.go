// Package conformance tests a deployment of the service against the contract with the provider: over HTTP alone, and with the
// provider's own key. Each check is a sentence of the contract, or of the documentation that every server has (/docs).
//
// The checks make checkouts, with order ids that begin with "conformance-", and set them up by the sandbox's scenarios. A deployment
// without scenarios is tested without a payer. In production nothing is sent that could leave anything behind, not even by a fault
// of the deployment.
package conformance

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
	"github.com/provider-checkout/provider-checkout/events"
)

// Config is the configuration of a run.
type Config struct {
	BaseURL   string            // without a slash at its end
	Key       string            // the provider's
	Provider  string            // the provider's code; "" to read it in the list of its enrolments
	Course    string            // a course of the provider's catalogue; "" for a provider without a catalogue
	Events    []events.Name     // that the operator lists for the provider; the contract's three if empty
	Transport http.RoundTripper // http.DefaultTransport if nil
}

// check is a sentence of the contract, and its test.
type check struct {
	section  string // of the contract; docs for a sentence of the documentation
	sentence string
	needs    need
	test     func(*trial)
}

// need is the thing that must be there before a check. Each need includes the needs before it.
type need int

const (
	nothing   need = iota // the check leaves nothing behind: it is made in production too
	sandbox               // of a deployment that is no production
	opened                // an open checkout
	setup                 // a checkout whose payer has set up the direct debit
	agreement             // a confirmed checkout
)

// checks returns the checks of a provider, with a catalogue or without, in their order.
func checks(catalogue bool) []check {
	priced := ofFigures()
	if catalogue {
		priced = ofCatalogue()
	}
	return slices.Concat(ofService(), ofKeys(), ofBodies(), ofCreate(), priced, ofIntent(), ofGet(), ofConfirm(), ofAgreement(), ofCancel(),
		ofEvents(), ofLists(), []check{described})
}

// trial is a run of the checks, with the check that is being made and the things that one check leaves for the next.
type trial struct {
	Config
	ctx       context.Context
	api       *apiclient.Client
	started   time.Time
	report    Report
	result    Result // of the check that is being made
	document  *apidoc.Document
	orders    int
	frequency string  // of payments, which is offered
	misfits   []Fault // answers that the deployment's own OpenAPI document does not allow

	first     answer // of the create of an open checkout
	ready     answer // of the create of a checkout whose setup is complete
	confirmed answer // of its confirm
	noCourse  bool   // the catalogue has no course of this name: nothing more can be checked
	noPayer   string // the reason why no payer can be played
}

// Run tests a deployment. The error says why it cannot be tested at all.
func Run(ctx context.Context, cfg Config) (Report, error) {
	t := &trial{Config: cfg, ctx: ctx, api: apiclient.New(cfg.BaseURL, nil), started: time.Now()}
	t.api.HTTP.Transport = cfg.Transport
	t.report.BaseURL, t.report.At = cfg.BaseURL, t.started.UTC().Truncate(time.Second)
	if err := t.meet(); err != nil {
		return t.report, err
	}
	for _, c := range checks(cfg.Course != "") {
		if err := ctx.Err(); err != nil {
			return t.report, err
		}
		t.try(c)
		if t.report.add(t.result); t.noCourse {
			break
		}
	}
	return t.report, nil
}

// meet asks the deployment for its environment, its OpenAPI document and the code of the provider.
func (t *trial) meet() error {
	environment := t.send(http.MethodGet, apiclient.EnvironmentPath, "")
	if environment.is(http.StatusOK); len(t.result.Faults) > 0 {
		return fmt.Errorf("%s%s answers no readiness: %s", t.BaseURL, apiclient.EnvironmentPath, t.result.Faults[0].Answer)
	}
	t.report.Environment = masked(environment.String("environment"))
	if d, err := apidoc.Parse([]byte(t.send(http.MethodGet, openAPIPath, "").Body)); err == nil {
		t.document = d
	}
	if t.Provider == "" {
		list := t.get(enrolments + "?limit=1")
		if list.Status == http.StatusUnauthorized || list.Status == http.StatusForbidden {
			return fmt.Errorf("the key is refused: %s", list.String("error.message"))
		}
		if t.Provider = checkout.ProviderOf(list.String("enrolments.0.checkout_id")); t.Provider == "" {
			return ErrProvider
		}
	}
	t.report.Provider = t.Provider
	return nil
}

// ErrProvider is the error of a run that is not told the provider's code and cannot learn it.
var ErrProvider = fmt.Errorf("the provider has no checkout yet that would tell its code: name it with --provider")

// try makes a check.
func (t *trial) try(c check) {
	began := time.Now()
	t.result = Result{Section: c.section, Sentence: c.sentence, Status: Passed}
	if reason := t.lacks(c.needs); reason != "" {
		t.skip(reason)
	} else {
		c.test(t)
	}
	if len(t.result.Faults) > 0 {
		t.result.Status, t.result.Reason = Failed, ""
	}
	t.result.Seconds = time.Since(began).Round(time.Millisecond).Seconds()
}

// skip ends a check without an outcome.
func (t *trial) skip(reason string) { t.result.Status, t.result.Reason = Skipped, reason }

// lacks returns why a check cannot be made, or "".
func (t *trial) lacks(n need) string {
	const before = "; a check before this one says why"
	switch {
	case n >= sandbox && t.report.Environment != "sandbox":
		return "it is made in a sandbox alone: it could leave something behind"
	case n >= setup && t.noPayer != "":
		return t.noPayer
	case n >= opened && t.first.JSON == nil:
		return "no checkout was created" + before
	case n >= setup && t.ready.JSON == nil:
		return "no checkout was set up" + before
	case n >= agreement && t.confirmed.JSON == nil:
		return "no checkout was confirmed" + before
	}
	return ""
}

// order returns an order id that no other run has.
func (t *trial) order() string {
	t.orders++
	return "conformance-" + strconv.FormatInt(t.started.UnixMicro(), 36) + "-" + strconv.Itoa(t.orders)
}
