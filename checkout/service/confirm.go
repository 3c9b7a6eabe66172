package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
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

// Confirm confirms the caller's checkout with this id (section 3). It takes up to twenty seconds, and up to 35 more while its
// events are delivered. The refusals are
// PROVIDER_KEY_MISMATCH, PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR, CHECKOUT_NOT_FOUND, CONFLICT,
// CHECKOUT_ERASED, DIRECT_DEBIT_SETUP_INCOMPLETE and BUSY.
// Where the command has no RequestID, one is made.
func (s *Service) Confirm(ctx context.Context, caller Caller, id string, cmd checkout.Confirm) (confirmed Confirmed, err error) {
	ctx = withSubject(ctx)
	defer func() { s.Refused(ctx, caller, id, cmd.RequestID, err) }()
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
	cmd.Actor = checkout.ProviderActor(caller.KeyID)
	storing, cancel := detached(ctx, waitLimit+printAttempts*printTimeout)
	defer cancel()
	confirmed, done, err := s.confirm(storing, caller, provider, id, cmd)
	s.countConfirm(len(done.change.Events) > 0, err)
	s.announce(ctx, done)
	return confirmed, err
}

// confirm answers a repeat at once. Otherwise it holds a lock on the checkout while it confirms it, so
// that its agreement is rendered once. What it returns beside the answer is what this call has committed.
func (s *Service) confirm(ctx context.Context, caller Caller, provider catalogue.Provider, id string,
	cmd checkout.Confirm) (Confirmed, advanced, error) {
	stored, err := s.matching(ctx, caller, id, cmd)
	if errors.Is(err, checkout.ErrAlreadyConfirmed) {
		return Confirmed{Checkout: stored, Already: true}, advanced{}, nil
	} else if err != nil && !errors.Is(err, checkout.ErrCompleting) {
		return Confirmed{}, advanced{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	unlock, err := s.confirming.lock(waiting, id)
	if err != nil {
		return Confirmed{}, advanced{}, checkout.Busy()
	}
	defer unlock()
	concluded := "" // the number of the agreement that this call has concluded
	for range attempts(ctx) {
		stored, done, err := s.conclude(ctx, caller, provider, id, cmd)
		if a := done.change.Agreement; a != nil {
			concluded = a.Number
		}
		switch {
		case err == nil:
			done, err = s.attemptHeld(ctx, done)
		case errors.Is(err, checkout.ErrCompleting):
			done, err = s.await(ctx, checkout.JobComplete, stored, provider)
		}
		switch {
		case err == nil:
			c := done.change.Next
			return Confirmed{Checkout: c, Already: c.Confirmation.AgreementNumber != concluded}, done, nil
		case errors.Is(err, checkout.ErrAlreadyConfirmed): // by any process: no other call has answered that it is new
			return Confirmed{Checkout: stored, Already: stored.Confirmation.AgreementNumber != concluded}, advanced{}, nil
		case errors.Is(err, checkout.ErrOutdated): // prepare it again, with the direct debit as it is now
		case errors.Is(err, ports.ErrDuplicate): // or with another number
		case errors.Is(err, errAwaiting): // the CRM
		default:
			return Confirmed{}, advanced{}, err
		}
	}
	return Confirmed{}, advanced{}, checkout.Busy()
}

// conclude makes one attempt at a confirm: it reads the checkout, asks the processor about its setup, prepares the
// agreement, decides for good, and stores the change. A CRM that does not answer within the commit has yet to complete the
// enrolment then.
func (s *Service) conclude(ctx context.Context, caller Caller, provider catalogue.Provider, id string,
	cmd checkout.Confirm) (checkout.Checkout, advanced, error) {
	stored, err := s.matching(ctx, caller, id, cmd)
	if err != nil {
		return stored, advanced{}, err
	}
	if stored.Setup.BillingRequestID != "" {
		seen, err := s.observeFor(checkout.ForConfirm)(ctx, stored)
		if err != nil { // whether the mandate is alive is not known
			s.report(ctx, Failure{Operation: OperationObserve, Severity: Error, About: aboutCheckout(stored), Err: err})
			return stored, advanced{}, checkout.Busy()
		}
		if stored, err = s.storeObservation(ctx, stored, seen); err != nil {
			return stored, advanced{}, err
		}
	}
	if err := cmd.Ready(stored, s.cfg.Keyring.LatestText(stored)); err != nil {
		return stored, advanced{}, err
	}
	agreed, err := s.agreed(ctx, stored, cmd)
	if err != nil {
		return stored, advanced{}, err
	}
	prepared, err := s.prepare(ctx, provider, stored, cmd, agreed)
	if err != nil {
		return stored, advanced{}, err
	}
	latest, held := stored, s.enqueue(provider, holdLimit)
	change, err := s.update(ctx, id, held, func(c checkout.Checkout) (checkout.Change, error) {
		latest = c
		change, err := cmd.Decide(c, s.cfg.Keyring.LatestText(c), prepared)
		if err != nil {
			return change, err
		}
		return s.withinCommit(change)
	})
	if err != nil {
		return latest, advanced{}, err
	}
	return latest, advanced{change: change, agreement: change.Agreement, provider: provider, until: held.Now.Add(held.Hold)}, nil
}

// matching returns the caller's checkout if this confirm is for it. The error is checkout.ErrAlreadyConfirmed for a repeat,
// and checkout.ErrCompleting while the CRM has to complete the enrolment.
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
	cmd checkout.Confirm, agreed ports.Agreed) (prepared checkout.Prepared, err error) {
	number := agreed.Number
	cmd.FirstPayment = checkout.Some(agreed.FirstPayment)
	prepared = checkout.Prepared{
		Environment: s.cfg.Environment,
		Now:         s.now(),
		Agreement: cmd.Agreement(stored, checkout.Agreed{Environment: s.cfg.Environment, Provider: provider, Terms: s.cfg.Terms,
			Number: number, Now: agreed.AcceptedAt, Today: money.DateOf(agreed.AcceptedAt.In(s.zone))}),
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
		s.report(ctx, Failure{Operation: OperationPrint, Severity: Error, About: aboutCheckout(stored), Attempt: attempt,
			Err: fmt.Errorf("render agreement %s: %w", number, err)})
	}
	prepared.Evidence, err = s.evidence(prepared, cmd.RequestID)
	return prepared, err
}

// evidence returns the entry of the evidence log of what is to be concluded.
func (s *Service) evidence(p checkout.Prepared, requestID string) (evidence.Entry, error) {
	c := evidence.Conclusion{Environment: string(s.cfg.Environment), RequestID: requestID, At: p.Now, Document: p.Document}
	if _, err := io.ReadFull(s.cfg.Rand, c.Salt[:]); err != nil {
		return evidence.Entry{}, fmt.Errorf("salt the evidence: %w", err)
	}
	return s.cfg.Keyring.Attest(evidence.OfAgreement(p.Agreement, c)), nil
}

// agreed returns what the agreement is concluded as: with a new number now; or, where the store was restored to an earlier
// moment than the CRM outside of it, as the CRM has it on record.
func (s *Service) agreed(ctx context.Context, stored checkout.Checkout, cmd checkout.Confirm) (ports.Agreed, error) {
	before, err := s.agreedInCRM(ctx, stored)
	if err != nil || before != nil {
		return *cmp.Or(before, &ports.Agreed{}), err
	}
	var entropy [8]byte
	if _, err := io.ReadFull(s.cfg.Rand, entropy[:]); err != nil {
		return ports.Agreed{}, fmt.Errorf("generate an agreement number: %w", err)
	}
	now := s.now()
	return ports.Agreed{Number: agreement.NewNumber(now.In(s.zone).Year(), entropy), AcceptedAt: now,
		FirstPayment: cmd.FirstPayment.Value}, nil
}

// print makes one attempt.
func (s *Service) print(ctx context.Context, a agreement.Agreement) (pdf []byte, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, printTimeout)
	defer cancel()
	return s.cfg.Printer.Print(ctx, a)
}
