package service

import (
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
	Records        checkout.Records
	Replay         bool
	IdempotencyKey string // of this request, if it is a replay
	SetupURL       string // "" once the checkout is confirmed, like Token
	Token          string
	SentFinal      bool // the request has a final instalment: it is echoed, even if it equals the others
}

// Create opens a checkout, or finds the checkout that the same order opened before (section 4), with its setup as a poll finds it. It
// takes up to ten seconds, and up to two and a half more for the jobs that follow. The refusals are PROVIDER_KEY_MISMATCH,
// PROVIDER_NOT_FOUND, PROVIDER_NOT_ENABLED, VALIDATION_ERROR, IDEMPOTENCY_CONFLICT, CHECKOUT_CANCELLED, CHECKOUT_ERASED and BUSY. Where
// the command has no RequestID, one is made.
func (s *Service) Create(ctx context.Context, caller Caller, cmd checkout.Create) (opened Opened, err error) {
	defer recovered(&err)
	provider, err := s.admit(ctx, caller, cmd.ProviderCode)
	if err != nil {
		return opened, err
	}
	if cmd.RequestID, err = s.requestID(cmd.RequestID); err != nil {
		return opened, err
	}
	cmd = cmd.Normalized()
	if err := cmd.CheckEither(provider.Mode); err != nil {
		return opened, err
	}
	cmd.Actor = checkout.ProviderActor(caller.KeyID)
	ctx, cancel := detached(ctx, waitLimit)
	defer cancel()
	c := createCall{Service: s, caller: caller, cmd: cmd, provider: provider}
	stored, isNew, err := c.run(ctx)
	if err != nil {
		return opened, err
	}
	opened = Opened{Checkout: stored, Records: stored.Records(s.cfg.Environment), Replay: !isNew, SentFinal: cmd.Final.Given}
	if opened.Replay {
		opened.IdempotencyKey = cmd.Key()
	}
	if stored.Status != checkout.Confirmed {
		opened.Token = s.cfg.Keyring.LatestText(stored)
		opened.SetupURL = s.pageURL(opened.Token)
	}
	return opened, nil
}

type createCall struct {
	*Service
	caller   Caller
	cmd      checkout.Create
	provider catalogue.Provider
}

// run replays the order's checkout, or opens one. An order that this process has not seen recently is most likely new, so the first
// attempt inserts its checkout without looking: the order is looked up only if it was seen recently, if the insert found it taken, or if
// the catalogue refuses what another process may have resolved before.
func (c *createCall) run(ctx context.Context) (stored checkout.Checkout, isNew bool, err error) {
	name := checkout.DefaultKey(c.provider.Code, c.cmd.OrderID.Value)
	_, look := c.recent.Get(name)
	c.recent.Put(name, struct{}{})
	for range attempts(ctx) {
		stored, isNew, err = c.attemptCreate(ctx, look)
		unseen := !look && checkout.Refused(err, checkout.CodeValidation) // the order on record may have resolved it
		if !unseen && !errors.Is(err, ports.ErrDuplicate) {
			return stored, isNew, err
		}
		look = true
	}
	return stored, false, checkout.Busy()
}

// attemptCreate makes one attempt: it reads the facts, decides, and stores the outcome. The error is ports.ErrDuplicate if the order or
// the key was taken meanwhile.
func (c *createCall) attemptCreate(ctx context.Context, look bool) (stored checkout.Checkout, isNew bool, err error) {
	now := c.now()
	facts, err := c.facts(ctx, look, now)
	if err != nil {
		return stored, false, err
	}
	intent, err := c.cmd.Decide(facts)
	switch {
	case err != nil:
		if facts.ByOrder != nil {
			c.Refused(c.caller, facts.ByOrder.ID, c.cmd.RequestID, err)
		}
		return stored, false, err
	case facts.ByOrder == nil:
		stored, err = c.open(ctx, intent, now)
		return stored, true, err
	}
	stored, err = c.replay(ctx, *facts.ByOrder)
	return stored, false, err
}

// facts reads what a create is decided by. The order and the key are looked up only if look is true.
func (c *createCall) facts(ctx context.Context, look bool, now time.Time) (f checkout.Facts, err error) {
	f = checkout.Facts{Mode: c.provider.Mode, Environment: c.cfg.Environment}
	code, key := c.provider.Code, c.cmd.Key()
	if look {
		order := checkout.Reference{ProviderCode: code, OrderID: c.cmd.OrderID.Value}
		if f.ByOrder, err = found(c.cfg.Store.FindCheckout(ctx, order)); err != nil {
			return f, c.fail(ctx, "look up the order", err)
		}
	}
	if look && (f.ByOrder == nil || f.ByOrder.IdempotencyKey != key) {
		if f.ByKey, err = found(c.cfg.Store.FindCheckout(ctx, checkout.Reference{ProviderCode: code, Key: key})); err != nil {
			return f, c.fail(ctx, "look up the idempotency key", err)
		}
	}
	if !c.cmd.NeedsCourse(f) {
		return f, nil
	}
	course := c.cmd.CourseCode.Value
	f.Course, err = found(c.courses.Get(now, [2]string{code, course}, func() (catalogue.Course, error) {
		return c.cfg.Store.Course(ctx, code, course)
	}))
	if err != nil {
		return f, c.fail(ctx, "read the course", err)
	}
	if f.Course != nil {
		today := f.Course.On(money.DateOf(now.In(c.zone)))
		f.Course = &today
	}
	return f, nil
}

// open stores a new checkout, and attempts the jobs that follow. The refusal is VALIDATION_ERROR where the CRM cannot take a value of the
// request.
func (c *createCall) open(ctx context.Context, intent checkout.Intent, now time.Time) (checkout.Checkout, error) {
	var entropy [10]byte
	if _, err := io.ReadFull(c.cfg.Rand, entropy[:]); err != nil {
		return checkout.Checkout{}, fmt.Errorf("generate a checkout id: %w", err)
	}
	life := c.cfg.SetupLifetime(c.cmd.OrderID.Value)
	change := c.cmd.Open(intent, checkout.Opening{ID: checkout.NewID(c.provider.Code, now, entropy), Now: now,
		Environment: c.cfg.Environment, Token: c.cfg.Keyring.Issue(1, now.Add(life))})
	if c.cfg.CRM != nil {
		faults := c.cfg.CRM.Check(checkout.Enrolment{Environment: c.cfg.Environment, Checkout: change.Next})
		if err := c.cmd.RefusedByCRM(faults); err != nil {
			return checkout.Checkout{}, err
		}
	}
	change.Jobs = c.entering(change.Jobs, c.provider)
	leases, err := c.cfg.Store.InsertCheckout(ctx, change, direct)
	switch {
	case errors.Is(err, ports.ErrDuplicate), checkout.Refused(err):
		return checkout.Checkout{}, err
	case err != nil:
		return checkout.Checkout{}, c.fail(ctx, "store checkout "+change.Next.ID, err)
	}
	c.cfg.Count(CountCreate, c.provider.Code)
	c.stored(ctx, change, leases)
	return change.Numbered(checkout.Checkout{}).Next, nil
}

// replay answers with the checkout on record, with a next setup token if the latest is to be renewed.
func (c *createCall) replay(ctx context.Context, stored checkout.Checkout) (checkout.Checkout, error) {
	renew := func(latest checkout.Checkout) (checkout.Change, error) {
		return latest.Renew(c.cfg.Keyring, c.now(), c.cfg.SetupLifetime(latest.OrderID), c.cmd.Actor, c.cmd.RequestID), latest.Replayable()
	}
	if change, _ := renew(stored); change.Changes() {
		change, err := c.update(ctx, c.provider, stored, 0, renew)
		if err != nil {
			return stored, err
		}
		stored = change.Next
	}
	if stored.Status != checkout.Confirmed { // after which the answer is the same whatever becomes of the mandate
		stored = c.refreshForPoll(ctx, stored)
	}
	return stored, stored.Replayable()
}
