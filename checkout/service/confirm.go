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
	Checkout checkout.Checkout
	Already  bool // it was confirmed before; nothing happened now
}

// Confirm confirms the caller's checkout with this id (section 3). It takes up to twenty seconds, and up to 35
// more while its events are delivered. The refusals are PROVIDER_KEY_MISMATCH, PROVIDER_NOT_FOUND,
// PROVIDER_NOT_ENABLED, VALIDATION_ERROR, CHECKOUT_NOT_FOUND, CONFLICT, DIRECT_DEBIT_SETUP_INCOMPLETE and BUSY.
// Where the command has no RequestID, one is made.
func (s *Service) Confirm(ctx context.Context, caller Caller, id string, cmd checkout.Confirm) (confirmed Confirmed, err error) {
	defer recovered(&err)
	provider, err := s.admit(ctx, caller, cmd.ProviderCode)
	if err != nil {
		return Confirmed{}, err
	}
	if err := cmd.Check(); err != nil {
		return Confirmed{}, err
	}
	if cmd.RequestID, err = s.requestID(cmd.RequestID); err != nil {
		return Confirmed{}, err
	}
	storing, cancel := detached(ctx, waitLimit+printAttempts*printTimeout)
	defer cancel()
	confirmed, change, err := s.confirm(storing, caller, provider, id, cmd)
	s.countConfirm(confirmed, err)
	if err != nil {
		return Confirmed{}, err
	}
	if !confirmed.Already {
		if hook := s.cfg.Hooks.Confirmed; hook != nil {
			s.call(ctx, id, func() { hook(ctx, change.Next, *change.Agreement) })
		}
		s.deliver(ctx, provider, change.Events)
	}
	return confirmed, nil
}

// confirm answers a repeat at once. Otherwise it holds a lock on the checkout while it confirms it, so
// that its agreement is rendered once.
func (s *Service) confirm(ctx context.Context, caller Caller, provider catalogue.Provider, id string,
	cmd checkout.Confirm) (Confirmed, checkout.Change, error) {
	already := func(c checkout.Checkout) (Confirmed, checkout.Change, error) {
		return Confirmed{Checkout: c, Already: true}, checkout.Change{}, nil
	}
	if stored, err := s.matching(ctx, caller, id, cmd); errors.Is(err, checkout.ErrAlreadyConfirmed) {
		return already(stored)
	} else if err != nil {
		return Confirmed{}, checkout.Change{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	unlock, err := s.confirming.lock(waiting, id)
	if err != nil {
		return Confirmed{}, checkout.Change{}, checkout.Busy()
	}
	defer unlock()
	for range attempts(ctx) {
		stored, change, err := s.conclude(ctx, caller, provider, id, cmd)
		switch {
		case err == nil:
			return Confirmed{Checkout: change.Next}, change, nil
		case errors.Is(err, checkout.ErrAlreadyConfirmed):
			return already(stored)
		case errors.Is(err, checkout.ErrOutdated): // prepare it again, with the direct debit as it is now
		case errors.Is(err, ports.ErrDuplicate): // or with another number
		default:
			return Confirmed{}, checkout.Change{}, err
		}
	}
	return Confirmed{}, checkout.Change{}, checkout.Busy()
}

// conclude makes one attempt at a confirm: it reads the checkout, asks the processor about its setup, prepares the
// agreement, decides for good, and stores the change.
func (s *Service) conclude(ctx context.Context, caller Caller, provider catalogue.Provider, id string,
	cmd checkout.Confirm) (checkout.Checkout, checkout.Change, error) {
	stored, err := s.matching(ctx, caller, id, cmd)
	if err != nil {
		return stored, checkout.Change{}, err
	}
	if stored.Setup.BillingRequestID != "" {
		seen, err := s.observeFor(ports.ForConfirm)(ctx, stored)
		if err != nil { // whether the mandate is alive is not known
			s.report(ctx, Failure{Operation: OperationObserve, Severity: Error, CheckoutID: id, Err: err})
			return stored, checkout.Change{}, checkout.Busy()
		}
		if stored, err = s.storeObservation(ctx, stored, seen); err != nil {
			return stored, checkout.Change{}, err
		}
	}
	if err := cmd.Ready(stored, s.cfg.Keyring.LatestText(stored)); err != nil {
		return stored, checkout.Change{}, err
	}
	prepared, err := s.prepare(ctx, provider, stored, cmd)
	if err != nil {
		return stored, checkout.Change{}, err
	}
	latest := stored
	change, err := s.update(ctx, id, enqueue(provider, s.now()), func(c checkout.Checkout) (checkout.Change, error) {
		latest = c
		return cmd.Decide(c, s.cfg.Keyring.LatestText(c), prepared)
	})
	return latest, change, err
}

// matching returns the caller's checkout if this confirm is for it. The error is checkout.ErrAlreadyConfirmed for a repeat.
func (s *Service) matching(ctx context.Context, caller Caller, id string, cmd checkout.Confirm) (checkout.Checkout, error) {
	stored, err := s.owned(ctx, caller, id)
	if err != nil {
		return stored, err
	}
	return stored, cmd.Match(stored, s.cfg.Keyring.LatestText(stored))
}

// prepare renders the agreement. If that fails, the failure is reported and the confirm continues without a PDF: a name
// with a character that no font has must not block a payer. If the printer is busy the confirm is refused instead, and
// the same request may be sent again.
func (s *Service) prepare(ctx context.Context, provider catalogue.Provider, stored checkout.Checkout,
	cmd checkout.Confirm) (checkout.Prepared, error) {
	now := s.now()
	today := money.DateOf(now.In(s.zone))
	number, err := s.agreementNumber(today.Year)
	if err != nil {
		return checkout.Prepared{}, err
	}
	prepared := checkout.Prepared{
		Environment: s.cfg.Environment,
		Agreement: cmd.Agreement(stored, checkout.Agreed{Environment: s.cfg.Environment, Provider: provider,
			Terms: s.cfg.Terms, Number: number, Now: now, Today: today}),
	}
	for attempt := 1; attempt <= printAttempts; attempt++ {
		pdf, err := s.print(ctx, prepared.Agreement)
		if err == nil {
			prepared.Document = &agreement.Document{
				ID:     checkout.NaturalKey(s.cfg.Environment, stored.ProviderCode, stored.OrderID, "document"),
				SHA256: sha256.Sum256(pdf),
				Bytes:  pdf,
			}
			break
		}
		if errors.Is(err, ports.ErrBusy) {
			return checkout.Prepared{}, s.fail(ctx, "render agreement "+number, err)
		}
		s.report(ctx, Failure{Operation: OperationPrint, Severity: Error, CheckoutID: stored.ID, Attempt: attempt,
			Err: fmt.Errorf("render agreement %s: %w", number, err)})
	}
	return prepared, nil
}

func (s *Service) agreementNumber(year int) (string, error) {
	var entropy [8]byte
	if _, err := io.ReadFull(s.cfg.Rand, entropy[:]); err != nil {
		return "", fmt.Errorf("generate an agreement number: %w", err)
	}
	return agreement.NewNumber(year, entropy), nil
}

// print makes one attempt.
func (s *Service) print(ctx context.Context, a agreement.Agreement) (pdf []byte, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, printTimeout)
	defer cancel()
	return s.cfg.Printer.Print(ctx, a)
}
