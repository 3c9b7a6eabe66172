package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file makes the calls of a CRM outside of the store. What a call is for is stored before it is made, as the
// checkout's step (checkout.Step), and what came of it after; a request makes the first attempt, and the completer of any
// process those that follow.

const (
	// stepLease is how long a step is leased: stepLimit for the call, and the rest to store what came of it.
	stepLease = 15 * time.Second
	stepLimit = 12 * time.Second
	// settleLimit is how long storing that may take, also when the time of a request is over.
	settleLimit = 2 * time.Second
	// agreedLimit is how long a confirm asks for an agreement that is on record in the CRM.
	agreedLimit = 4 * time.Second

	completeEvery = time.Second
	completeBatch = 200 // steps at a time
	completers    = 8
)

// errAwaiting: the CRM has not done yet what the call waits for.
var errAwaiting = errors.New("the CRM has not answered yet")

// advanced is a step that was done, with what its hook and its events need. The zero advanced is none.
type advanced struct {
	change    checkout.Change
	agreement *agreement.Agreement // of a checkout that was confirmed
	provider  catalogue.Provider
}

// announce calls the hook and delivers the events of a checkout that was opened or confirmed, after its commit.
func (s *Service) announce(ctx context.Context, done advanced) {
	if len(done.change.Events) > 0 {
		s.callHook(ctx, done)
		s.deliver(ctx, done.provider, done.change.Events)
	}
}

// callHook calls the hook of a checkout that was opened or confirmed.
func (s *Service) callHook(ctx context.Context, done advanced) {
	c := done.change.Next
	switch created, confirmed := s.cfg.Hooks.Created, s.cfg.Hooks.Confirmed; {
	case done.agreement == nil && created != nil:
		s.call(ctx, c.ID, func() { created(ctx, c) })
	case done.agreement != nil && confirmed != nil:
		s.call(ctx, c.ID, func() { confirmed(ctx, c, *done.agreement) })
	}
}

// await does the step that a request waits for, if it is due. It returns errAwaiting if it is not done, and BUSY if the CRM
// does not answer at all, or an administrator must do something first.
func (s *Service) await(ctx context.Context, stored checkout.Checkout) (advanced, error) {
	switch {
	case s.crm.Open():
		return advanced{}, checkout.Busy()
	case stored.Step.Due(s.now()):
		return s.advance(ctx, stored.ID, leaseDuration)
	case stored.Step.Until.Sub(s.now()) > stepLease: // it was refused, and waits for an administrator
		return advanced{}, checkout.Busy()
	}
	return advanced{}, errAwaiting
}

// advance leases the step of a checkout that is due, and makes one attempt at it. The events that come of it are leased to
// the caller for a time.
func (s *Service) advance(ctx context.Context, id string, events time.Duration) (advanced, error) {
	now := s.now()
	leased, err := s.update(ctx, id, ports.Enqueue{}, func(c checkout.Checkout) (checkout.Change, error) {
		return c.Lease(now, now.Add(stepLease))
	})
	switch {
	case errors.Is(err, checkout.ErrNotDue), errors.Is(err, ports.ErrNotFound): // another was quicker
		return advanced{}, errAwaiting
	case err != nil:
		return advanced{}, fmt.Errorf("lease the step: %w", err)
	}
	return s.attemptStep(ctx, leased.Next, events)
}

// attemptStep makes one attempt at the step of a checkout, which the caller has leased, and stores what came of it. It
// returns errAwaiting if the step is to be attempted again, and a *ports.CRMRefusal if the CRM refused an open: then the
// reservation is gone.
func (s *Service) attemptStep(ctx context.Context, leased checkout.Checkout, events time.Duration) (advanced, error) {
	provider, err := s.providerOf(ctx, leased)
	if err != nil {
		return advanced{}, err
	}
	done := advanced{provider: provider}
	call, err := s.stepCall(ctx, leased, &done)
	var decide decideStep
	if err == nil {
		// A call ends well before the lease, so that it is known by then what came of it.
		calling, cancel := context.WithTimeout(ctx, min(stepLimit, leased.Step.Until.Sub(s.now())-settleLimit))
		defer cancel()
		decide, err = called(calling, call)
		s.noteAnswer(ctx, err)
		s.countStep(err)
	}
	settling, cancel := detached(ctx, settleLimit)
	defer cancel()
	if err != nil {
		return advanced{}, s.settleFailure(settling, leased, err)
	}
	done.change, err = s.update(settling, leased.ID, enqueue(provider, s.now(), events), decide)
	if lost(err) {
		return advanced{}, errAwaiting
	}
	return done, err
}

// decideStep decides what came of a step's call.
type decideStep = func(checkout.Checkout) (checkout.Change, error)

// called makes the call of a step. A CRM that panics has failed.
func called(ctx context.Context, call func(context.Context) (decideStep, error)) (decide decideStep, err error) {
	defer recovered(&err)
	return call(ctx)
}

// lost reports whether an error says that another has the step, or that it is done.
func lost(err error) bool {
	return errors.Is(err, checkout.ErrLeaseLost) || errors.Is(err, ports.ErrNotFound)
}

// answered reports whether the CRM answered a call, if only to refuse it.
func answered(err error) bool {
	_, refused := errors.AsType[*ports.CRMRefusal](err)
	return err == nil || refused
}

// stepCall reads what the call of a step needs, and returns the call. done gets the agreement of a completion.
func (s *Service) stepCall(ctx context.Context, leased checkout.Checkout, done *advanced) (func(context.Context) (decideStep, error), error) {
	if leased.Step.Kind == checkout.StepOpen {
		return func(ctx context.Context) (decideStep, error) { return s.openRecords(ctx, leased) }, nil
	}
	number := leased.Confirmation.AgreementNumber
	agreed, err := s.cfg.Store.Agreement(ctx, number)
	if err != nil {
		return nil, fmt.Errorf("read agreement %s: %w", number, err)
	}
	document, err := found(s.cfg.Store.Document(ctx, number))
	if err != nil {
		return nil, fmt.Errorf("read the document of agreement %s: %w", number, err)
	}
	done.agreement = &agreed
	completion := ports.Completion{EnrolmentKey: s.enrolmentKey(leased), Records: leased.Records, Agreement: agreed,
		Document: document, Setup: leased.Setup}
	return func(ctx context.Context) (decideStep, error) {
		return s.completeEnrolment(ctx, leased.Step, completion)
	}, nil
}

// noteAnswer has the breaker know how a call of the CRM ended, and reports when creates and confirms begin and cease to be
// refused. A CRM that takes no more calls of one kind may take those of another: it says so itself, and need not be spared.
func (s *Service) noteAnswer(ctx context.Context, err error) {
	if errors.Is(err, ports.ErrBusy) {
		return
	}
	switch changed := s.crm.Done(answered(err), s.now()); {
	case changed && s.crm.Open():
		s.report(ctx, Failure{Operation: OperationCRM, Severity: Warning,
			Err: fmt.Errorf("the CRM does not answer: creates and first confirms are refused until it does: %w", err)})
	case changed:
		s.report(ctx, Failure{Operation: OperationCRM, Severity: Warning, Err: errors.New("the CRM answers again")})
	}
}

// openRecords has the CRM make the records of a reserved checkout, and returns how it is opened with them.
func (s *Service) openRecords(ctx context.Context, c checkout.Checkout) (decideStep, error) {
	records, err := s.cfg.CRM.Open(ctx, ports.Enrolment{EnrolmentKey: s.enrolmentKey(c), CheckoutID: c.ID, Student: c.Student,
		CourseCode: c.CourseCode, Intent: c.Intent})
	if err != nil {
		return nil, err
	}
	now := s.now()
	opening := checkout.Opening{ID: c.ID, Now: now, Environment: s.cfg.Environment,
		Token: s.cfg.Keyring.Issue(1, now.Add(s.cfg.SetupLifetime))}
	return func(stored checkout.Checkout) (checkout.Change, error) {
		return stored.Opened(c.Step, records, opening)
	}, nil
}

// completeEnrolment has the CRM store the agreement of a checkout and complete its enrolment, and returns how the checkout
// is confirmed.
func (s *Service) completeEnrolment(ctx context.Context, lease checkout.Step, c ports.Completion) (decideStep, error) {
	completed, err := s.cfg.CRM.Complete(ctx, c)
	if err != nil {
		return nil, err
	}
	now := s.now()
	return func(stored checkout.Checkout) (checkout.Change, error) {
		return stored.Completed(lease, c.Agreement, completed.AgreementID, completed.DocumentID, s.cfg.Environment, now)
	}, nil
}

// settleFailure stores that an attempt failed, and reports it. A refusal to open releases the reservation.
func (s *Service) settleFailure(ctx context.Context, leased checkout.Checkout, failure error) error {
	refusal, refused := errors.AsType[*ports.CRMRefusal](failure)
	opening := leased.Step.Kind == checkout.StepOpen
	released := refused && opening && (refusal.OtherIntent || !refusal.Made)
	severity, outcome := Warning, checkout.StepUnknown
	if refused {
		outcome = checkout.StepRefused
	}
	if refused && !opening { // no caller can do anything about it
		severity = Error
	}
	s.report(ctx, Failure{Operation: OperationCRM, Severity: severity, CheckoutID: leased.ID, Attempt: int(leased.Step.Epoch),
		Err: fmt.Errorf("%s in the CRM: %w", leased.Step.Kind, failure)})
	now := s.now()
	_, err := s.update(ctx, leased.ID, ports.Enqueue{}, func(c checkout.Checkout) (checkout.Change, error) {
		if released {
			return c.Release(leased.Step)
		}
		return c.Postpone(leased.Step, outcome, bounded.Text(failure.Error(), maxFailure), now)
	})
	switch {
	case lost(err):
		return errAwaiting
	case err != nil:
		return err
	case refused && opening:
		return refusal
	case errors.Is(failure, ports.ErrBusy), refused: // there is no use in waiting for it
		return checkout.Busy()
	}
	return errAwaiting
}

// maxFailure is how many bytes of a failure are stored.
const maxFailure = 300

func (s *Service) enrolmentKey(c checkout.Checkout) ports.EnrolmentKey {
	return ports.EnrolmentKey{Environment: s.cfg.Environment, ProviderCode: c.ProviderCode, OrderID: c.OrderID}
}

// providerOf returns the provider of a checkout: only its code if the operator removed it.
func (s *Service) providerOf(ctx context.Context, c checkout.Checkout) (catalogue.Provider, error) {
	p, err := found(s.configured.provider(ctx, s.now(), c.ProviderCode))
	switch {
	case err != nil:
		return catalogue.Provider{}, s.fail(ctx, "read provider "+c.ProviderCode, err)
	case p == nil:
		return catalogue.Provider{Code: c.ProviderCode}, nil
	}
	return *p, nil
}

// agreedInCRM returns what the CRM has on record of the agreement of a checkout that has none here, or nil.
func (s *Service) agreedInCRM(ctx context.Context, c checkout.Checkout) (agreed *ports.Agreed, err error) {
	if s.crm.Open() {
		return nil, checkout.Busy()
	}
	ctx, cancel := context.WithTimeout(ctx, agreedLimit)
	defer cancel()
	func() {
		defer recovered(&err)
		agreed, err = found(s.cfg.CRM.Agreed(ctx, s.enrolmentKey(c)))
	}()
	s.noteAnswer(ctx, err)
	switch {
	case err != nil: // whether there is an agreement is not known
		s.report(ctx, Failure{Operation: OperationCRM, Severity: Warning, CheckoutID: c.ID, Err: fmt.Errorf("look for an agreement in the CRM: %w", err)})
		return nil, checkout.Busy()
	case agreed != nil:
		s.report(ctx, Failure{Operation: OperationCRM, Severity: Error, CheckoutID: c.ID, Err: fmt.Errorf("agreement %s of this "+
			"checkout is in the CRM and not in this store, which was restored to an earlier moment: it is concluded again as it was",
			agreed.Number)})
	}
	return agreed, nil
}

// completeSteps attempts the steps that are due: those that a crash cut off, and those that were put off. While the CRM
// does not answer it makes one call a second, to find out whether it does again.
func (s *Service) completeSteps(ctx context.Context) {
	ids, err := s.dueSteps(ctx)
	if err != nil {
		s.failed(ctx, Failure{Operation: OperationComplete, Severity: Error, Err: err})
		return
	}
	switch probe := s.crm.Probe(s.now()); {
	case probe && len(ids) == 0:
		s.noteAnswer(ctx, s.crmIsReady(ctx))
		return
	case probe:
		ids = ids[:1]
	case s.crm.Open():
		return
	}
	inParallel(completers, ids, func(id string) {
		if ctx.Err() != nil || len(ids) > 1 && s.crm.Open() {
			return
		}
		if err := s.completeStep(ctx, id); err != nil {
			s.failed(ctx, Failure{Operation: OperationComplete, Severity: Error, CheckoutID: id, Err: err})
		}
	})
}

// crmIsReady is a probe for the breaker. What it finds is reported when it changes.
func (s *Service) crmIsReady(ctx context.Context) (err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	return s.cfg.CRM.Ready(ctx)
}

func (s *Service) dueSteps(ctx context.Context) (ids []string, err error) {
	defer recovered(&err)
	ids, err = s.cfg.Store.DueSteps(ctx, s.now(), completeBatch)
	if err != nil {
		return nil, fmt.Errorf("list the due steps: %w", err)
	}
	return ids, nil
}

// completeStep makes one attempt at a step that is due. A failure of the CRM is reported by the attempt. The events are left
// to recovery, so that a receiver that hangs delays no steps.
func (s *Service) completeStep(ctx context.Context, id string) (err error) {
	defer recovered(&err)
	done, err := s.advance(ctx, id, 0)
	_, refused := errors.AsType[*ports.CRMRefusal](err)
	if errors.Is(err, errAwaiting) || refused {
		return nil
	}
	if err != nil {
		return err
	}
	s.countAdvanced(done)
	s.countUnsent(done.provider, done.change.Events)
	s.callHook(ctx, done)
	return nil
}

// Steps returns how many checkouts wait for the CRM outside of the store, and for how long the oldest has, which is 0 if
// there is none.
func (s *Service) Steps(ctx context.Context) (waiting int, age time.Duration, err error) {
	defer recovered(&err)
	waiting, oldest, err := s.cfg.Store.StepBacklog(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("count the steps: %w", err)
	}
	if waiting > 0 {
		age = max(0, s.now().Sub(oldest))
	}
	return waiting, age, nil
}
