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
)

// Confirmed is the answer to a confirm.
type Confirmed struct {
	Checkout    checkout.Checkout
	AgreementID string
	Already     bool // it was confirmed before; nothing happened now
}

// Confirm confirms the caller's checkout with this id (section 3). It takes up to twenty seconds, and up to two and a half more for the
// jobs that follow. The refusals are PROVIDER_KEY_MISMATCH, PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR,
// CHECKOUT_NOT_FOUND, CONFLICT, CHECKOUT_CANCELLED, CHECKOUT_ERASED, DIRECT_DEBIT_SETUP_INCOMPLETE and BUSY. Where the command has no
// RequestID, one is made.
func (s *Service) Confirm(ctx context.Context, caller Caller, id string, cmd checkout.Confirm) (confirmed Confirmed, err error) {
	defer func() { s.Refused(caller, id, cmd.RequestID, err) }()
	defer recovered(&err)
	provider, err := s.admit(ctx, caller, cmd.ProviderCode)
	if err != nil {
		return confirmed, err
	}
	if cmd.RequestID, err = s.requestID(cmd.RequestID); err != nil {
		return confirmed, err
	}
	if err := cmd.Check(); err != nil {
		return confirmed, err
	}
	cmd.Actor = checkout.ProviderActor(caller.KeyID)
	ctx, cancel := detached(ctx, waitLimit+printAttempts*printTimeout)
	defer cancel()
	stored, err := s.owned(ctx, caller, id)
	if err != nil {
		return confirmed, err
	}
	c := confirmCall{Service: s, provider: provider, cmd: cmd}
	switch stored, err = c.run(ctx, stored); {
	case errors.Is(err, checkout.ErrAlreadyConfirmed):
		confirmed.Already = true
		s.cfg.Count(CountRepeatedConfirm, provider.Code)
	case err != nil:
		return confirmed, err
	default:
		s.cfg.Count(CountConfirm, provider.Code)
		if !stored.Confirmation.PDFGenerated() {
			s.cfg.Count(CountUnprinted, provider.Code)
		}
	}
	confirmed.Checkout = stored
	confirmed.AgreementID = stored.AgreementID(s.cfg.Environment, stored.Confirmation.AgreementNumber)
	return confirmed, nil
}

type confirmCall struct {
	*Service
	provider catalogue.Provider
	cmd      checkout.Confirm
}

// run confirms the checkout that was read, and returns it as it is then. The error of a repeat is checkout.ErrAlreadyConfirmed. In this
// process one confirm of a checkout at a time renders its agreement.
func (c *confirmCall) run(ctx context.Context, stored checkout.Checkout) (checkout.Checkout, error) {
	waiting, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	unlock, waited, err := c.confirming.lock(waiting, stored.ID)
	if err != nil {
		return stored, checkout.Busy()
	}
	defer unlock()
	for n := range attempts(ctx) {
		if n > 0 || waited {
			if stored, err = c.cfg.Store.Checkout(ctx, stored.ID); err != nil {
				return stored, c.fail(ctx, "read checkout", err)
			}
		}
		switch stored, err = c.conclude(ctx, stored); {
		case errors.Is(err, checkout.ErrOutdated): // another direct debit than was printed
		case errors.Is(err, ports.ErrDuplicate): // the agreement's number is taken
		default:
			return stored, err
		}
	}
	return stored, checkout.Busy()
}

// conclude makes one attempt to confirm the checkout that was read: it asks the processor about its setup, prepares the agreement, decides
// and stores the change. It returns the checkout that the outcome is about.
func (c *confirmCall) conclude(ctx context.Context, stored checkout.Checkout) (checkout.Checkout, error) {
	if err := c.cmd.Match(stored, c.cfg.Environment, c.cfg.Keyring.LatestText(stored)); err != nil {
		return stored, err
	}
	if stored.Setup.BillingRequestID != "" {
		seen, err := c.observe(ctx, stored, processorLimit)
		if err != nil { // whether the mandate is alive is not known
			c.report(ctx, Failure{Operation: OperationObserve, Severity: Error, About: stored.About(), Err: err})
			return stored, checkout.Busy()
		}
		if stored, err = c.storeObservation(ctx, stored, seen); err != nil {
			return stored, err
		}
	}
	if err := c.cmd.Ready(stored, c.cfg.Environment, c.cfg.Keyring.LatestText(stored)); err != nil {
		return stored, err
	}
	prepared, err := c.prepare(ctx, stored)
	if err != nil {
		return stored, err
	}
	change, err := c.update(ctx, c.provider, stored, direct, func(latest checkout.Checkout) (checkout.Change, error) {
		stored = latest
		return c.cmd.Decide(latest, c.cfg.Keyring.LatestText(latest), prepared)
	})
	if err != nil {
		return stored, err
	}
	return change.Next, nil
}

// prepare renders the agreement. If that fails twice, the failures are reported and the confirm goes on without a PDF: a name with a
// character that no font has must not stop a payer. If the printer is busy the confirm is refused instead, and may be sent again.
func (c *confirmCall) prepare(ctx context.Context, stored checkout.Checkout) (p checkout.Prepared, err error) {
	terms, err := c.termsOf(ctx, c.provider)
	if err != nil {
		return p, err
	}
	var entropy [8]byte
	if _, err := io.ReadFull(c.cfg.Rand, entropy[:]); err != nil {
		return p, fmt.Errorf("generate an agreement number: %w", err)
	}
	now := c.now()
	today := money.DateOf(now.In(c.zone))
	p = checkout.Prepared{Environment: c.cfg.Environment, Now: now, Agreement: c.cmd.Agreement(stored, checkout.AgreementFacts{
		Environment: c.cfg.Environment, Provider: c.provider, Terms: terms, Number: agreement.NewNumber(today.Year, entropy), Now: now,
		SignedBy: c.cfg.Printer.SignedBy(),
		Today:    today})}
	for attempt := 1; attempt <= printAttempts; attempt++ {
		var pdf []byte
		err := within(ctx, printTimeout, func(ctx context.Context) (err error) {
			pdf, err = c.cfg.Printer.Print(ctx, p.Agreement)
			return err
		})
		switch {
		case err == nil:
			p.Document = &agreement.Document{SHA256: sha256.Sum256(pdf), Bytes: pdf}
			return p, nil
		case errors.Is(err, ports.ErrBusy):
			return p, c.fail(ctx, "render agreement "+p.Agreement.Number, err)
		}
		c.report(ctx, Failure{Operation: OperationPrint, Severity: Error, About: stored.About(), Attempt: attempt,
			Err: fmt.Errorf("render agreement %s: %w", p.Agreement.Number, err)})
	}
	p.Agreement.SignedBy = ""
	return p, nil
}
