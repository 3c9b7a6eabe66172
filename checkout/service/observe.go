package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Checkout returns the caller's checkout, with its setup as the processor reports it within Config.PollTimeout.
// The refusals are PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, CHECKOUT_NOT_FOUND, CHECKOUT_ERASED and BUSY.
func (s *Service) Checkout(ctx context.Context, caller Caller, id string) (c checkout.Checkout, err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(withSubject(ctx))
	defer cancel()
	if _, err := s.admit(ctx, caller, checkout.Optional[string]{}); err != nil {
		return checkout.Checkout{}, err
	}
	stored, err := s.owned(ctx, caller, id)
	if err != nil {
		return stored, err
	}
	if err := stored.Available(); err != nil {
		return checkout.Checkout{}, err
	}
	return s.refreshForPoll(ctx, stored), nil
}

// refreshForPoll returns the checkout with its setup as fresh as the processor answers within Config.PollTimeout. A
// stale answer is better than no answer. What a processor that notifies says is on record.
func (s *Service) refreshForPoll(ctx context.Context, stored checkout.Checkout) checkout.Checkout {
	if s.processor.Notifies {
		return stored
	}
	fresh, err := s.refresh(ctx, stored, s.observeForPoll)
	if err != nil {
		s.report(ctx, Failure{Operation: OperationObserve, Severity: Warning, About: aboutCheckout(stored), Err: err})
	}
	return fresh
}

// Refresh asks the processor about a checkout's setup now, without a caller and without a cache, and stores what is
// new. It is for the receiver of a processor's notifications, which must not acknowledge one unless this succeeds. It
// waits at most Config.ProcessorTimeout for the processor. The only refusals are CHECKOUT_NOT_FOUND and BUSY.
func (s *Service) Refresh(ctx context.Context, checkoutID string) (checkout.Checkout, error) {
	return s.refreshFound(ctx, func(ctx context.Context) (checkout.Checkout, error) {
		return s.cfg.Store.Checkout(ctx, checkoutID)
	})
}

// RefreshBillingRequest is Refresh for the checkout whose latest billing request has this id at the processor. It refuses
// with CHECKOUT_NOT_FOUND an id that a later try has replaced, or that is not ours: such a notification needs no repeat.
func (s *Service) RefreshBillingRequest(ctx context.Context, id string) (checkout.Checkout, error) {
	return s.refreshFound(ctx, func(ctx context.Context) (checkout.Checkout, error) {
		return s.cfg.Store.FindCheckout(ctx, checkout.Reference{BillingRequestID: id})
	})
}

// RefreshMandate is Refresh for the checkout whose latest mandate has this id at the processor. It refuses with
// CHECKOUT_NOT_FOUND a mandate that no observation has brought yet: the billing request's notification brings it.
func (s *Service) RefreshMandate(ctx context.Context, id string) (checkout.Checkout, error) {
	return s.refreshFound(ctx, func(ctx context.Context) (checkout.Checkout, error) {
		return s.cfg.Store.FindCheckout(ctx, checkout.Reference{MandateID: id})
	})
}

func (s *Service) refreshFound(ctx context.Context,
	read func(context.Context) (checkout.Checkout, error)) (c checkout.Checkout, err error) {
	defer recovered(&err)
	ctx, cancel := detached(withSubject(ctx), waitLimit+s.cfg.ProcessorTimeout)
	defer cancel()
	stored, err := found(read(ctx))
	switch {
	case err != nil:
		return checkout.Checkout{}, s.fail(ctx, "read checkout", err)
	case stored == nil, stored.Status == checkout.Reserved:
		return checkout.Checkout{}, checkout.CheckoutNotFound()
	}
	concerns(ctx, aboutCheckout(*stored))
	return s.refresh(ctx, *stored, s.observeFor(checkout.ForNotification))
}

// observeFor returns a function that asks the processor about the setup of a checkout, for a purpose.
func (s *Service) observeFor(purpose checkout.Purpose) func(context.Context, checkout.Checkout) (checkout.Observation, error) {
	return func(ctx context.Context, c checkout.Checkout) (checkout.Observation, error) {
		return s.observeWithin(ctx, c, purpose, s.cfg.ProcessorTimeout)
	}
}

// observeForPoll returns what the processor said of the setup just now, or asks.
func (s *Service) observeForPoll(ctx context.Context, c checkout.Checkout) (checkout.Observation, error) {
	answer := s.polled.get(ctx, s.now, c.Setup.BillingRequestID, func(ctx context.Context) (o observed) {
		o.seen, o.err = s.observeWithin(ctx, c, checkout.ForPoll, s.cfg.PollTimeout)
		return o
	})
	return answer.seen, answer.err
}

// observeForPage is observeForPoll, but goes by no poll's answer: a payer who comes back from the processor must see what
// that led to, even if a poll asked a moment before. Polls go by its answers too. The page also says what kept the payer.
func (s *Service) observeForPage(ctx context.Context, c checkout.Checkout) observed {
	return s.viewed.get(ctx, s.now, c.Setup.BillingRequestID, func(ctx context.Context) (o observed) {
		ctx, cancel := context.WithTimeout(ctx, s.cfg.PollTimeout)
		defer cancel()
		o.seen, o.err = s.observeWithin(ctx, c, checkout.ForPayer, s.cfg.PollTimeout)
		if o.err == nil {
			s.polled.put(s.now(), c.Setup.BillingRequestID, o.seen)
			o.kept = s.setback(ctx, c.Observe(o.seen, s.now()).Next)
		}
		return o
	})
}

// setback returns what kept the payer from finishing, if the processor knows it. Without it the page says less.
func (s *Service) setback(ctx context.Context, c checkout.Checkout) checkout.Setback {
	finder, ok := s.cfg.Processor.(ports.SetbackFinder)
	if !ok || !c.Setup.Unexplained() {
		return checkout.NoSetback
	}
	kept, err := s.askSetback(ctx, finder, c)
	if err != nil {
		s.report(ctx, Failure{Operation: OperationObserve, Severity: Warning, About: aboutCheckout(c), Err: err})
	}
	return kept
}

func (s *Service) askSetback(ctx context.Context, finder ports.SetbackFinder, c checkout.Checkout) (kept checkout.Setback, err error) {
	defer func() {
		if err != nil {
			kept, err = checkout.NoSetback, fmt.Errorf("ask what kept the payer of %s: %w", c.ID, err)
		}
	}()
	defer recovered(&err)
	account, err := s.account(ctx, c.ProviderCode)
	if err != nil {
		return checkout.NoSetback, err
	}
	return finder.Setback(ctx, checkout.SetupQuery{Account: account, Setup: c.Setup, Purpose: checkout.ForPayer})
}

func (s *Service) observeWithin(ctx context.Context, c checkout.Checkout, purpose checkout.Purpose,
	limit time.Duration) (seen checkout.Observation, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("observe the setup of %s: %w", c.ID, err)
		}
	}()
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	account, err := s.account(ctx, c.ProviderCode)
	if err != nil {
		return seen, err
	}
	return s.cfg.Processor.Observe(ctx, checkout.SetupQuery{Account: account, Setup: c.Setup, Purpose: purpose})
}

// account returns the account of the provider whose setup the processor is asked about. A provider that was removed has
// no account id any more.
func (s *Service) account(ctx context.Context, providerCode string) (checkout.Account, error) {
	account := checkout.Account{ProviderCode: providerCode, Environment: s.cfg.Environment}
	p, err := found(s.configured.provider(ctx, s.now(), providerCode))
	if err != nil {
		return account, fmt.Errorf("read provider %s: %w", providerCode, err)
	}
	if p != nil {
		account.ID = p.AccountID
	}
	return account, nil
}

// refresh returns the checkout with what ask learns of its setup, and stores what is new. With an error it returns the
// checkout as it was.
func (s *Service) refresh(ctx context.Context, stored checkout.Checkout,
	ask func(context.Context, checkout.Checkout) (checkout.Observation, error)) (checkout.Checkout, error) {
	if stored.Setup.BillingRequestID == "" {
		return stored, nil
	}
	seen, err := ask(ctx, stored)
	if err != nil {
		return stored, err
	}
	return s.storeObservation(ctx, stored, seen)
}

// storeObservation stores what the processor said of a checkout's setup, if that is new.
func (s *Service) storeObservation(ctx context.Context, stored checkout.Checkout, seen checkout.Observation) (checkout.Checkout, error) {
	now := s.now()
	if stored.Observe(seen, now).Next.Setup == stored.Setup {
		return stored, nil
	}
	fresh, err := s.updateSetup(ctx, stored.ID, func(c checkout.Checkout) checkout.Change {
		if c.Setup.BillingRequestID != stored.Setup.BillingRequestID {
			return checkout.Change{Next: c} // the payer has begun another try meanwhile
		}
		return c.Observe(seen, now)
	})
	if err != nil {
		return stored, err
	}
	return fresh, nil
}

// errNothingNew ends an update that would change nothing.
var errNothingNew = errors.New("nothing is new")

// updateSetup stores what decide makes of a checkout's setup if that changes it, and calls the hook.
func (s *Service) updateSetup(ctx context.Context, id string, decide func(checkout.Checkout) checkout.Change) (checkout.Checkout, error) {
	change, err := s.update(ctx, id, checkout.Enqueue{Now: s.now()}, func(c checkout.Checkout) (checkout.Change, error) {
		change := decide(c)
		if change.Next.Setup == c.Setup {
			return change, errNothingNew
		}
		return change, nil
	})
	switch hook := s.cfg.Hooks.SetupChanged; {
	case errors.Is(err, errNothingNew):
		err = nil
	case err == nil && hook != nil:
		s.call(ctx, func() { hook(ctx, change.Next) })
	}
	return change.Next, err
}
