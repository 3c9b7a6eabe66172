package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
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

const (
	// observationLife is the lifetime of a cached answer of the processor.
	observationLife = 2 * time.Second
	// asksInARow is the number of questions in a row for pages of one setup after which pages go by the cached answer.
	asksInARow = 3
)

// observed is an answer of the processor about a setup, or the error in its place.
type observed struct {
	seen  checkout.Observation
	err   error
	asked time.Time // when the question began
	asks  int       // in a row, each within the lifetime of the answer before

	before, after checkout.Observation // on record when the question began, and with the answer
}

// question asks the processor about the setup of a checkout, for an answer that others may go by.
func (s *Service) question(ctx context.Context, c checkout.Checkout, purpose checkout.Purpose) (o observed) {
	o.before = c.Setup.Observation
	if o.seen, o.err = s.observe(ctx, c, purpose, s.cfg.PollTimeout); o.err == nil {
		o.after = c.Observe(o.seen, s.now()).Next.Setup.Observation
	}
	return o
}

// answers are the latest answers of the processor, by billing request.
type answers struct {
	values *bounded.Cache[string, observed]
	asking locks // by billing request
}

func newAnswers() *answers {
	return &answers{values: bounded.NewCache[string, observed](observationLife, cacheSize)}
}

// once returns the latest answer, for callers who wait for one another: however many of them want it, ask is called at most once
// in its lifetime, or asksInARow times where it is older than since. An answer to a question from before something else was learned
// of the setup may be from before that, and serves no caller who knows of it. A caller that hangs up does not end the call, because
// others wait for its answer.
func (a *answers) once(ctx context.Context, now func() time.Time, since time.Time, of checkout.Setup,
	ask func(context.Context) observed) (observed, error) {
	id := of.BillingRequestID
	unlock, _, err := a.asking.lock(ctx, id)
	if err != nil {
		return observed{}, err
	}
	defer unlock()
	answer, ok := a.values.Fresh(now(), id)
	if ok = ok && (of.Observation == answer.before || of.Observation == answer.after); !ok {
		answer = observed{}
	}
	if !ok || answer.asked.Before(since) && answer.asks < asksInARow {
		asked, asks := now(), answer.asks+1
		answer = ask(context.WithoutCancel(ctx))
		answer.asked, answer.asks = asked, asks
		a.values.Put(now(), id, answer)
	}
	return answer, answer.err
}

// refreshForPoll returns the checkout with its setup as fresh as the processor answers within Config.PollTimeout, or answered
// another poll just now. A stale answer is better than no answer. What a processor that notifies says is on record.
func (s *Service) refreshForPoll(ctx context.Context, stored checkout.Checkout) checkout.Checkout {
	if s.processor.Notifies || stored.Setup.BillingRequestID == "" {
		return stored
	}
	answer, err := s.polled.once(ctx, s.now, time.Time{}, stored.Setup, func(ctx context.Context) observed {
		return s.question(ctx, stored, checkout.ForPoll)
	})
	if err == nil {
		stored, err = s.storeObservation(ctx, stored, answer.seen)
	}
	if err != nil {
		s.report(ctx, Failure{Operation: OperationObserve, Severity: Warning, About: stored.About(), Err: err})
	}
	return stored
}

// observeForPage asks the processor about the setup for a page: a payer who comes back from the processor must see what that led
// to, even if a poll or another page asked a moment before. Pages that wait at once share an answer, and so do pages after many
// questions in a row. Polls go by its answers too.
func (s *Service) observeForPage(ctx context.Context, c checkout.Checkout) (observed, error) {
	return s.viewed.once(ctx, s.now, s.now(), c.Setup, func(ctx context.Context) (o observed) {
		ctx, cancel := context.WithTimeout(ctx, s.cfg.PollTimeout)
		defer cancel()
		if o = s.question(ctx, c, checkout.ForPayer); o.err == nil {
			s.polled.values.Put(s.now(), c.Setup.BillingRequestID, o)
		}
		return o
	})
}

// observe asks the processor about the setup of a checkout, for a purpose, within a time.
func (s *Service) observe(ctx context.Context, c checkout.Checkout, purpose checkout.Purpose,
	limit time.Duration) (seen checkout.Observation, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err = s.ask(ctx, c, purpose, func(ctx context.Context, q checkout.SetupQuery) (err error) {
		seen, err = s.cfg.Processor.Observe(ctx, q)
		return err
	})
	if err != nil {
		err = fmt.Errorf("observe the setup of %s: %w", c.ID, err)
	}
	return seen, err
}

// ask asks the processor something about the setup of a checkout, in its provider's account. A provider that was removed has no
// account id any more. A processor that panics has failed.
func (s *Service) ask(ctx context.Context, c checkout.Checkout, purpose checkout.Purpose,
	question func(context.Context, checkout.SetupQuery) error) (err error) {
	defer recovered(&err)
	p, err := s.providerOf(ctx, c.ProviderCode)
	if err != nil {
		return err
	}
	return question(ctx, checkout.SetupQuery{Setup: c.Setup, OrderID: c.OrderID, Purpose: purpose,
		Account: checkout.Account{ProviderCode: p.Code, ID: p.AccountID, Environment: s.cfg.Environment}})
}

// refresh asks the processor about a checkout's setup within Config.ProcessorTimeout, and stores what is new. With an error it
// returns the checkout as it was.
func (s *Service) refresh(ctx context.Context, stored checkout.Checkout, purpose checkout.Purpose) (checkout.Checkout, error) {
	if stored.Setup.BillingRequestID == "" {
		return stored, nil
	}
	seen, err := s.observe(ctx, stored, purpose, s.cfg.ProcessorTimeout)
	if err != nil {
		return stored, err
	}
	return s.storeObservation(ctx, stored, seen)
}

// Refresh asks the processor about the setup of a checkout now, as for a notification, and returns the checkout with what is new.
// What follows from that is left to Run.
func (s *Service) Refresh(ctx context.Context, id string) (c checkout.Checkout, err error) {
	defer recovered(&err)
	ctx, cancel := detached(withSubject(ctx), waitLimit+s.cfg.ProcessorTimeout)
	defer cancel()
	if c, err = s.cfg.Store.Checkout(ctx, id); err == nil {
		concerns(ctx, c.About())
		c, err = s.refresh(ctx, c, checkout.ForNotification)
	}
	if err != nil {
		return c, s.fail(ctx, "refresh the setup of "+id, err)
	}
	s.polled.values.Delete(c.Setup.BillingRequestID) // the next poll must not go by an earlier answer
	s.wakeScheduler()
	return c, nil
}

// storeObservation stores what the processor said of a checkout's setup, if that is new. The refusal is BUSY where the mandate's
// end was learned since the question, without its time: the answer may be from before the end, and the next question tells.
func (s *Service) storeObservation(ctx context.Context, stored checkout.Checkout,
	seen checkout.Observation) (checkout.Checkout, error) {
	if stored.Observe(seen, s.now()).Next.Setup == stored.Setup {
		return stored, nil
	}
	overtaken := false
	fresh, err := s.updateSetup(ctx, stored.ID, checkout.JobEntry{Now: s.now()}, func(c checkout.Checkout, now time.Time) checkout.Change {
		if c.Setup.BillingRequestID != stored.Setup.BillingRequestID {
			return checkout.Change{Next: c} // the payer has begun another try meanwhile
		}
		known := c.Setup.Observation
		overtaken = known != stored.Setup.Observation && known.Mandate.Dead() && known.MandateSince.IsZero() && !seen.Mandate.Dead()
		if overtaken {
			return checkout.Change{Next: c}
		}
		return c.Observe(seen, now)
	})
	switch {
	case err != nil:
		return stored, err
	case overtaken:
		return fresh, checkout.Busy()
	}
	return fresh, nil
}

// errNothingNew ends an update that would change nothing.
var errNothingNew = errors.New("nothing is new")

// updateSetup stores what decide makes of a checkout's setup if that changes it.
func (s *Service) updateSetup(ctx context.Context, id string, entry checkout.JobEntry,
	decide func(c checkout.Checkout, now time.Time) checkout.Change) (checkout.Checkout, error) {
	change, err := s.update(ctx, id, entry, func(c checkout.Checkout, now time.Time) (checkout.Change, error) {
		change := decide(c, now)
		if change.Next.Setup == c.Setup {
			return change, errNothingNew
		}
		return change, nil
	})
	if errors.Is(err, errNothingNew) {
		err = nil
	}
	return change.Next, err
}
