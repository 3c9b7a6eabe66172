// Package scenario lets a provider choose what becomes of its own checkouts in the sandbox: calls under /sandbox/v1, decorators
// of the ports of the service, and the script of each checkout, which the store keeps and every process reads.
//
// A decorator answers in the place of its port for a checkout whose script says so, and passes on every other call. So the
// state machine treats a scenario like the same answer of a real bank, CRM or receiver.
package scenario

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Scenario is the name of something that happens to a checkout.
type Scenario string

// The scenarios. A word of the processor's is a part of the name: "mandate_" and the status of the mandate, say.
const (
	LinkExpires       Scenario = "link_expires"
	SetupSucceeds     Scenario = "setup_succeeds"
	SetupFails        Scenario = "setup_fails"
	SetupAbandoned    Scenario = "setup_abandoned"
	SetupReady        Scenario = "setup_ready_to_fulfil"
	SetupFulfilling   Scenario = "setup_fulfilling"
	MandateActive     Scenario = "mandate_active"
	PDFFails          Scenario = "pdf_fails"
	CRMRefuses        Scenario = "crm_refuses"
	CRMAway           Scenario = "crm_away"
	CRMBack           Scenario = "crm_back"
	EventSlow         Scenario = "event_slow"
	EventFails        Scenario = "event_fails"
	EventTwice        Scenario = "event_twice"
	EventLost         Scenario = "event_lost"
	EventForged       Scenario = "event_forged"
	EventUnconfigured Scenario = "event_not_configured"
	NextAnswer403     Scenario = "next_answer_403"
	NextAnswer404     Scenario = "next_answer_404"
	NextAnswer410     Scenario = "next_answer_410"
	NextAnswer500     Scenario = "next_answer_500"
	NextAnswer503     Scenario = "next_answer_503"
	NextAnswerLost    Scenario = "next_answer_lost"
	OperatorCancels   Scenario = "operator_cancels"
	OperatorWithdraws Scenario = "operator_withdraws"
)

// All returns every scenario, in the order of the manual.
func All() []Scenario {
	return []Scenario{LinkExpires, SetupSucceeds, SetupFails, SetupAbandoned, SetupReady, SetupFulfilling,
		"mandate_pending_customer_approval", "mandate_submitted", MandateActive, "mandate_suspended_by_payer", "mandate_failed",
		"mandate_cancelled", "mandate_expired", "mandate_consumed", "mandate_blocked",
		PDFFails, CRMRefuses, CRMAway, CRMBack, EventSlow, EventFails, EventTwice, EventLost, EventForged, EventUnconfigured,
		NextAnswer403, NextAnswer404, NextAnswer410, NextAnswer500, NextAnswer503, NextAnswerLost, OperatorCancels, OperatorWithdraws}
}

// mandate returns the status of the mandate that a scenario leads to; MandateNone for any other scenario.
func (s Scenario) mandate() checkout.MandateStatus {
	status, ok := strings.CutPrefix(string(s), "mandate_")
	if !ok {
		return checkout.MandateNone
	}
	return checkout.MandateStatus(status)
}

// isSetup reports whether a scenario says how the payer's bank setup goes.
func (s Scenario) isSetup() bool { return strings.HasPrefix(string(s), "setup_") }

// acts reports whether a scenario happens at once, and not with what the service does next.
func (s Scenario) acts() bool {
	return s.isSetup() || s.mandate() != checkout.MandateNone || s == LinkExpires || s == OperatorCancels || s == OperatorWithdraws
}

// suffixOf returns the scenario that an order id ends with: "order-1+setup_fails".
func suffixOf(order string) (s Scenario, ok bool) {
	if at := strings.LastIndexByte(order, '+'); at >= 0 {
		s = Scenario(order[at+1:])
	}
	return s, slices.Contains(All(), s)
}

// Misspelt returns the end of an order id that looks like the name of a scenario and is not; "" for any other order id.
func Misspelt(order string) string {
	s, ok := suffixOf(order)
	if ok || strings.Trim(string(s), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return ""
	}
	return string(s)
}

// Store is the store of the service. Every store of this module implements it.
type Store interface {
	ports.Admin
	Records
}

// Director has the scenarios of one service happen.
type Director struct {
	scripts
	ahead   func(context.Context, checkout.About) time.Duration
	keyring checkout.Keyring
	store   Store
	svc     *service.Service
}

// Direct decorates the ports of a service that is to be made.
func Direct(c *service.Config, store Store) *Director {
	d := &Director{scripts: scripts{store, c.Now}, ahead: Ahead(store), keyring: c.Keyring, store: store}
	c.Ahead, c.Store, c.Processor = d.ahead, openings{c.Store, d.scripts}, processor{c.Processor, d.scripts}
	c.Printer, c.CRM, c.Sender = printer{c.Printer, d.scripts}, crm{c.CRM, d.scripts}, sender{unmarked{c.Sender}, d.scripts, store}
	return d
}

// Serve adds to the API of the service what a provider calls.
func (d *Director) Serve(svc *service.Service, o *httpapi.Options) {
	d.svc = svc
	o.Around = d.around
	o.Calls = map[string]httpapi.Call{
		"POST /sandbox/v1/checkouts/{checkoutId}/scenarios": d.call(d.playCalled, "scenario", "reason_code"),
		"POST /sandbox/v1/checkouts/{checkoutId}/clock":     d.call(d.advanceCalled, "advance"),
	}
}

// call returns a call about a checkout of the caller, whose body has these fields: act has something happen to the checkout.
func (d *Director) call(act func(context.Context, checkout.Checkout, map[string]string) error, fields ...string) httpapi.Call {
	return func(r *http.Request, caller service.Caller) (any, error) {
		body, err := httpapi.Texts(r, fields...)
		if err != nil {
			return nil, err
		}
		c, err := d.svc.Checkout(r.Context(), caller, httpapi.CheckoutID(r))
		switch {
		case err == nil && c.Erased(): // what was written now, nothing would erase
			err = checkout.Conflict("the student's details were erased from this checkout, and nothing happens to it any more")
		case err == nil:
			err = act(r.Context(), c, body)
		}
		if err != nil {
			return nil, err
		}
		ctx, _ := service.WithSubject(r.Context()) // whose clock is read anew
		if c, err = d.svc.Checkout(ctx, caller, c.ID); err != nil {
			return nil, err
		}
		w := answerWire{Get: httpapi.ToGet(c, d.svc.Present(ctx)), Scenario: body["scenario"]}
		if w.Scenario == "" {
			w.Clock = events.Timestamp(d.svc.Present(ctx))
		}
		return w, nil
	}
}

// playCalled has the scenario of a call happen.
func (d *Director) playCalled(ctx context.Context, c checkout.Checkout, body map[string]string) error {
	e := entry{Scenario: Scenario(body["scenario"]), Reason: body["reason_code"]}
	if err := e.check(); err != nil {
		return err
	}
	return d.play(ctx, c, e)
}

// check refuses an entry that says nothing that can happen.
func (e entry) check() error {
	var faults []checkout.Fault
	if !slices.Contains(All(), e.Scenario) {
		names := strings.Trim(strings.ReplaceAll(fmt.Sprint(All()), " ", ", "), "[]")
		faults = append(faults, checkout.Fault{Field: "scenario", Message: "must be one of " + names})
	}
	switch {
	case e.Reason == "":
	case e.Scenario.mandate() == checkout.MandateNone:
		faults = append(faults, checkout.Fault{Field: "reason_code", Message: "may only be sent with a scenario of the mandate"})
	case len(e.Reason) > 64 || strings.Trim(e.Reason, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "":
		faults = append(faults, checkout.Fault{Field: "reason_code",
			Message: "must be at most 64 of the characters A-Z, 0-9, - and _, such as DISHONOUR-AC04"})
	}
	if faults != nil {
		return malformed(faults...)
	}
	return nil
}

// malformed refuses a request with faults.
func malformed(faults ...checkout.Fault) error {
	return checkout.Malformed("the request has missing or invalid fields; details says what each must be", faults...)
}

// play writes a scenario into the script of a checkout, and has the service ask about it where it is about the bank setup.
func (d *Director) play(ctx context.Context, c checkout.Checkout, e entry) error {
	switch expires := c.LinkExpires(); {
	case e.Scenario == LinkExpires && expires.IsZero():
		return checkout.Conflict("this checkout has no link any more")
	case e.Scenario == LinkExpires:
		e.Advance = max(0, expires.Sub(d.now().Add(d.ahead(ctx, c.About())))) + time.Second
		return d.advance(ctx, c, e)
	case e.Scenario == OperatorCancels, e.Scenario == OperatorWithdraws:
		return d.operate(ctx, c, e.Scenario)
	case e.Scenario.acts():
		return d.setUp(ctx, c, e)
	}
	return d.scripts.add(ctx, c, e)
}

// setUp has the bank setup of a checkout go as a scenario says. A payer who has not been at the bank goes there, and a mandate
// that is not there yet is set up.
func (d *Director) setUp(ctx context.Context, c checkout.Checkout, e entry) (err error) {
	script, mandate := []entry{e}, e.Scenario.mandate()
	switch complete := c.SetupComplete(); {
	case complete && e.Scenario == SetupSucceeds:
		return nil
	case complete && mandate == checkout.MandateNone:
		return checkout.Conflict("the direct debit is set up; have its mandate fail by the scenario mandate_failed")
	case complete, mandate.Dead() && c.Setup.Mandate.Dead():
	default:
		if mandate != checkout.MandateNone {
			script = []entry{{Scenario: SetupSucceeds}, e}
		}
		if c, err = d.begin(ctx, c); err != nil {
			return err
		}
	}
	for _, e := range script {
		e.Try, e.Nonce = c.Setup.Try, "" // of each try there may be one
		if err := d.scripts.add(ctx, c, e); err != nil {
			return err
		}
	}
	if c, err = d.svc.Refresh(ctx, c.ID); err != nil {
		return err
	}
	if mandate != checkout.MandateNone && c.Setup.Mandate != mandate {
		return checkout.Conflict(fmt.Sprintf("the mandate is %s and does not become %s", c.Setup.Mandate, mandate))
	}
	return nil
}

// begin goes on from the setup page of a checkout to the bank, as its payer does, and returns the checkout then.
func (d *Director) begin(ctx context.Context, c checkout.Checkout) (checkout.Checkout, error) {
	token := d.keyring.LatestText(c)
	page, err := d.svc.SetupPage(ctx, token)
	if err == nil {
		_, err = d.svc.BeginSetup(scripted(ctx), token,
			checkout.Acceptance{TermsID: page.Disclosure().Name(), Page: service.SetupPath})
	}
	switch {
	case checkout.Refused(err, checkout.CodeLinkExpired, checkout.CodeLinkUnknown):
		return c, checkout.Conflict("the link of this checkout has expired; send its create again to get another")
	case checkout.Refused(err, checkout.CodeTermsChanged):
		return c, checkout.Busy()
	case err != nil:
		return c, err
	}
	c, err = d.store.Checkout(ctx, c.ID)
	if err == nil && !isScripted(checkout.SetupQuery{Setup: c.Setup}) {
		err = checkout.Conflict("a payer has just set up the direct debit of this checkout")
	}
	return c, err
}

// operate has the operator cancel a checkout, or withdraw its agreement.
func (d *Director) operate(ctx context.Context, c checkout.Checkout, s Scenario) error {
	o := operate.Operator{Store: d.store, Keyring: d.keyring, By: "the sandbox", Reason: "scenario " + string(s), Now: d.now,
		Ahead: d.ahead, Rand: rand.Reader}
	var err error
	switch number := c.Confirmation.AgreementNumber; {
	case s == OperatorCancels:
		err = o.Cancel(ctx, c.ID)
	case number == "":
		return checkout.Conflict("this checkout is not confirmed: there is no agreement to withdraw")
	default:
		err = o.Withdraw(ctx, number, checkout.GroundProvider)
	}
	if err != nil && !errors.Is(err, checkout.ErrEnded) {
		return err
	}
	_, err = d.svc.Refresh(ctx, c.ID)
	return err
}
