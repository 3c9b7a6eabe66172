package service

import (
	"cmp"
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
	Warnings       []checkout.Fault // of what the agreement cannot show as the request has it
	SentFinal      bool             // the request has a final instalment: it is echoed, even if it equals the others
}

// Create opens a checkout, or finds the one that the same order opened before (section 4), with its setup as a poll
// finds it. It takes up to ten seconds, and up to 35 more while its event is delivered. The refusals are PROVIDER_KEY_MISMATCH,
// PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR, IDEMPOTENCY_CONFLICT, CHECKOUT_ERASED and BUSY. A *ports.CRMRefusal means
// that a CRM outside of the store does not take the enrolment for a reason that is not the caller's.
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
	storing, cancel := detached(ctx, s.requestLimit())
	defer cancel()
	opened, committed, err := s.create(storing, provider, cmd)
	s.countCreate(len(committed.Events) > 0, err)
	s.announce(ctx, advanced{change: committed, provider: provider})
	if err != nil {
		return Opened{}, err
	}
	return opened, nil
}

// create replays the order's checkout, or opens one. An order that this process has not seen recently is most likely
// new, so the first attempt inserts its checkout without looking: the order is looked up only if it was seen recently,
// or if the first attempt failed for any reason. The change is what opened the checkout, if this call committed it.
func (s *Service) create(ctx context.Context, provider catalogue.Provider, cmd checkout.Create) (_ Opened, committed checkout.Change, _ error) {
	reserved := "" // the id of the checkout that this call has reserved
	name := checkout.DefaultKey(provider.Code, cmd.OrderID.Value)
	_, seen := s.recent.Get(name)
	s.recent.Put(name, struct{}{})
	for n := range attempts(ctx) {
		look := seen || n > 0
		opened, change, err := s.attempt(ctx, provider, cmd, look)
		if change.Next.Status == checkout.Reserved {
			reserved = change.Next.ID
		} else if len(change.Events) > 0 {
			committed = change
		}
		refusal, refused := errors.AsType[*ports.CRMRefusal](err)
		switch {
		case errors.Is(err, ports.ErrDuplicate): // the order or the key was taken meanwhile
		case errors.Is(err, errAwaiting): // what the CRM does decides
		case err == nil && opened.Checkout.ID == reserved: // by any process: no other call has answered that it is new
			opened.Replay, opened.IdempotencyKey = false, ""
			return opened, committed, nil
		case refused && refusal.OtherIntent:
			return Opened{}, committed, checkout.RefuseIntent(refusal.Faults)
		case refused:
			return Opened{}, committed, cmp.Or(cmd.RefusedByCRM(refusal.Faults), err)
		case err == nil, look:
			return opened, committed, err
		default: // the record may answer it
			s.report(ctx, Failure{Operation: OperationServe, Severity: Warning, Err: err})
		}
	}
	return Opened{}, committed, checkout.Busy()
}

// attempt makes one attempt at a create: it reads what the create is decided by, decides it, and stores the outcome. It
// returns ports.ErrDuplicate if the order or the key was taken meanwhile, and errAwaiting if the CRM has still to make the
// records.
func (s *Service) attempt(ctx context.Context, provider catalogue.Provider, cmd checkout.Create, look bool) (Opened, checkout.Change, error) {
	facts, err := s.facts(ctx, provider, cmd, look)
	if err != nil {
		return Opened{}, checkout.Change{}, err
	}
	decision, err := cmd.Decide(facts)
	switch {
	case err != nil:
		return Opened{}, checkout.Change{}, err
	case decision.Action == checkout.Open && s.cfg.CRM != nil:
		return s.reserve(ctx, provider, cmd, decision.Intent, facts.Now)
	case decision.Action == checkout.Open:
		return s.open(ctx, provider, cmd, decision.Intent, facts.Now)
	case decision.Action == checkout.Wait && decision.Awaiting != facts.ByOrder: // another order has the key
		return Opened{}, checkout.Change{}, errAwaiting
	case decision.Action == checkout.Wait:
		done, err := s.await(ctx, *facts.ByOrder)
		if err == nil || errors.As(err, new(*ports.CRMRefusal)) {
			err = errAwaiting // what it has come to decides next about this create
		}
		return Opened{}, done.change, err
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
			return c.Renew(s.cfg.Keyring, now, s.cfg.SetupLifetime), c.Available()
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
	id, err := s.newID(provider, now)
	if err != nil {
		return Opened{}, checkout.Change{}, err
	}
	change := cmd.Open(intent, checkout.Opening{
		ID:          id,
		Now:         now,
		Environment: s.cfg.Environment,
		Token:       s.cfg.Keyring.Issue(1, now.Add(s.cfg.SetupLifetime)),
	})
	if err := s.insert(ctx, change, enqueue(provider, now, leaseDuration)); err != nil {
		return Opened{}, checkout.Change{}, err
	}
	return s.answer(change.Next, cmd, false), change, nil
}

// reserve stores a reserved checkout, and makes the first attempt to have the CRM make its records. While the CRM does not
// answer nothing is reserved.
func (s *Service) reserve(ctx context.Context, provider catalogue.Provider, cmd checkout.Create, intent checkout.Intent,
	now time.Time) (Opened, checkout.Change, error) {
	if s.crm.Open() {
		return Opened{}, checkout.Change{}, checkout.Busy()
	}
	id, err := s.newID(provider, now)
	if err != nil {
		return Opened{}, checkout.Change{}, err
	}
	reserved := cmd.Reserve(intent, id, now, now.Add(stepLease))
	if err := s.insert(ctx, reserved, ports.Enqueue{}); err != nil {
		return Opened{}, checkout.Change{}, err
	}
	done, err := s.attemptStep(ctx, reserved.Next, leaseDuration)
	if err != nil {
		return Opened{}, reserved, err
	}
	return s.answer(done.change.Next, cmd, false), done.change, nil
}

func (s *Service) newID(provider catalogue.Provider, now time.Time) (string, error) {
	var entropy [10]byte
	if _, err := io.ReadFull(s.cfg.Rand, entropy[:]); err != nil {
		return "", fmt.Errorf("generate a checkout id: %w", err)
	}
	return checkout.NewID(provider.Code, now, entropy), nil
}

// insert stores a new checkout. It returns ports.ErrDuplicate if the order or the key has one.
func (s *Service) insert(ctx context.Context, change checkout.Change, q ports.Enqueue) error {
	err := s.cfg.Store.InsertCheckout(ctx, change, q)
	if err != nil && !errors.Is(err, ports.ErrDuplicate) {
		err = s.fail(ctx, "store checkout "+change.Next.ID, err)
	}
	return err
}

// answer returns the answer to a create, with the setup pair unless the checkout is confirmed.
func (s *Service) answer(c checkout.Checkout, cmd checkout.Create, replay bool) Opened {
	o := Opened{Checkout: c, Replay: replay, Warnings: cmd.Warnings(unprintable(s.cfg.Printer)), SentFinal: cmd.Final.Given}
	if replay {
		o.IdempotencyKey = cmd.Key()
	}
	if c.Status != checkout.Confirmed {
		o.Token = s.cfg.Keyring.LatestText(c)
		o.SetupURL = s.pageURL(o.Token)
	}
	return o
}
