package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file has what all calls have in common: the caller, the limits of time, the errors, and how a change is stored.

// Caller is an authenticated provider.
type Caller struct {
	ProviderCode string
	KeyID        string // of its API key; "" without an API key
}

// Authenticate returns the caller to whom an API key belongs. The refusals are MISSING_API_KEY for an empty key, and INVALID_API_KEY.
func (s *Service) Authenticate(ctx context.Context, key string) (caller Caller, err error) {
	defer recovered(&err)
	if key == "" {
		return Caller{}, checkout.MissingAPIKey("there is no API key; send it as Authorization: Bearer <API_KEY>")
	}
	hash, ok := catalogue.HashKey(key)
	if !ok {
		return Caller{}, checkout.InvalidAPIKey()
	}
	now := s.now()
	onRecord, err := found(s.keys.Get(now, hash, func() (catalogue.Key, error) {
		ctx, cancel := context.WithTimeout(ctx, waitLimit)
		defer cancel()
		return s.cfg.Store.Key(ctx, hash)
	}))
	if err != nil {
		return Caller{}, s.fail(ctx, "read the API key", err)
	}
	if err := checkout.Authenticate(onRecord, s.cfg.Environment, now); err != nil {
		return Caller{}, err
	}
	s.notes.key(*onRecord, now)
	return Caller{ProviderCode: onRecord.Provider, KeyID: onRecord.ID}, nil
}

// admit returns the caller's provider, if the request names no other provider and the provider's configuration allows calls.
func (s *Service) admit(ctx context.Context, caller Caller, named checkout.Optional[string]) (catalogue.Provider, error) {
	p, err := s.provider(ctx, caller.ProviderCode)
	if err != nil {
		return catalogue.Provider{}, s.fail(ctx, "admit a request", err)
	}
	if err := checkout.Admit(caller.ProviderCode, named, p, s.cfg.Environment); err != nil {
		return catalogue.Provider{}, err
	}
	return *p, nil
}

// RateLimit returns the number of requests a second that the caller's provider may make with one key; 0 where its configuration does
// not say it.
func (s *Service) RateLimit(ctx context.Context, caller Caller) int {
	p, err := s.provider(ctx, caller.ProviderCode)
	if err != nil || p == nil {
		return 0
	}
	return p.RateLimit
}

// provider returns a provider as it was within configurationLife, or nil.
func (s *Service) provider(ctx context.Context, code string) (*catalogue.Provider, error) {
	p, err := found(s.providers.Get(s.now(), code, func() (catalogue.Provider, error) {
		ctx, cancel := context.WithTimeout(ctx, waitLimit)
		defer cancel()
		list, err := s.cfg.Store.Providers(ctx, code)
		if err == nil && len(list) == 0 {
			err = ports.ErrNotFound
		}
		return slices.Concat(list, []catalogue.Provider{{}})[0], err
	}))
	if err != nil {
		return nil, fmt.Errorf("read provider %s: %w", code, err)
	}
	return p, nil
}

// providerOf returns a provider: only its code, also as its name, if the operator removed it.
func (s *Service) providerOf(ctx context.Context, code string) (catalogue.Provider, error) {
	p, err := s.provider(ctx, code)
	return *cmp.Or(p, &catalogue.Provider{Code: code, Name: code}), err
}

// owned returns the caller's checkout. Another provider's does not exist.
func (s *Service) owned(ctx context.Context, caller Caller, id string) (checkout.Checkout, error) {
	if !checkout.PlausibleID(id) {
		return checkout.Checkout{}, checkout.CheckoutNotFound()
	}
	stored, err := found(s.cfg.Store.Checkout(ctx, id))
	switch {
	case err != nil:
		return checkout.Checkout{}, s.fail(ctx, "read checkout "+id, err)
	case stored == nil, stored.ProviderCode != caller.ProviderCode:
		return checkout.Checkout{}, checkout.CheckoutNotFound()
	}
	return *stored, nil
}

// requestID returns the id of a request, which is made where the host gave no id.
func (s *Service) requestID(given string) (string, error) {
	if given != "" {
		return given, nil
	}
	id, err := uuid.NewRandomFromReader(s.cfg.Rand)
	if err != nil {
		return "", fmt.Errorf("generate a request id: %w", err)
	}
	return "req_" + id.String(), nil
}

// direct is the time for which a call that has stored jobs attempts them before another process may.
const direct = 10 * time.Second

// update stores the change that decide makes of a checkout that was read. With hold it attempts the jobs that follow at
// once, and without it leaves them to the scheduler.
func (s *Service) update(ctx context.Context, p catalogue.Provider, known checkout.Checkout, hold time.Duration,
	decide ports.Decide) (checkout.Change, error) {
	var decided checkout.Change
	var refusal error
	change, leases, err := s.cfg.Store.UpdateCheckout(ctx, known, hold, func(c checkout.Checkout) (checkout.Change, error) {
		decided, refusal = decide(c)
		decided.Jobs = s.entering(decided.Jobs, p)
		return decided, refusal
	})
	switch {
	case refusal != nil:
		return decided, refusal
	case errors.Is(err, ports.ErrDuplicate), checkout.Refused(err):
		return change, err
	case err != nil:
		return change, s.fail(ctx, "store checkout "+known.ID, err)
	}
	s.stored(ctx, change, leases)
	return change, nil
}

// entering returns the jobs of a change that enter the store: no notice where payers are not notified, and no sync where the
// store is the record. The events of a provider without a destination are not sent.
func (s *Service) entering(jobs []checkout.Job, p catalogue.Provider) []checkout.Job {
	enter := slices.DeleteFunc(slices.Clone(jobs), func(j checkout.Job) bool {
		return j.Kind == checkout.JobNotify && s.cfg.Notifier == nil || j.Kind == checkout.JobSync && s.cfg.CRM == nil
	})
	for i := range enter {
		enter[i].Unsent = enter[i].Kind == checkout.JobDeliver && !p.Destination.Configured()
	}
	return enter
}

// stored counts the end of the mandate of a confirmed checkout, if the stored change tells of it, wakes the scheduler for
// the jobs that are due at once, and attempts the caller's.
func (s *Service) stored(ctx context.Context, change checkout.Change, leases []checkout.Lease) {
	c := change.Next
	for _, m := range change.Moments {
		if m.Kind == checkout.MomentMandateChanged && c.Status == checkout.Confirmed && !c.Ended() && c.Setup.Mandate.Dead() {
			s.cfg.Count(Count(countMandate+c.Setup.Mandate), c.ProviderCode)
		}
	}
	if slices.ContainsFunc(change.Jobs, func(j checkout.Job) bool { return j.Due.IsZero() && !j.Kind.Direct() }) {
		s.wakeScheduler()
	}
	s.attempt(ctx, leases)
}

// detached is the context of a call that changes something: it goes on when the caller hangs up, so that it succeeds or fails as a
// whole.
func detached(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), limit)
}

// within calls a port, for a limited time. A panic in it is an error.
func within(ctx context.Context, limit time.Duration, call func(context.Context) error) (err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return call(ctx)
}

// retryStep is the growth of the pause before each further attempt of a call.
const retryStep = 10 * time.Millisecond

// attempts counts attempts until ctx ends, with a pause before each after the second.
func attempts(ctx context.Context) iter.Seq[int] {
	return func(yield func(int) bool) {
		for n := 0; sleep(ctx, max(0, time.Duration(n-1)*retryStep)) == nil && yield(n); n++ {
		}
	}
}

// sleep waits, or ends early with ctx.
func sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
	}
	return ctx.Err()
}

// now is the present in the precision that stores keep.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// found turns ports.ErrNotFound into nil.
func found[T any](v T, err error) (*T, error) {
	if errors.Is(err, ports.ErrNotFound) {
		return nil, nil
	}
	return &v, err
}

// report calls Config.Report, unless the failure is a refusal: fail has reported its cause.
func (s *Service) report(ctx context.Context, f Failure) {
	if !checkout.Refused(f.Err) {
		s.cfg.Report(ctx, f)
	}
}

// fail turns a failure into a refusal. A call that ran out of time, or whose outcome is not known, is refused with BUSY, and its cause is reported.
func (s *Service) fail(ctx context.Context, doing string, err error) error {
	err = fmt.Errorf("%s: %w", doing, err)
	if errors.Is(err, ports.ErrBusy) || errors.Is(err, ports.ErrUnknown) || errors.Is(err, context.DeadlineExceeded) {
		s.report(ctx, Failure{Operation: OperationServe, Severity: Warning, Err: err})
		return checkout.Busy()
	}
	return err
}

// recovered, when deferred, turns a panic in a port into an error.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}
