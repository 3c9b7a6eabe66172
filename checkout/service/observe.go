package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// observationLife is how long an answer of the processor is cached: it is asked no more often, however many callers
// poll a checkout.
const observationLife = 2 * time.Second

// Checkout returns the caller's checkout, with its setup as the processor reports it within Config.PollTimeout.
// The refusals are PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, CHECKOUT_NOT_FOUND and BUSY.
func (s *Service) Checkout(ctx context.Context, caller Caller, id string) (c checkout.Checkout, err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	if _, err := s.admit(ctx, caller, checkout.Optional[string]{}); err != nil {
		return checkout.Checkout{}, err
	}
	stored, err := s.owned(ctx, caller, id)
	if err != nil {
		return stored, err
	}
	fresh, err := s.refresh(ctx, stored, s.observeCached)
	if err != nil { // a stale answer is better than none
		s.report(ctx, Failure{Operation: OperationObserve, Severity: Warning, CheckoutID: id, Err: err})
		return stored, nil
	}
	return fresh, nil
}

// Refresh asks the processor about a checkout's setup now, without a caller and without a cache, and stores what is
// new. It is for the receiver of a processor's notifications, which must not acknowledge one unless this succeeds. It
// waits at most Config.ProcessorTimeout for the processor. The only refusals are CHECKOUT_NOT_FOUND and BUSY.
func (s *Service) Refresh(ctx context.Context, checkoutID string) (checkout.Checkout, error) {
	return s.refreshFound(ctx, func(ctx context.Context) (checkout.Checkout, error) {
		return s.cfg.Store.Checkout(ctx, checkoutID)
	})
}

// RefreshBillingRequest is Refresh for the checkout whose latest billing request has this id at the processor.
func (s *Service) RefreshBillingRequest(ctx context.Context, id string) (checkout.Checkout, error) {
	return s.refreshFound(ctx, func(ctx context.Context) (checkout.Checkout, error) {
		return s.cfg.Store.CheckoutByBillingRequest(ctx, id)
	})
}

// RefreshMandate is Refresh for the checkout whose latest mandate has this id at the processor.
func (s *Service) RefreshMandate(ctx context.Context, id string) (checkout.Checkout, error) {
	return s.refreshFound(ctx, func(ctx context.Context) (checkout.Checkout, error) {
		return s.cfg.Store.CheckoutByMandate(ctx, id)
	})
}

func (s *Service) refreshFound(ctx context.Context,
	read func(context.Context) (checkout.Checkout, error)) (c checkout.Checkout, err error) {
	defer recovered(&err)
	ctx, cancel := detached(ctx, waitLimit+s.cfg.ProcessorTimeout)
	defer cancel()
	stored, err := found(read(ctx))
	switch {
	case err != nil:
		return checkout.Checkout{}, s.fail(ctx, "read checkout", err)
	case stored == nil:
		return checkout.Checkout{}, checkout.CheckoutNotFound()
	}
	return s.refresh(ctx, *stored, s.observe)
}

// observe asks the processor about the setup of a checkout.
func (s *Service) observe(ctx context.Context, c checkout.Checkout) (checkout.Observation, error) {
	return s.observeWithin(ctx, c, s.cfg.ProcessorTimeout)
}

// observeCached returns the cached answer of the processor, or asks. Of several callers at once one asks, and the
// others wait for the answer.
func (s *Service) observeCached(ctx context.Context, c checkout.Checkout) (checkout.Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.PollTimeout)
	defer cancel()
	unlock, err := s.observing.lock(ctx, c.Setup.BillingRequestID)
	if err != nil {
		return checkout.Observation{}, fmt.Errorf("wait for the answer to another: %w", err)
	}
	defer unlock()
	return s.observed.get(s.now(), c.Setup.BillingRequestID, func() (checkout.Observation, error) {
		return s.observeWithin(ctx, c, s.cfg.PollTimeout)
	})
}

func (s *Service) observeWithin(ctx context.Context, c checkout.Checkout, limit time.Duration) (seen checkout.Observation, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	account, err := s.account(ctx, c.ProviderCode)
	if err != nil {
		return seen, err
	}
	return s.cfg.Processor.Observe(ctx, account, c.Setup)
}

// account returns the account of the provider whose setup the processor is asked about. A provider that was removed has
// no account id any more.
func (s *Service) account(ctx context.Context, providerCode string) (ports.Account, error) {
	account := ports.Account{ProviderCode: providerCode, Environment: s.cfg.Environment}
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
		return stored, fmt.Errorf("observe the setup of %s: %w", stored.ID, err)
	}
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
	change, err := s.update(ctx, id, ports.Enqueue{}, func(c checkout.Checkout) (checkout.Change, error) {
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
		s.call(ctx, id, func() { hook(ctx, change.Next) })
	}
	return change.Next, err
}
