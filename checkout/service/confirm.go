package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	printTries = 2
	printLimit = 5 * time.Second // for one try
)

// Confirmed is the answer to a confirm.
type Confirmed struct {
	Checkout checkout.Checkout
	Already  bool // it was confirmed before; nothing happened now
}

// Confirm confirms the caller's checkout (section 3). It takes up to twenty seconds, and up to 35
// more while its events are delivered. The refusals are CodeKeyMismatch, CodeProviderUnknown,
// CodeProviderNotEnabled, CodeInvalid, CodeCheckoutUnknown, CodeConflict, CodeSetupIncomplete and CodeBusy.
// Where the command has no RequestID, one is made.
func (s *Service) Confirm(ctx context.Context, caller Caller, cmd checkout.Confirm) (Confirmed, error) {
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
	whole := ctx
	ctx, cancel := lasting(ctx, waitLimit+printTries*printLimit)
	defer cancel()
	confirmed, err := s.confirm(ctx, caller, provider, cmd)
	s.countConfirm(confirmed, err)
	if err != nil {
		return Confirmed{}, err
	}
	if !confirmed.Already {
		names := []events.Name{events.CheckoutConfirmed}
		if confirmed.Checkout.Confirmation.PDFGenerated() {
			names = append(names, events.AgreementGenerated)
		}
		s.deliver(whole, provider, confirmed.Checkout.ID, names...)
	}
	return confirmed, nil
}

// confirm answers a repeat at once, and otherwise confirms at most once at a time for each checkout, so
// that its agreement is drawn once.
func (s *Service) confirm(ctx context.Context, caller Caller, provider catalogue.Provider,
	cmd checkout.Confirm) (Confirmed, error) {
	if stored, err := s.matching(ctx, caller, cmd); errors.Is(err, checkout.ErrAlreadyConfirmed) {
		return Confirmed{Checkout: stored, Already: true}, nil
	} else if err != nil {
		return Confirmed{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	unlock, err := s.confirming.lock(waiting, cmd.PathID)
	if err != nil {
		return Confirmed{}, busy()
	}
	defer unlock()
	for ctx.Err() == nil {
		stored, err := s.confirmable(ctx, caller, cmd)
		if errors.Is(err, checkout.ErrAlreadyConfirmed) {
			return Confirmed{Checkout: stored, Already: true}, nil
		}
		if err != nil {
			return Confirmed{}, err
		}
		done, err := s.conclude(ctx, provider, stored, cmd)
		if err != nil {
			return Confirmed{}, err
		}
		next, err := s.update(ctx, stored.ID, queue(provider, s.now()),
			func(c checkout.Checkout) (checkout.Change, error) {
				return cmd.Conclude(c, s.tokenText(c), done)
			})
		switch {
		case err == nil:
			return Confirmed{Checkout: next}, nil
		case !errors.Is(err, checkout.ErrAlreadyConfirmed) && !errors.Is(err, checkout.ErrOvertaken):
			return Confirmed{}, err
		}
	}
	return Confirmed{}, busy()
}

// confirmable returns the checkout if this confirm is for it and its setup, as the processor has it
// now, allows it. It returns the checkout with checkout.ErrAlreadyConfirmed for a repeat.
func (s *Service) confirmable(ctx context.Context, caller Caller, cmd checkout.Confirm) (checkout.Checkout, error) {
	stored, err := s.matching(ctx, caller, cmd)
	if err != nil {
		return stored, err
	}
	fresh, err := s.refresh(ctx, stored, s.ask)
	if err != nil {
		s.cfg.Report(ctx, err)
		return stored, busy() // whether the mandate lives is not known
	}
	return fresh, fresh.Ready()
}

// matching returns the caller's checkout if this confirm is for it; with checkout.ErrAlreadyConfirmed
// for a repeat.
func (s *Service) matching(ctx context.Context, caller Caller, cmd checkout.Confirm) (checkout.Checkout, error) {
	stored, err := s.owned(ctx, caller, cmd.PathID)
	if err != nil {
		return stored, err
	}
	return stored, cmd.Match(stored, s.tokenText(stored))
}

// conclude draws the agreement. If it cannot be drawn the confirm goes on without its PDF, so
// that no payer is stuck on a letter; the operator is told. A printer that is busy is another thing: the same
// confirm may be sent again.
func (s *Service) conclude(ctx context.Context, provider catalogue.Provider, stored checkout.Checkout,
	cmd checkout.Confirm) (checkout.Conclusion, error) {
	sequence, err := s.cfg.Store.DrawNumber(ctx)
	if err != nil {
		return checkout.Conclusion{}, s.fail(ctx, "draw an agreement number", err)
	}
	now := s.now()
	today := money.DateOf(now.In(s.zone))
	number := agreement.Number(today.Year, sequence)
	agreed := cmd.Agree(stored, provider, s.cfg.Environment, number, now, today)
	agreed.Terms = s.cfg.Terms
	done := checkout.Conclusion{Environment: s.cfg.Environment, Agreement: agreed}
	for range printTries {
		pdf, err := s.print(ctx, done.Agreement)
		if err == nil {
			done.Document = &agreement.Document{
				ID:     checkout.NaturalKey(s.cfg.Environment, stored.ProviderCode, stored.OrderID, "document"),
				SHA256: sha256.Sum256(pdf),
				Bytes:  pdf,
			}
			break
		}
		if errors.Is(err, ports.ErrBusy) {
			return checkout.Conclusion{}, s.fail(ctx, "print agreement "+number, err)
		}
		s.cfg.Report(ctx, fmt.Errorf("print agreement %s of %s: %w", number, stored.ID, err))
	}
	return done, nil
}

// print makes one try. A printer should not panic; one that does must not stop a payer either.
func (s *Service) print(ctx context.Context, a agreement.Agreement) (pdf []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			pdf, err = nil, fmt.Errorf("the printer panicked: %v", v)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, printLimit)
	defer cancel()
	return s.cfg.Printer.Print(ctx, a)
}
