package scenario

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// storeLimit is the time limit of what a script asks the store for a call.
const storeLimit = 10 * time.Second

// around serves a call about an order of the caller, unless its script has the answer refused, or lost after the commit. What
// happens at once by the suffix of an order id happens after its create; a store of openings refuses that by its suffix.
func (d *Director) around(r *http.Request, caller service.Caller, order string, serve func(*http.Request) error) (err error) {
	request, creates := httpapi.RequestID(r.Context()), order != ""
	ctx, cancel := context.WithTimeout(r.Context(), storeLimit)
	defer cancel()
	if !creates {
		if order, err = d.orderOf(ctx, r, caller); err != nil {
			return err
		}
	}
	if order == "" {
		return serve(r)
	}
	script, err := d.scripts.read(ctx, caller.ProviderCode, order)
	if err != nil {
		return err
	}
	refusals := []Scenario{NextAnswer403, NextAnswer404, NextAnswer500, NextAnswer503}
	if creates || httpapi.CheckoutID(r) != "" { // lists go on after an erasure
		refusals = append(refusals, NextAnswer410)
	}
	next, err := script.take(ctx, request, refusals...)
	if err == nil {
		err = next.Scenario.refusal(caller.ProviderCode)
	}
	if err == nil {
		err = serve(r.WithContext(script.known(r.Context())))
	}
	if err != nil {
		return err
	}
	ctx, cancel = context.WithTimeout(r.Context(), storeLimit)
	defer cancel()
	if creates {
		if err := d.playSuffix(ctx, caller.ProviderCode, order); err != nil {
			return err
		}
	}
	lost, err := script.take(ctx, request, NextAnswerLost)
	if lost.Scenario != "" && err == nil {
		panic(http.ErrAbortHandler) // the connection closes
	}
	return err
}

// refusal returns the error that the next answer is to be, a refusal as the rules make it; nil for any other scenario.
func (s Scenario) refusal(provider string) error {
	switch s {
	case NextAnswer403:
		return checkout.Admit(provider, checkout.Optional[string]{}, &catalogue.Provider{Code: provider}, catalogue.Sandbox)
	case NextAnswer404:
		return checkout.Admit(provider, checkout.Optional[string]{}, nil, catalogue.Sandbox)
	case NextAnswer410:
		return checkout.Checkout{Status: checkout.SetupRequired, ErasedAt: time.Unix(0, 0)}.Available()
	case NextAnswer500:
		return errScripted
	case NextAnswer503:
		return checkout.Busy()
	}
	return nil
}

// playSuffix has the scenario happen at once with which the id of an order ends, whose checkout is open. What an earlier create has left
// half done is done.
func (d *Director) playSuffix(ctx context.Context, provider, order string) error {
	s, ok := suffixOf(order)
	if !ok || !s.acts() || s == OperatorWithdraws { // for which there must be an agreement
		return nil
	}
	c, err := d.store.FindCheckout(ctx, checkout.Reference{ProviderCode: provider, OrderID: order})
	switch {
	case errors.Is(err, ports.ErrNotFound): // the call was another one than a create of it
		return nil
	case err != nil:
		return fmt.Errorf("find the checkout of an order: %w", err)
	}
	script, err := d.readNow(ctx, provider, order)
	happened := slices.ContainsFunc(script.entries, func(e entry) bool { return e.Scenario == s || e.Advance > 0 })
	ofPayer := c.Setup.Try > 0 && !isScripted(checkout.SetupQuery{Setup: c.Setup})
	if err != nil || happened || ofPayer || c.Status != checkout.SetupRequired {
		return err
	}
	return d.play(ctx, c, entry{Scenario: s, Nonce: "suffix"}) // a link expires once, though creates come at once
}

// orderOf returns the id of the order of the caller that a call is about: by the checkout or the event in its path, or by the query of
// a list. It is "" for any other call, and for a checkout that is erased, whose script is gone, or that its provider cannot see yet.
func (d *Director) orderOf(ctx context.Context, r *http.Request, caller service.Caller) (order string, err error) {
	var c checkout.Checkout
	switch id, event := httpapi.CheckoutID(r), httpapi.EventID(r); {
	case id != "" && (!checkout.PlausibleID(id) || checkout.ProviderOf(id) != caller.ProviderCode):
		return "", nil
	case id != "":
		c, err = d.store.Checkout(ctx, id)
	case event != "":
		var of checkout.JobRecord
		if of, err = d.svc.Event(ctx, caller, event); err == nil {
			c, err = d.store.Checkout(ctx, of.Job.CheckoutID)
		}
	default:
		c, err = d.store.FindCheckout(ctx, checkout.Reference{ProviderCode: caller.ProviderCode, OrderID: httpapi.ListedOrder(r)})
	}
	switch {
	case errors.Is(err, ports.ErrNotFound), checkout.Refused(err, checkout.CodeEventNotFound), c.Erased(), c.Status == checkout.Reserved:
		return "", nil
	case err != nil:
		return "", fmt.Errorf("read the checkout of a call: %w", err)
	}
	return c.OrderID, nil
}
