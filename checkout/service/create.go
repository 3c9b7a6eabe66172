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

// recentOrders is the number of orders that are remembered as seen recently.
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

// Create opens a checkout, or finds the checkout that the same order opened before (section 4), with its setup as a poll
// finds it. It takes up to ten seconds, and up to 35 more while its event is delivered. The refusals are PROVIDER_KEY_MISMATCH,
// PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR, IDEMPOTENCY_CONFLICT, CHECKOUT_ERASED and BUSY. A *checkout.CRMRefusal means
// that a CRM outside of the store does not take the enrolment for a reason that is not the caller's.
// Where the command has no RequestID, one is made.
func (s *Service) Create(ctx context.Context, caller Caller, cmd checkout.Create) (opened Opened, err error) {
	ctx = withSubject(ctx)
	defer func() { s.Refused(ctx, caller, "", cmd.RequestID, err) }()
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
	cmd.Actor = checkout.ProviderActor(caller.KeyID)
	concerns(ctx, About{OrderID: cmd.OrderID.Value, ProviderCode: provider.Code})
	storing, cancel := detached(ctx, waitLimit)
	defer cancel()
	opened, committed, err := s.create(storing, provider, cmd)
	s.countCreate(len(committed.change.Events) > 0, err)
	s.announce(ctx, committed)
	if err != nil {
		return Opened{}, err
	}
	return opened, nil
}

// create replays the order's checkout, or opens one. An order that this process has not seen recently is most likely
// new, so the first attempt inserts its checkout without looking: the order is looked up only if it was seen recently,
// or if the first attempt failed for any reason. What it returns beside the answer is the change that opened the checkout, if this
// call committed it.
func (s *Service) create(ctx context.Context, provider catalogue.Provider, cmd checkout.Create) (_ Opened, committed advanced, _ error) {
	reserved := "" // the id of the checkout that this call has reserved
	name := checkout.DefaultKey(provider.Code, cmd.OrderID.Value)
	_, seen := s.recent.Get(name)
	s.recent.Put(name, struct{}{})
	for n := range attempts(ctx) {
		look := seen || n > 0
		opened, done, err := s.attemptCreate(ctx, provider, cmd, look)
		if done.inserted {
			reserved = done.change.Next.ID
		}
		if len(done.change.Events) > 0 {
			committed = done
		}
		refusal, refused := errors.AsType[*checkout.CRMRefusal](err)
		switch {
		case errors.Is(err, ports.ErrDuplicate): // the order or the key was taken meanwhile
		case errors.Is(err, errAwaiting): // the CRM's answer decides
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

// attemptCreate makes one attempt at a create: it reads what the create is decided by, decides it, and stores the outcome. It
// returns ports.ErrDuplicate if the order or the key was taken meanwhile, and errAwaiting if the CRM has still to make the
// records.
func (s *Service) attemptCreate(ctx context.Context, provider catalogue.Provider, cmd checkout.Create, look bool) (Opened, advanced, error) {
	facts, err := s.facts(ctx, provider, cmd, look)
	if err != nil {
		return Opened{}, advanced{}, err
	}
	decision, err := cmd.Decide(facts)
	switch {
	case err != nil:
		return Opened{}, advanced{}, err
	case decision.Action == checkout.Open:
		return s.open(ctx, provider, cmd, decision.Intent, facts.Now)
	case decision.Action == checkout.Wait && decision.Awaiting != facts.ByOrder: // another order has the key
		return Opened{}, advanced{}, errAwaiting
	case decision.Action == checkout.Wait:
		done, err := s.await(ctx, checkout.JobOpen, *facts.ByOrder, provider)
		if err == nil || errors.As(err, new(*checkout.CRMRefusal)) {
			err = errAwaiting // what it has come to decides next about this create
		}
		return Opened{}, done, err
	}
	opened, err := s.replay(ctx, cmd, *facts.ByOrder, decision.Action == checkout.ReplayRenews, facts.Now)
	return opened, advanced{}, err
}

// facts reads what a create is decided by. What is on record is read only if look is true.
func (s *Service) facts(ctx context.Context, provider catalogue.Provider, cmd checkout.Create, look bool) (checkout.Facts, error) {
	facts := checkout.Facts{Mode: provider.Mode, Environment: s.cfg.Environment, Keyring: s.cfg.Keyring}
	var err error
	if look {
		key := cmd.Key()
		if facts.ByOrder, err = found(s.cfg.Store.FindCheckout(ctx, checkout.Reference{ProviderCode: provider.Code, OrderID: cmd.OrderID.Value})); err != nil {
			return facts, s.fail(ctx, "look up the order", err)
		}
		if facts.ByOrder == nil || facts.ByOrder.IdempotencyKey != key {
			if facts.ByKey, err = found(s.cfg.Store.FindCheckout(ctx, checkout.Reference{ProviderCode: provider.Code, Key: key})); err != nil {
				return facts, s.fail(ctx, "look up the idempotency key", err)
			}
		}
	}
	if facts.ByOrder != nil {
		concerns(ctx, aboutCheckout(*facts.ByOrder))
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
		change, err := s.update(ctx, stored.ID, checkout.Enqueue{Now: now}, func(c checkout.Checkout) (checkout.Change, error) {
			return c.Renew(s.cfg.Keyring, now, s.cfg.SetupLifetime, cmd.Actor, cmd.RequestID), c.Available()
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

// open stores a new checkout, and has the CRM make its records. It returns ports.ErrDuplicate if the order or the key has a
// checkout. While the CRM does not answer nothing is reserved.
func (s *Service) open(ctx context.Context, provider catalogue.Provider, cmd checkout.Create, intent checkout.Intent,
	now time.Time) (Opened, advanced, error) {
	if s.crm.Open() {
		return Opened{}, advanced{}, checkout.Busy()
	}
	id, err := s.newID(provider, now)
	if err != nil {
		return Opened{}, advanced{}, err
	}
	change, err := s.withinCommit(cmd.Reserve(intent, id, now))
	if err != nil {
		return Opened{}, advanced{}, fmt.Errorf("open checkout %s: %w", id, err)
	}
	held := s.enqueue(provider, holdLimit)
	stored := advanced{change: change, provider: provider, inserted: true, until: held.Now.Add(held.Hold)}
	if err := s.insert(ctx, change, held); err != nil {
		return Opened{}, advanced{}, err
	}
	concerns(ctx, aboutCheckout(change.Next))
	done, err := s.attemptHeld(ctx, stored)
	if err != nil {
		return Opened{}, advanced{change: checkout.Change{Next: change.Next}, inserted: true}, err
	}
	done.inserted = true
	return s.answer(done.change.Next, cmd, false), done, nil
}

func (s *Service) newID(provider catalogue.Provider, now time.Time) (string, error) {
	var entropy [10]byte
	if _, err := io.ReadFull(s.cfg.Rand, entropy[:]); err != nil {
		return "", fmt.Errorf("generate a checkout id: %w", err)
	}
	return checkout.NewID(provider.Code, now, entropy), nil
}

// insert stores a new checkout. It returns ports.ErrDuplicate if the order or the key has one.
func (s *Service) insert(ctx context.Context, change checkout.Change, q checkout.Enqueue) error {
	err := s.cfg.Store.InsertCheckout(ctx, change, q)
	switch {
	case err == nil:
		s.journal(ctx, aboutCheckout(change.Next), change.Moments)
	case !errors.Is(err, ports.ErrDuplicate):
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
