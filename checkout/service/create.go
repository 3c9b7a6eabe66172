package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// recentOrders is how many orders are remembered as seen recently.
const recentOrders = 16384

// Opened is the answer to a create.
type Opened struct {
	Checkout       checkout.Checkout
	Replay         bool
	IdempotencyKey string // of this request, if it is a replay
	SetupURL       string // "" once the checkout is confirmed, like Token
	Token          string
	SentFinal      bool // the request has a final instalment: it is echoed, even if it equals the others
}

// Create opens a checkout, or finds the one that the same order opened before (section 4), with its setup as a poll
// finds it. It takes up to ten seconds, and up to 35 more while its event is delivered. The refusals are PROVIDER_KEY_MISMATCH,
// PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR, IDEMPOTENCY_CONFLICT and BUSY.
// Where the command has no RequestID, one is made.
func (s *Service) Create(ctx context.Context, caller Caller, cmd checkout.Create) (opened Opened, err error) {
	defer recovered(&err)
	provider, err := s.admit(ctx, caller, cmd.ProviderCode)
	if err != nil {
		return Opened{}, err
	}
	cmd = cmd.Normalized()
	invalid := cmd.Check(provider.Mode)
	if invalid != nil && cmd.Check(provider.Mode.Other()) != nil {
		return Opened{}, invalid
	}
	if cmd.RequestID, err = s.requestID(cmd.RequestID); err != nil {
		return Opened{}, err
	}
	storing, cancel := detached(ctx, waitLimit)
	defer cancel()
	opened, change, err := s.create(storing, provider, cmd, invalid)
	s.countCreate(opened, err)
	if err != nil {
		return Opened{}, err
	}
	if !opened.Replay {
		if hook := s.cfg.Hooks.Created; hook != nil {
			s.call(ctx, opened.Checkout.ID, func() { hook(ctx, opened.Checkout) })
		}
		s.deliver(ctx, provider, change.Events)
	}
	return opened, nil
}

// create replays the order's checkout, or opens one. An order that this process has not seen recently is most likely
// new, so the first attempt inserts its checkout without looking: the order is looked up only if it was seen recently,
// or if the first attempt failed for any reason. invalid is what is wrong with a command that only the other
// pricing mode allows: it can only be a replay.
func (s *Service) create(ctx context.Context, provider catalogue.Provider, cmd checkout.Create, invalid error) (Opened, checkout.Change, error) {
	name := checkout.DefaultKey(provider.Code, cmd.OrderID.Value)
	_, seen := s.recent.Get(name)
	s.recent.Put(name, struct{}{})
	for n := range attempts(ctx) {
		look := seen || n > 0
		opened, change, err := s.attempt(ctx, provider, cmd, invalid, look)
		switch {
		case errors.Is(err, ports.ErrDuplicate): // the order or the key was taken meanwhile
		case err == nil, look:
			return opened, change, err
		default: // the record may answer it
			s.report(ctx, Failure{Operation: OperationServe, Severity: Warning, Err: err})
		}
	}
	return Opened{}, checkout.Change{}, checkout.Busy()
}

// attempt makes one attempt at a create. If look is true it reads what is on record first. It returns
// ports.ErrDuplicate if the order or the key was taken meanwhile.
func (s *Service) attempt(ctx context.Context, provider catalogue.Provider, cmd checkout.Create, invalid error, look bool) (Opened, checkout.Change, error) {
	var on checkout.Existing
	var err error
	if look {
		if on, err = s.existing(ctx, cmd); err != nil {
			return Opened{}, checkout.Change{}, err
		}
	}
	mode := provider.Mode
	if invalid != nil {
		if mode = mode.Other(); on.ByOrder == nil || on.ByOrder.Mode() != mode {
			return Opened{}, checkout.Change{}, invalid
		}
	}
	now := s.now()
	want, unresolved := s.intent(ctx, provider, cmd, on.ByOrder, mode)
	fresh := func(c checkout.Checkout) bool { return c.TokenFresh(s.cfg.Keyring, now) }
	decision, err := cmd.Decide(on, want, unresolved, fresh)
	switch {
	case err != nil:
		return Opened{}, checkout.Change{}, err
	case decision == checkout.Open:
		return s.open(ctx, provider, cmd, want, now)
	}
	stored := *on.ByOrder
	if decision == checkout.ReplayRenews {
		change, err := s.update(ctx, stored.ID, ports.Enqueue{}, func(c checkout.Checkout) (checkout.Change, error) {
			return c.Renew(s.cfg.Keyring, now, s.cfg.SetupLifetime), nil
		})
		if err != nil {
			return Opened{}, checkout.Change{}, err
		}
		stored = change.Next
	}
	if stored.Status != checkout.Confirmed { // after which the answer is the same whatever the mandate does
		stored = s.refreshForPoll(ctx, stored)
	}
	return s.answer(stored, cmd, true), checkout.Change{}, nil
}

// existing returns what is on record that the command may be about.
func (s *Service) existing(ctx context.Context, cmd checkout.Create) (on checkout.Existing, err error) {
	provider, key := cmd.ProviderCode.Value, cmd.Key()
	if on.ByOrder, err = found(s.cfg.Store.CheckoutByOrder(ctx, provider, cmd.OrderID.Value)); err != nil {
		return on, s.fail(ctx, "look up the order", err)
	}
	if on.ByOrder != nil && on.ByOrder.IdempotencyKey == key {
		return on, nil
	}
	if on.ByKey, err = found(s.cfg.Store.CheckoutByKey(ctx, provider, key)); err != nil {
		return on, s.fail(ctx, "look up the idempotency key", err)
	}
	return on, nil
}

// intent returns what a command means that this pricing mode allows.
func (s *Service) intent(ctx context.Context, provider catalogue.Provider, cmd checkout.Create, stored *checkout.Checkout,
	mode catalogue.Mode) (checkout.Intent, error) {
	if mode == catalogue.Legacy {
		return cmd.Intent(), nil
	}
	if stored != nil {
		if want, ok, err := cmd.ResolveAgain(*stored); ok {
			return want, err
		}
	}
	course, err := found(s.configured.course(ctx, s.now(), provider.Code, cmd.CourseCode.Value))
	if err != nil {
		return checkout.Intent{}, s.fail(ctx, "read the course", err)
	}
	return cmd.Resolve(course, s.cfg.Environment)
}

// open stores a new checkout. It returns ports.ErrDuplicate if the order or the key has one.
func (s *Service) open(ctx context.Context, provider catalogue.Provider, cmd checkout.Create, intent checkout.Intent,
	now time.Time) (Opened, checkout.Change, error) {
	var entropy [10]byte
	if _, err := io.ReadFull(s.cfg.Rand, entropy[:]); err != nil {
		return Opened{}, checkout.Change{}, fmt.Errorf("generate a checkout id: %w", err)
	}
	change := cmd.Open(intent, checkout.Opening{
		ID:          checkout.NewID(provider.Code, now, entropy),
		Now:         now,
		Environment: s.cfg.Environment,
		Token:       s.cfg.Keyring.Issue(1, now.Add(s.cfg.SetupLifetime)),
	})
	err := s.cfg.Store.InsertCheckout(ctx, change, enqueue(provider, now))
	if err != nil && !errors.Is(err, ports.ErrDuplicate) {
		err = s.fail(ctx, "store checkout "+change.Next.ID, err)
	}
	if err != nil {
		return Opened{}, checkout.Change{}, err
	}
	return s.answer(change.Next, cmd, false), change, nil
}

// answer returns the answer to a create, with the setup pair unless the checkout is confirmed.
func (s *Service) answer(c checkout.Checkout, cmd checkout.Create, replay bool) Opened {
	o := Opened{Checkout: c, Replay: replay, SentFinal: cmd.Final.Given}
	if replay {
		o.IdempotencyKey = cmd.Key()
	}
	if c.Status != checkout.Confirmed {
		o.Token = s.tokenText(c)
		o.SetupURL = s.pageURL(o.Token)
	}
	return o
}
