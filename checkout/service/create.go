package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// retryStep is how much longer a create waits each time that another one comes between.
const retryStep = 10 * time.Millisecond

// Opened is the answer to a create.
type Opened struct {
	Checkout       checkout.Checkout
	Replay         bool
	IdempotencyKey string // of this request; only on a replay
	SetupURL       string // "" once the checkout is confirmed, like Token
	Token          string
}

// Create opens a checkout, or finds the one that the same order opened before (section 4). It
// takes up to ten seconds, and up to 35 more while its event is delivered. The refusals are
// CodeKeyMismatch, CodeProviderUnknown, CodeProviderNotEnabled, CodeInvalid, CodeIntentConflict and CodeBusy.
// Where the command has no RequestID, one is made.
func (s *Service) Create(ctx context.Context, caller Caller, cmd checkout.Create) (Opened, error) {
	provider, err := s.admit(ctx, caller, cmd.ProviderCode)
	if err != nil {
		return Opened{}, err
	}
	if err := cmd.Check(provider.Mode); err != nil {
		return Opened{}, err
	}
	if cmd.RequestID, err = s.requestID(cmd.RequestID); err != nil {
		return Opened{}, err
	}
	storing, cancel := lasting(ctx, waitLimit)
	defer cancel()
	opened, err := s.create(storing, provider, cmd)
	s.countCreate(opened, err)
	if err != nil {
		return Opened{}, err
	}
	if !opened.Replay {
		s.deliver(ctx, provider, opened.Checkout.ID, events.CheckoutCreated)
	}
	return opened, nil
}

// create replays the order's checkout, or opens one. An order that was not seen lately is most
// likely new, and storing its checkout says so for sure: it is looked up only if that fails,
// for whatever reason, since an order on record is answered from the record.
func (s *Service) create(ctx context.Context, provider catalogue.Provider, cmd checkout.Create) (Opened, error) {
	name := provider.Code + ":" + cmd.OrderID.Value
	look := s.orders.has(name)
	s.orders.add(name)
	for wait := time.Duration(0); pause(ctx, wait) == nil; wait += retryStep {
		if look {
			stored, err := s.find(ctx, cmd)
			if err == nil {
				return s.replay(ctx, provider, stored, cmd)
			}
			if !errors.Is(err, ports.ErrNotFound) {
				return Opened{}, err
			}
		}
		opened, err := s.open(ctx, provider, cmd)
		if err == nil || look && !errors.Is(err, ports.ErrDuplicate) {
			return opened, err
		}
		if !look {
			look, wait = true, -retryStep // at once
		}
	}
	return Opened{}, busy()
}

// find returns the checkout of the command's order, or ports.ErrNotFound. An idempotency key that
// belongs to another order is refused.
func (s *Service) find(ctx context.Context, cmd checkout.Create) (checkout.Checkout, error) {
	provider, order := cmd.ProviderCode.Value, cmd.OrderID.Value
	if cmd.IdempotencyKey.OK {
		bound, err := s.cfg.Store.CheckoutByKey(ctx, provider, cmd.IdempotencyKey.Value)
		switch {
		case err == nil && bound.OrderID != order:
			return checkout.Checkout{}, checkout.KeyTaken()
		case err == nil:
			return bound, nil
		case !errors.Is(err, ports.ErrNotFound):
			return checkout.Checkout{}, s.fail(ctx, "look up the idempotency key", err)
		}
	}
	stored, err := s.cfg.Store.CheckoutByOrder(ctx, provider, order)
	if err != nil && !errors.Is(err, ports.ErrNotFound) {
		err = s.fail(ctx, "look up the order", err)
	}
	return stored, err
}

// replay answers a create whose order is on record.
func (s *Service) replay(ctx context.Context, provider catalogue.Provider, stored checkout.Checkout,
	cmd checkout.Create) (Opened, error) {
	want, err := s.intentAgain(ctx, provider, stored, cmd)
	if err != nil {
		return Opened{}, err
	}
	if err := checkout.Replay(stored, want); err != nil {
		return Opened{}, err
	}
	now := s.now()
	if stored.Status != checkout.Confirmed && !stored.TokenFresh(s.cfg.Keyring, now) {
		stored, err = s.update(ctx, stored.ID, ports.Queued{}, func(c checkout.Checkout) (checkout.Change, error) {
			return c.Renew(s.cfg.Keyring, now, s.cfg.SetupLifetime), nil
		})
		if err != nil {
			return Opened{}, err
		}
	}
	answer := s.withSetup(Opened{Checkout: stored, Replay: true, IdempotencyKey: cmd.IdempotencyKey.Value})
	if !cmd.IdempotencyKey.OK {
		answer.IdempotencyKey = stored.ProviderCode + ":" + stored.OrderID
	}
	return answer, nil
}

func (s *Service) intentAgain(ctx context.Context, provider catalogue.Provider, stored checkout.Checkout,
	cmd checkout.Create) (checkout.Intent, error) {
	if provider.Mode == catalogue.Authoritative {
		if want, ok, err := cmd.ResolveAgain(stored); ok {
			return want, err
		}
	}
	return s.intent(ctx, provider, cmd)
}

// intent returns what the command means, as the provider's catalogue resolves it where there is one.
func (s *Service) intent(ctx context.Context, provider catalogue.Provider, cmd checkout.Create) (checkout.Intent, error) {
	if provider.Mode != catalogue.Authoritative {
		return cmd.Intent(), nil
	}
	course, err := s.configured.course(ctx, s.now(), provider.Code, cmd.CourseCode.Value)
	if errors.Is(err, ports.ErrNotFound) {
		return checkout.Intent{}, cmd.UnknownCourse()
	}
	if err != nil {
		return checkout.Intent{}, s.fail(ctx, "read the course", err)
	}
	return cmd.Resolve(course, s.cfg.Environment)
}

// open stores a new checkout. It returns ports.ErrDuplicate if the order or the key has one.
func (s *Service) open(ctx context.Context, provider catalogue.Provider, cmd checkout.Create) (Opened, error) {
	intent, err := s.intent(ctx, provider, cmd)
	if err != nil {
		return Opened{}, err
	}
	var entropy [10]byte
	if _, err := io.ReadFull(s.cfg.Rand, entropy[:]); err != nil {
		return Opened{}, fmt.Errorf("draw a checkout id: %w", err)
	}
	now := s.now()
	change := cmd.Open(intent, checkout.Opening{
		ID:          checkout.NewID(provider.Code, now, entropy),
		Now:         now,
		Environment: s.cfg.Environment,
		Token:       s.cfg.Keyring.Issue(1, now.Add(s.cfg.SetupLifetime)),
	})
	err = s.cfg.Store.InsertCheckout(ctx, change, queue(provider, now))
	if errors.Is(err, ports.ErrDuplicate) {
		return Opened{}, err
	}
	if err != nil {
		return Opened{}, s.fail(ctx, "store checkout "+change.Next.ID, err)
	}
	return s.withSetup(Opened{Checkout: change.Next}), nil
}

// queue says how the events of a change of this provider's checkout are stored.
func queue(provider catalogue.Provider, now time.Time) ports.Queued {
	if !provider.Destination.Configured() {
		return ports.Queued{Status: events.NotConfigured}
	}
	return ports.Queued{Status: events.Pending, Until: now.Add(ownership)}
}

// withSetup adds the address and the token of the setup page while there is one to open.
func (s *Service) withSetup(o Opened) Opened {
	if o.Checkout.Status == checkout.Confirmed {
		return o
	}
	o.Token = s.tokenText(o.Checkout)
	o.SetupURL = s.pageURL(o.Token)
	return o
}

// tokenText returns the latest token of a checkout, or "" if its secret is gone.
func (s *Service) tokenText(c checkout.Checkout) string {
	text, _ := s.cfg.Keyring.Text(c.ID, c.Latest())
	return text
}

// update stores what decide makes of a checkout, and returns it.
func (s *Service) update(ctx context.Context, id string, q ports.Queued,
	decide func(checkout.Checkout) (checkout.Change, error)) (checkout.Checkout, error) {
	var next checkout.Checkout
	err := s.cfg.Store.UpdateCheckout(ctx, id, q, func(c checkout.Checkout) (checkout.Change, error) {
		change, err := decide(c)
		next = change.Next
		return change, err
	})
	switch {
	case err == nil:
		return next, nil
	case errors.As(err, new(*checkout.Error)),
		errors.Is(err, checkout.ErrAlreadyConfirmed), errors.Is(err, checkout.ErrOvertaken):
		return next, err
	}
	return next, s.fail(ctx, "update checkout "+id, err)
}
