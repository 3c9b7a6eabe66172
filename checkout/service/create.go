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
	if err := cmd.CheckEither(provider.Mode); err != nil {
		return Opened{}, err
	}
	if cmd.RequestID, err = s.requestID(cmd.RequestID); err != nil {
		return Opened{}, err
	}
	storing, cancel := detached(ctx, waitLimit)
	defer cancel()
	opened, change, err := s.create(storing, provider, cmd)
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
// or if the first attempt failed for any reason.
func (s *Service) create(ctx context.Context, provider catalogue.Provider, cmd checkout.Create) (Opened, checkout.Change, error) {
	name := checkout.DefaultKey(provider.Code, cmd.OrderID.Value)
	_, seen := s.recent.Get(name)
	s.recent.Put(name, struct{}{})
	for n := range attempts(ctx) {
		look := seen || n > 0
		opened, change, err := s.attempt(ctx, provider, cmd, look)
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

// attempt makes one attempt at a create: it reads what the create is decided by, decides it, and stores the outcome. It
// returns ports.ErrDuplicate if the order or the key was taken meanwhile.
func (s *Service) attempt(ctx context.Context, provider catalogue.Provider, cmd checkout.Create, look bool) (Opened, checkout.Change, error) {
	facts, err := s.facts(ctx, provider, cmd, look)
	if err != nil {
		return Opened{}, checkout.Change{}, err
	}
	decision, err := cmd.Decide(facts)
	switch {
	case err != nil:
		return Opened{}, checkout.Change{}, err
	case decision.Action == checkout.Open:
		return s.open(ctx, provider, cmd, decision.Intent, facts.Now)
	}
	opened, err := s.replay(ctx, cmd, *facts.ByOrder, decision.Action == checkout.ReplayRenews, facts.Now)
	return opened, checkout.Change{}, err
}

// facts reads what a create is decided by. What is on record is read only if look is true.
func (s *Service) facts(ctx context.Context, provider catalogue.Provider, cmd checkout.Create, look bool) (checkout.Facts, error) {
	facts := checkout.Facts{Mode: provider.Mode, Environment: s.cfg.Environment, Keyring: s.cfg.Keyring}
	var err error
	if look {
		key := cmd.Key()
		if facts.ByOrder, err = found(s.cfg.Store.CheckoutByOrder(ctx, provider.Code, cmd.OrderID.Value)); err != nil {
			return facts, s.fail(ctx, "look up the order", err)
		}
		if facts.ByOrder == nil || facts.ByOrder.IdempotencyKey != key {
			if facts.ByKey, err = found(s.cfg.Store.CheckoutByKey(ctx, provider.Code, key)); err != nil {
				return facts, s.fail(ctx, "look up the idempotency key", err)
			}
		}
	}
	facts.Now = s.now()
	if cmd.NeedsCourse(facts) {
		facts.Course, err = found(s.configured.course(ctx, facts.Now, provider.Code, cmd.CourseCode.Value))
		if err != nil {
			return facts, s.fail(ctx, "read the course", err)
		}
	}
	return facts, nil
}

// replay answers with the checkout on record, with a next setup token if the latest is renewed.
func (s *Service) replay(ctx context.Context, cmd checkout.Create, stored checkout.Checkout, renew bool, now time.Time) (Opened, error) {
	if renew {
		change, err := s.update(ctx, stored.ID, ports.Enqueue{}, func(c checkout.Checkout) (checkout.Change, error) {
			return c.Renew(s.cfg.Keyring, now, s.cfg.SetupLifetime), nil
		})
		if err != nil {
			return Opened{}, err
		}
		stored = change.Next
	}
	if stored.Status != checkout.Confirmed { // after which the answer is the same whatever the mandate does
		stored = s.refreshForPoll(ctx, stored)
	}
	return s.answer(stored, cmd, true), nil
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
		o.Token = s.cfg.Keyring.LatestText(c)
		o.SetupURL = s.pageURL(o.Token)
	}
	return o
}
