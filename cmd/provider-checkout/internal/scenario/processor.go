package scenario

import (
	"context"
	"fmt"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/sim/bankaccount"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprocessor"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	// scriptedPrefix begins the ids of billing requests that no processor has.
	scriptedPrefix = "BRSCRIPT"
	// ended is the entry of a setup that the service has ended.
	ended Scenario = "ended"
	// holder is the holder of every account that was not typed into a form.
	holder = "Sandbox Payer"
)

// processor decorates a processor: it answers for setups that a scenario has begun, and says of the mandate of any other setup
// what the script says.
type processor struct {
	ports.Processor
	scripts scripts
}

type scriptedKey struct{}

// scripted returns a context in which Begin is called by a scenario, and not by a payer.
func scripted(ctx context.Context) context.Context {
	return context.WithValue(ctx, scriptedKey{}, true)
}

// Begin implements ports.Processor.
func (p processor) Begin(ctx context.Context, start checkout.SetupStart) (checkout.BillingRequest, error) {
	if ctx.Value(scriptedKey{}) == nil {
		return p.Processor.Begin(ctx, start)
	}
	return checkout.BillingRequest{ID: scriptedPrefix + start.Key, URL: start.ReturnURL}, nil
}

func isScripted(q checkout.SetupQuery) bool {
	return strings.HasPrefix(q.Setup.BillingRequestID, scriptedPrefix)
}

// Observe implements ports.Processor.
func (p processor) Observe(ctx context.Context, q checkout.SetupQuery) (seen checkout.Observation, err error) {
	seen = checkout.Observation{BillingRequest: checkout.BillingPending, Authorisation: checkout.CustomerInProgress}
	if !isScripted(q) {
		if seen, err = p.Processor.Observe(ctx, q); err != nil {
			return seen, err
		}
	}
	script, err := p.scripts.read(ctx, q.Account.ProviderCode, q.OrderID)
	if err != nil {
		return seen, err
	}
	for _, e := range script.entries {
		if e.Try == q.Setup.Try && (isScripted(q) || !e.Scenario.isSetup()) {
			seen = e.observed(seen, q.Setup.BillingRequestID)
		}
	}
	return seen, nil
}

// observed returns what becomes of an observation by an entry of the script.
func (e entry) observed(o checkout.Observation, billingRequest string) checkout.Observation {
	fulfilled := o.BillingRequest == checkout.BillingFulfilled
	mandate := e.Scenario.mandate()
	switch {
	case e.Scenario == SetupSucceeds && !fulfilled:
		number, _ := bankaccount.Parse(bankaccount.Example)
		return checkout.Observation{BillingRequest: checkout.BillingFulfilled, Mandate: checkout.MandatePendingSubmission,
			MandateID: "MD" + billingRequest, MandateSince: e.At, Authorisation: checkout.CustomerInProgress,
			AccountHolder: holder, AccountMask: number.Mask(), CompletedAt: e.At}
	case !fulfilled && e.Scenario == SetupReady:
		o.BillingRequest = checkout.BillingReadyToFulfil
	case !fulfilled && e.Scenario == SetupFulfilling:
		o.BillingRequest = checkout.BillingFulfilling
	case !fulfilled && (e.Scenario == SetupFails || e.Scenario == ended):
		o.BillingRequest = checkout.BillingCancelled
	case fulfilled && e.Scenario == ended:
		mandate = checkout.MandateCancelled
	}
	if !fulfilled || mandate == checkout.MandateNone || mandate.Dead() && mandate == o.Mandate {
		return o
	}
	o.Mandate, o.MandateSince, o.MandateReason, o.Authorisation = mandate, e.At, e.Reason, checkout.CustomerInProgress
	if mandate == checkout.MandateActive {
		o.Authorisation = checkout.Authorised
	}
	return o
}

// Cancel implements ports.Processor.
func (p processor) Cancel(ctx context.Context, q checkout.SetupQuery) error {
	if !isScripted(q) {
		if err := p.Processor.Cancel(ctx, q); err != nil {
			return err
		}
	}
	c := checkout.Checkout{ProviderCode: q.Account.ProviderCode, OrderID: q.OrderID}
	script, err := p.scripts.readNow(ctx, c.ProviderCode, c.OrderID)
	if n := len(script.entries); err != nil || n == 0 && !isScripted(q) || n > 0 && script.entries[n-1].Scenario == ended {
		return err
	}
	return p.scripts.add(ctx, c, entry{Scenario: ended, Try: q.Setup.Try})
}

// CheckAccount implements ports.AccountChecker.
func (p processor) CheckAccount(ctx context.Context, a checkout.Account) (checkout.Creditor, error) {
	if checker, ok := p.Processor.(ports.AccountChecker); ok {
		return checker.CheckAccount(ctx, a)
	}
	return checkout.Creditor{}, nil
}

// Setback implements ports.SetbackFinder.
func (p processor) Setback(ctx context.Context, q checkout.SetupQuery) (checkout.Setback, error) {
	if finder, ok := p.Processor.(ports.SetbackFinder); ok && !isScripted(q) {
		return finder.Setback(ctx, q)
	}
	return checkout.NoSetback, nil
}

// EraseSetups implements ports.SetupEraser.
func (p processor) EraseSetups(ctx context.Context, keys []string) error {
	if err := p.scripts.keepClocks(ctx, keys); err != nil {
		return err
	}
	if eraser, ok := p.Processor.(ports.SetupEraser); ok {
		return eraser.EraseSetups(ctx, keys)
	}
	for _, key := range keys {
		if err := p.scripts.records.DropSandboxRecords(ctx, fakeprocessor.ScriptPrefix(key)); err != nil {
			return fmt.Errorf("erase a script: %w", err)
		}
	}
	return nil
}
