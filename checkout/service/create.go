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
	"github.com/provider-checkout/provider-checkout/money"
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
	SentFinal      bool // the request has a final instalment: it is echoed, even if it equals the others
}

// Create opens a checkout, or finds the checkout that the same order opened before (section 4), with its setup as a poll
// finds it. It takes up to ten seconds, and up to 35 more while its event is delivered. The refusals are PROVIDER_KEY_MISMATCH,
// PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR, IDEMPOTENCY_CONFLICT, CHECKOUT_CANCELLED,
// CHECKOUT_ERASED and BUSY. A *checkout.CRMRefusal means that a CRM outside of the store does not take the enrolment for a reason that
// is not the caller's. Where the command has no RequestID, one is made.
func (s *Service) Create(ctx context.Context, caller Caller, cmd checkout.Create) (opened Opened, err error) {
	err = s.serve(ctx, call{
		Caller: caller, provider: cmd.ProviderCode, requestID: &cmd.RequestID, first: CountCreate, repeat: CountReplay,
	}, func(ctx context.Context, provider catalogue.Provider) (held heldChange, err error) {
		cmd = cmd.Normalized()
		if err := cmd.CheckEither(provider.Mode); err != nil {
			return held, err
		}
		cmd.Actor = checkout.ProviderActor(caller.KeyID)
		concerns(ctx, checkout.About{OrderID: cmd.OrderID.Value, ProviderCode: provider.Code})
		c := createCall{Service: s, cmd: cmd, provider: provider}
		stored, err := c.run(ctx)
		if err == nil {
			opened = c.answer(stored)
		}
		return c.held, err
	})
	return opened, err
}

// createCall is a create that is under way.
type createCall struct {
	*Service
	cmd      checkout.Create
	provider catalogue.Provider
	reserved string     // the id of the checkout that this call has reserved: its answer alone is not a replay
	held     heldChange // that the checkout is open, if this call committed it
}

// run replays the order's checkout, or opens one. An order that this process has not seen recently is most likely
// new, so the first attempt inserts its checkout without looking: the order is looked up only if it was seen recently,
// or if the first attempt failed for any reason.
func (c *createCall) run(ctx context.Context) (checkout.Checkout, error) {
	ctx, cancel := detached(ctx, waitLimit)
	defer cancel()
	name := checkout.DefaultKey(c.provider.Code, c.cmd.OrderID.Value)
	_, seen := c.recent.Get(name)
	c.recent.Put(name, struct{}{})
	for n := range attempts(ctx) {
		look := seen || n > 0
		stored, err := c.attemptCreate(ctx, look)
		refusal, refused := errors.AsType[*checkout.CRMRefusal](err)
		switch {
		case errors.Is(err, ports.ErrDuplicate): // the order or the key was taken meanwhile
		case errors.Is(err, errAwaiting): // the CRM's answer decides
		case refused && refusal.OtherIntent:
			return checkout.Checkout{}, checkout.RefuseIntent(refusal.Faults)
		case refused:
			return checkout.Checkout{}, cmp.Or(c.cmd.RefusedByCRM(refusal.Faults), err)
		case err == nil, look:
			return stored, err
		default: // the record may answer it
			c.report(ctx, Failure{Operation: OperationServe, Severity: Warning, Err: err})
		}
	}
	return checkout.Checkout{}, checkout.Busy()
}

// attemptCreate makes one attempt at a create: it reads what the create is decided by, decides it, and stores the outcome. It
// returns ports.ErrDuplicate if the order or the key was taken meanwhile, and errAwaiting if the CRM has still to make the
// records.
func (c *createCall) attemptCreate(ctx context.Context, look bool) (checkout.Checkout, error) {
	facts, err := c.facts(ctx, look)
	if err != nil {
		return checkout.Checkout{}, err
	}
	decision, err := c.cmd.Decide(facts)
	switch {
	case err != nil:
		return checkout.Checkout{}, err
	case decision.Action == checkout.Open:
		return c.open(ctx, decision.Intent, facts.Now)
	case decision.Action == checkout.Wait && decision.Awaiting != facts.ByOrder: // another order has the key
		return checkout.Checkout{}, errAwaiting
	case decision.Action == checkout.Wait:
		if c.held, err = c.await(ctx, checkout.JobOpen, *facts.ByOrder, c.provider); answered(err) {
			err = errAwaiting // what it has come to decides next about this create
		}
		return checkout.Checkout{}, err
	}
	return c.replay(ctx, *facts.ByOrder, decision.Action == checkout.ReplayRenews)
}

// facts reads what a create is decided by. What is on record is read only if look is true.
func (c *createCall) facts(ctx context.Context, look bool) (facts checkout.Facts, err error) {
	facts = checkout.Facts{Mode: c.provider.Mode, Environment: c.cfg.Environment, Keyring: c.cfg.Keyring}
	code, key := c.provider.Code, c.cmd.Key()
	if look {
		order := checkout.Reference{ProviderCode: code, OrderID: c.cmd.OrderID.Value}
		facts.ByOrder, err = found(c.cfg.Store.FindCheckout(ctx, order))
		if err != nil {
			return facts, c.fail(ctx, "look up the order", err)
		}
	}
	if look && (facts.ByOrder == nil || facts.ByOrder.IdempotencyKey != key) {
		facts.ByKey, err = found(c.cfg.Store.FindCheckout(ctx, checkout.Reference{ProviderCode: code, Key: key}))
		if err != nil {
			return facts, c.fail(ctx, "look up the idempotency key", err)
		}
	}
	if facts.ByOrder != nil {
		concerns(ctx, facts.ByOrder.About())
	}
	facts.Now = c.now()
	if c.cmd.NeedsCourse(facts) {
		course := c.cmd.CourseCode.Value
		facts.Course, err = found(c.courses.Get(c.now(), [2]string{code, course}, func() (catalogue.Course, error) {
			return c.cfg.Store.Course(ctx, code, course)
		}))
		if err != nil {
			return facts, c.fail(ctx, "read the course", err)
		}
		if facts.Course != nil {
			now := facts.Course.On(money.DateOf(facts.Now.In(c.zone)))
			facts.Course = &now
		}
	}
	return facts, nil
}

// replay answers with the checkout on record, with a next setup token if the latest is renewed.
func (c *createCall) replay(ctx context.Context, stored checkout.Checkout, renew bool) (checkout.Checkout, error) {
	if renew {
		entry := checkout.JobEntry{Now: c.now()}
		change, err := c.update(ctx, stored.ID, entry, func(stored checkout.Checkout, now time.Time) (checkout.Change, error) {
			return stored.Renew(c.cfg.Keyring, now, c.linkLife(stored.OrderID), c.cmd.Actor, c.cmd.RequestID), stored.Replayable()
		})
		if err != nil {
			return checkout.Checkout{}, err
		}
		stored = change.Next
	}
	if stored.Status != checkout.Confirmed { // after which the answer is the same whatever the mandate does
		stored = c.refreshForPoll(ctx, stored)
	}
	return stored, stored.Replayable()
}

// open stores a new checkout, and has the CRM make its records. It returns ports.ErrDuplicate if the order or the key has a
// checkout. While the CRM does not answer nothing is reserved.
func (c *createCall) open(ctx context.Context, intent checkout.Intent, now time.Time) (checkout.Checkout, error) {
	if c.crm.Open() {
		return checkout.Checkout{}, checkout.Busy()
	}
	var entropy [10]byte
	if _, err := io.ReadFull(c.cfg.Rand, entropy[:]); err != nil {
		return checkout.Checkout{}, fmt.Errorf("generate a checkout id: %w", err)
	}
	id := checkout.NewID(c.provider.Code, now, entropy)
	change, err := c.withinCommit(c.cmd.Reserve(intent, id, now), c.provider)
	if err != nil {
		return checkout.Checkout{}, fmt.Errorf("open checkout %s: %w", id, err)
	}
	entry := c.jobEntry(c.provider, holdLimit)
	switch err := c.cfg.Store.InsertCheckout(ctx, change, entry); {
	case errors.Is(err, ports.ErrDuplicate):
		return checkout.Checkout{}, err
	case err != nil:
		return checkout.Checkout{}, c.fail(ctx, "store checkout "+id, err)
	}
	c.reserved = id
	concerns(ctx, change.Next.About())
	c.journal(ctx, change.Next.About(), change.Moments)
	c.held, err = c.attemptHeld(ctx, change, c.provider, entry)
	return c.held.Next, err
}

// answer returns the answer to a create, with the setup pair unless the checkout is confirmed.
func (c *createCall) answer(stored checkout.Checkout) Opened {
	o := Opened{Checkout: stored, Replay: stored.ID != c.reserved, SentFinal: c.cmd.Final.Given}
	if o.Replay {
		o.IdempotencyKey = c.cmd.Key()
	}
	if stored.Status != checkout.Confirmed {
		o.Token = c.cfg.Keyring.LatestText(stored)
		o.SetupURL = c.pageURL(o.Token)
	}
	return o
}
