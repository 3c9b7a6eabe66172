package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file has the parts that all calls of the service have in common: the caller, the checkout that a call is about, its time
// limits, what becomes of its errors, and what is noted of it in the journal.

const (
	// noteLimit limits a refused call's wait until its moment is on record.
	noteLimit = 2 * time.Second
	// maxNotes is the most moments that are kept in memory until they are stored: what comes beyond it is lost.
	maxNotes = 10_000
)

// Caller is an authenticated provider.
type Caller struct {
	ProviderCode string
	KeyID        string // of its API key; "" without an API key
}

// Authenticate returns the caller to whom the key belongs. It writes nothing: the day of the key's last use is stored later. The refusals are
// MISSING_API_KEY for an empty key, and INVALID_API_KEY.
func (s *Service) Authenticate(ctx context.Context, key string) (caller Caller, err error) {
	defer recovered(&err)
	if key == "" {
		return Caller{}, checkout.MissingAPIKey("there is no API key; send it as Authorization: Bearer <API_KEY>")
	}
	hash, ok := catalogue.HashKey(key)
	if !ok {
		return Caller{}, checkout.InvalidAPIKey()
	}
	onRecord, err := found(s.keys.Get(s.now(), hash, func() (catalogue.Key, error) {
		ctx, cancel := withTimeout(ctx)
		defer cancel()
		return s.cfg.Store.Key(ctx, hash)
	}))
	if err != nil {
		return Caller{}, s.fail(ctx, "read the API key", err)
	}
	if err := checkout.Authenticate(onRecord, s.cfg.Environment, s.now()); err != nil {
		return Caller{}, err
	}
	s.notes.key(*onRecord, s.now().Format(time.DateOnly))
	return Caller{ProviderCode: onRecord.Provider, KeyID: onRecord.ID}, nil
}

// call is a request of a provider that changes something.
type call struct {
	Caller
	id            string                    // of the checkout that it is about; "" for a create
	provider      checkout.Optional[string] // that the request names
	requestID     *string                   // is set where the request has no id
	first, repeat Count                     // of a call that opens or confirms the checkout, and of its repeat; "" for any other
}

// serve has do serve a call that is admitted, delivers the events of the change that it committed, and counts the call. A
// refusal is on record before the call is answered.
func (s *Service) serve(ctx context.Context, c call,
	do func(context.Context, catalogue.Provider) (heldChange, error)) (err error) {
	ctx = withSubject(ctx)
	defer func() { s.Refused(ctx, c.Caller, c.id, *c.requestID, err) }()
	defer recovered(&err)
	provider, err := s.admit(ctx, c.Caller, c.provider)
	if err != nil {
		return err
	}
	if *c.requestID == "" {
		id, err := uuid.NewRandomFromReader(s.cfg.Rand)
		if err != nil {
			return fmt.Errorf("generate a request id: %w", err)
		}
		*c.requestID = "req_" + id.String()
	}
	held, err := do(ctx, provider)
	switch {
	case c.first == "": // it is not counted
	case len(held.Events) > 0:
		s.cfg.Count(c.first, provider.Code)
	case err == nil:
		s.cfg.Count(c.repeat, provider.Code)
	}
	s.deliver(ctx, held)
	return err
}

// admit returns the caller's provider if the request names no other provider and the provider's configuration
// allows calls.
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

// RateLimit returns the number of requests a second that the caller's provider may make with one key; 0 where its configuration does not
// say it.
func (s *Service) RateLimit(ctx context.Context, caller Caller) int {
	p, err := s.provider(ctx, caller.ProviderCode)
	if err != nil || p == nil {
		return 0
	}
	return p.RateLimit
}

// provider returns a provider as it was within configurationLife, or nil.
func (s *Service) provider(ctx context.Context, code string) (*catalogue.Provider, error) {
	p, err := found(s.providers.Get(s.now(), code, func() (catalogue.Provider, error) { return s.cfg.Store.Provider(ctx, code) }))
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

// owned returns the caller's checkout. Another provider's does not exist, and neither does a checkout that is only reserved.
func (s *Service) owned(ctx context.Context, caller Caller, id string) (checkout.Checkout, error) {
	if !checkout.PlausibleID(id) {
		return checkout.Checkout{}, checkout.CheckoutNotFound()
	}
	stored, err := found(s.cfg.Store.Checkout(ctx, id))
	switch {
	case err != nil:
		return checkout.Checkout{}, s.fail(ctx, "read checkout", err)
	case stored == nil, stored.ProviderCode != caller.ProviderCode, stored.Status == checkout.Reserved:
		return checkout.Checkout{}, checkout.CheckoutNotFound()
	}
	concerns(ctx, stored.About())
	return *stored, nil
}

// Refused records a call that was refused, of which the service may know nothing else because its body could not be read. It is
// recorded before it returns, in the journal of the caller's checkout with this id, or for "" of the checkout that the call has
// found already. A create without a checkout has no journal, and BUSY is no refusal.
func (s *Service) Refused(ctx context.Context, caller Caller, id, requestID string, err error) {
	refusal, ok := errors.AsType[*checkout.Error](err)
	if !ok || refusal.Code == checkout.CodeBusy {
		return
	}
	ctx, cancel := detached(withSubject(ctx), noteLimit)
	defer cancel()
	if id != "" && subjectOf(ctx).About().CheckoutID == "" {
		missing := within(ctx, noteLimit, func(ctx context.Context) error { _, err := s.owned(ctx, caller, id); return err })
		if missing != nil {
			return
		}
	}
	about, now := subjectOf(ctx).About(), s.now()
	if about.CheckoutID == "" {
		return
	}
	moment := checkout.RefusedMoment(refusal, checkout.ProviderActor(caller.KeyID), requestID, now)
	s.storeMoments(ctx, []checkout.Noted{{About: about, Moment: moment}})
}

// journal passes moments that are on record to Config.Noted.
func (s *Service) journal(ctx context.Context, about checkout.About, moments []checkout.Moment) {
	if s.cfg.Noted == nil {
		return
	}
	for _, m := range moments {
		s.cfg.Noted(ctx, checkout.Noted{About: about, Moment: m})
	}
}

// storeMoments stores moments that no change brings. What cannot be stored is lost, and reported.
func (s *Service) storeMoments(ctx context.Context, noted []checkout.Noted) {
	err := within(ctx, noteLimit, func(ctx context.Context) error { return s.cfg.Store.Note(ctx, noted) })
	if err != nil {
		s.report(ctx, Failure{Operation: OperationJournal, Severity: Warning, Err: fmt.Errorf("note %d moments: %w", len(noted), err)})
		return
	}
	for _, n := range noted {
		s.journal(ctx, n.About, []checkout.Moment{n.Moment})
	}
}

// notebook keeps what is noted off the path of requests until the scheduler stores it: pages that were opened, which may be lost.
type notebook struct {
	mu    sync.Mutex
	noted []checkout.Noted
	keys  []string        // ids of keys whose use on the day is to be stored
	used  map[string]bool // all keys that were used on the day
	day   string          // the latest one
}

// key notes that a key is used on a day, once.
func (n *notebook) key(k catalogue.Key, day string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if day > n.day {
		n.day, n.used = day, make(map[string]bool)
	}
	if k.LastUsed < day && day == n.day && !n.used[k.ID] {
		n.used[k.ID] = true
		n.keys = append(n.keys, k.ID)
	}
}

// page notes that a payer opened the setup page.
func (n *notebook) page(about checkout.About, m checkout.Moment) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.noted) < maxNotes {
		n.noted = append(n.noted, checkout.Noted{About: about, Moment: m})
	}
}

// storeNotes stores what was noted, also if ctx has ended.
func (s *Service) storeNotes(ctx context.Context) {
	n := &s.notes
	n.mu.Lock()
	noted, keys, day := n.noted, n.keys, n.day
	n.noted, n.keys = nil, nil
	n.mu.Unlock()
	if len(keys) > 0 {
		err := within(context.WithoutCancel(ctx), noteLimit, func(ctx context.Context) error { return s.cfg.Store.UseKeys(ctx, keys, day) })
		if err != nil {
			s.report(ctx, Failure{Operation: OperationJournal, Severity: Warning, Err: fmt.Errorf("note the use of %d keys: %w", len(keys), err)})
		}
	}
	if len(noted) > 0 {
		s.storeMoments(context.WithoutCancel(ctx), noted)
	}
}

// withTimeout is the context of a call that only reads: it ends with the caller, or when waitLimit is over.
func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, waitLimit)
}

// detached is the context of a call that changes something: it continues when the caller hangs up, so
// that what was begun is completed or fails as a whole.
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
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
	return ctx.Err()
}

// now is the present in the precision that stores keep.
func (s *Service) now() time.Time { return s.cfg.Now().UTC().Truncate(time.Millisecond) }

// linkLife returns the time for which a setup link of an order opens.
func (s *Service) linkLife(orderID string) time.Duration {
	if s.cfg.LinkLife != nil {
		return cmp.Or(s.cfg.LinkLife(orderID), s.cfg.SetupLifetime)
	}
	return s.cfg.SetupLifetime
}

// found returns what was read, or nil for ports.ErrNotFound.
func found[T any](v T, err error) (*T, error) {
	if errors.Is(err, ports.ErrNotFound) {
		return nil, nil
	}
	return &v, err
}

// report calls Config.Report, unless the failure is a refusal: then it is BUSY, and fail has reported the cause.
func (s *Service) report(ctx context.Context, f Failure) {
	if checkout.Refused(f.Err) {
		return
	}
	if subject := subjectOf(ctx); subject != nil {
		if known := subject.About(); f.CheckoutID == "" || f.CheckoutID == known.CheckoutID {
			f.About = known
		}
		f.RequestID = subject.requestID
	}
	s.cfg.Report(ctx, f)
}

// reportUnlessStopped reports a failure of the background work, unless that is being stopped.
func (s *Service) reportUnlessStopped(ctx context.Context, f Failure) {
	if ctx.Err() == nil {
		s.report(ctx, f)
	}
}

// fail adds to an error what failed. If the cause is a lack of time, it is reported, and the error becomes the refusal
// BUSY.
func (s *Service) fail(ctx context.Context, doing string, err error) error {
	err = fmt.Errorf("%s: %w", doing, err)
	if errors.Is(err, ports.ErrBusy) || errors.Is(err, context.DeadlineExceeded) {
		s.report(ctx, Failure{Operation: OperationServe, Severity: Warning, Err: err})
		return checkout.Busy()
	}
	return err
}

// recovered, when deferred, turns a panic in a port into an error of the method or goroutine.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}
