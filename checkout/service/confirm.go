package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	printAttempts = 2
	printTimeout  = 5 * time.Second // of one attempt
	// agreedLimit limits the look for an agreement that is on record in the CRM.
	agreedLimit = 4 * time.Second
)

// Confirmed is the answer to a confirm.
type Confirmed struct {
	Checkout checkout.Checkout
	Already  bool // it was confirmed before; nothing happened now
}

// Confirm confirms the caller's checkout with this id (section 3). It takes up to twenty seconds, and up to 35 more while its
// events are delivered. The refusals are PROVIDER_KEY_MISMATCH, PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR,
// CHECKOUT_NOT_FOUND, CONFLICT, CHECKOUT_CANCELLED, CHECKOUT_ERASED, DIRECT_DEBIT_SETUP_INCOMPLETE and BUSY. Where the command has no
// RequestID, one is made.
func (s *Service) Confirm(ctx context.Context, caller Caller, id string, cmd checkout.Confirm) (confirmed Confirmed, err error) {
	err = s.serve(ctx, call{
		Caller: caller, id: id, provider: cmd.ProviderCode, requestID: &cmd.RequestID,
		first: CountConfirm, repeat: CountRepeatedConfirm,
	}, func(ctx context.Context, provider catalogue.Provider) (held heldChange, err error) {
		if err := cmd.Check(); err != nil {
			return held, err
		}
		cmd.Actor = checkout.ProviderActor(caller.KeyID)
		c := confirmCall{Service: s, caller: caller, provider: provider, id: id, cmd: cmd}
		stored, err := c.run(ctx)
		if err == nil {
			confirmed = Confirmed{Checkout: stored, Already: stored.Confirmation.AgreementNumber != c.concluded}
		}
		return c.held, err
	})
	return confirmed, err
}

// confirmCall is a confirm that is under way.
type confirmCall struct {
	*Service
	caller    Caller
	provider  catalogue.Provider
	id        string
	cmd       checkout.Confirm
	concluded string     // the number of the agreement that this call has concluded: its answer alone is not a repeat
	held      heldChange // that the checkout is confirmed, if this call committed it
}

// run answers a repeat at once. Otherwise it holds a lock on the checkout while it confirms it, so that its agreement is rendered
// once.
func (c *confirmCall) run(ctx context.Context) (checkout.Checkout, error) {
	ctx, cancel := detached(ctx, waitLimit+printAttempts*printTimeout)
	defer cancel()
	stored, err := c.matching(ctx)
	switch {
	case errors.Is(err, checkout.ErrAlreadyConfirmed):
		return stored, nil
	case err != nil && !errors.Is(err, checkout.ErrCompleting):
		return checkout.Checkout{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	unlock, waited, lockErr := c.confirming.lock(waiting, c.id)
	if lockErr != nil {
		return checkout.Checkout{}, checkout.Busy()
	}
	defer unlock()
	for n := range attempts(ctx) {
		if n > 0 || waited {
			stored, err = c.matching(ctx)
		}
		if err == nil {
			stored, err = c.conclude(ctx, stored)
		}
		if errors.Is(err, checkout.ErrCompleting) {
			c.held, err = c.await(ctx, checkout.JobComplete, stored, c.provider)
			stored = c.held.Next
		}
		switch {
		case err == nil, errors.Is(err, checkout.ErrAlreadyConfirmed):
			return stored, nil
		case errors.Is(err, checkout.ErrOutdated): // prepare it again, with the direct debit as it is now
		case errors.Is(err, ports.ErrDuplicate): // or with another number
		case errors.Is(err, errAwaiting): // the CRM
		default:
			return checkout.Checkout{}, err
		}
	}
	return checkout.Checkout{}, checkout.Busy()
}

// matching returns the caller's checkout if this confirm is for it. The error is checkout.ErrAlreadyConfirmed for a repeat,
// and checkout.ErrCompleting while the CRM has to complete the enrolment.
func (c *confirmCall) matching(ctx context.Context) (checkout.Checkout, error) {
	stored, err := c.owned(ctx, c.caller, c.id)
	if err != nil {
		return stored, err
	}
	return stored, c.cmd.Match(stored, c.cfg.Keyring.LatestText(stored))
}

// conclude makes one attempt to confirm the checkout that was read: it asks the processor about its setup, prepares the agreement,
// decides for good, stores the change, and has the CRM complete the enrolment if that did not answer within the commit. With an
// error it returns the checkout that the error is about.
func (c *confirmCall) conclude(ctx context.Context, stored checkout.Checkout) (checkout.Checkout, error) {
	if stored.Setup.BillingRequestID != "" {
		seen, err := c.observe(ctx, stored, checkout.ForConfirm, c.cfg.ProcessorTimeout)
		if err != nil { // whether the mandate is alive is not known
			c.report(ctx, Failure{Operation: OperationObserve, Severity: Error, About: stored.About(), Err: err})
			return stored, checkout.Busy()
		}
		if stored, err = c.storeObservation(ctx, stored, seen); err != nil {
			return stored, err
		}
	}
	if err := c.cmd.Ready(stored, c.cfg.Keyring.LatestText(stored)); err != nil {
		return stored, err
	}
	prepared, err := c.prepare(ctx, stored)
	if err != nil {
		return stored, err
	}
	entry := c.jobEntry(c.provider, holdLimit)
	change, err := c.update(ctx, c.id, entry, func(latest checkout.Checkout, _ time.Time) (checkout.Change, error) {
		stored = latest
		change, err := c.cmd.Decide(latest, c.cfg.Keyring.LatestText(latest), prepared)
		if err != nil {
			return change, err
		}
		return c.withinCommit(change, c.provider)
	})
	if err != nil {
		return stored, err
	}
	c.concluded = change.Agreement.Number
	c.held, err = c.attemptHeld(ctx, change, c.provider, entry)
	return c.held.Next, err
}

// prepare renders the agreement. If that fails, the failure is reported and the confirm continues without a PDF: a name
// with a character that no font has must not block a payer. If the printer is busy the confirm is refused instead, and
// the same request may be sent again. After a restore the CRM may have the agreement already: complete without a PDF it is not
// rendered, and with a PDF there it is not concluded without.
func (c *confirmCall) prepare(ctx context.Context, stored checkout.Checkout) (prepared checkout.Prepared, err error) {
	now := c.now()
	agreed, err := c.agreed(ctx, stored, now)
	if err != nil {
		return prepared, err
	}
	terms, err := c.termsOf(ctx, c.provider)
	if err != nil {
		return prepared, err
	}
	cmd := c.cmd
	cmd.FirstPayment = checkout.Some(agreed.FirstPayment)
	prepared = checkout.Prepared{
		Environment: c.cfg.Environment,
		Now:         now,
		Agreement: cmd.Agreement(stored, checkout.AgreementFacts{Environment: c.cfg.Environment, Provider: c.provider, Terms: terms,
			Number: agreed.Number, Now: agreed.AcceptedAt, Today: money.DateOf(agreed.AcceptedAt.In(c.zone))}),
	}
	if agreed.Complete && !agreed.Document {
		return prepared, nil
	}
	for attempt := 1; attempt <= printAttempts && prepared.Document == nil; attempt++ {
		var pdf []byte
		err := within(ctx, printTimeout, func(ctx context.Context) (err error) {
			pdf, err = c.cfg.Printer.Print(ctx, prepared.Agreement)
			return err
		})
		switch {
		case err == nil:
			id := checkout.NaturalKey(c.cfg.Environment, stored.ProviderCode, stored.OrderID, "document")
			prepared.Document = &agreement.Document{ID: id, SHA256: sha256.Sum256(pdf), Bytes: pdf}
		case errors.Is(err, ports.ErrBusy):
			return checkout.Prepared{}, c.fail(ctx, "render agreement "+agreed.Number, err)
		default:
			c.report(ctx, Failure{Operation: OperationPrint, Severity: Error, About: stored.About(), Attempt: attempt,
				Err: fmt.Errorf("render agreement %s: %w", agreed.Number, err)})
		}
	}
	if agreed.Document && prepared.Document == nil {
		return checkout.Prepared{}, checkout.Busy()
	}
	return prepared, nil
}

// agreed returns the number, the time and the first payment of the agreement: a new number, now, and the payment of the request; or,
// where the store was restored to an earlier moment than the CRM outside of it, what the CRM has on record. The error is
// checkout.ErrCompleting if another process has just concluded that.
func (c *confirmCall) agreed(ctx context.Context, stored checkout.Checkout, now time.Time) (checkout.Agreed, error) {
	if c.crm.Open() {
		return checkout.Agreed{}, checkout.Busy()
	}
	var before *checkout.Agreed
	err := within(ctx, agreedLimit, func(ctx context.Context) (err error) {
		before, err = found(c.cfg.CRM.Agreed(ctx, c.enrolmentKey(stored)))
		return err
	})
	c.noteCRMAnswer(ctx, err)
	switch {
	case err != nil: // whether there is an agreement is not known
		c.report(ctx, Failure{Operation: OperationCRM, Severity: Warning, About: stored.About(),
			Err: fmt.Errorf("look for an agreement in the CRM: %w", err)})
		return checkout.Agreed{}, checkout.Busy()
	case before != nil:
		latest, err := found(c.cfg.Store.Checkout(ctx, c.id))
		switch {
		case err != nil:
			return checkout.Agreed{}, c.fail(ctx, "read checkout "+c.id, err)
		case latest != nil && latest.Confirmation.AgreementNumber == before.Number: // another process has just concluded it
			return checkout.Agreed{}, checkout.ErrCompleting
		}
		c.report(ctx, Failure{Operation: OperationCRM, Severity: Error, About: stored.About(), Err: fmt.Errorf("agreement %s of this "+
			"checkout is in the CRM and not in this store, which was restored to an earlier moment: it is concluded again as it was",
			before.Number)})
		return *before, nil
	}
	var entropy [8]byte
	if _, err := io.ReadFull(c.cfg.Rand, entropy[:]); err != nil {
		return checkout.Agreed{}, fmt.Errorf("generate an agreement number: %w", err)
	}
	return checkout.Agreed{Number: agreement.NewNumber(now.In(c.zone).Year(), entropy), AcceptedAt: now,
		FirstPayment: c.cmd.FirstPayment.Value}, nil
}
