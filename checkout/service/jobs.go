package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// This file stores what was decided with the jobs that follow from it, leases and settles jobs, and has the CRM open and complete
// enrolments. A CRM that answers within the commit does so in the commit that stores the job; any other is called after it, first
// by the request and then by the scheduler of any process, and its answer settles the job.

const (
	// holdLimit is the time that a request holds the jobs that it enqueues, and that a lease lasts unless it is extended.
	holdLimit = 10 * time.Second
	// crmLimit is the time limit of a call of the CRM, so that its outcome is known before the lease ends.
	crmLimit = holdLimit - settleLimit
	// leastCRM is the time that must be left for a call of the CRM, of a lease or of a request.
	leastCRM = time.Second
	// settleLimit is the time limit for storing the outcome of an attempt, also when the time of a request is over.
	settleLimit = 2 * time.Second
)

// errAwaiting: the CRM has not done yet what the call waits for.
var errAwaiting = errors.New("the CRM has not answered yet")

// heldChange is a change that this process has committed, and whose CRM job and events it holds. The zero value is no change.
type heldChange struct {
	checkout.Change
	provider catalogue.Provider
	until    time.Time // the job and the events are leased to the caller until then
}

// jobEntry says how the jobs of a change of this provider's checkout enter the queue: held by the caller for a time.
func (s *Service) jobEntry(provider catalogue.Provider, hold time.Duration) checkout.JobEntry {
	return checkout.JobEntry{Now: s.now(), Hold: hold, Unsent: !provider.Destination.Configured()}
}

// update stores what decide makes of a checkout, and returns the change. An error of decide is returned unchanged.
func (s *Service) update(ctx context.Context, id string, entry checkout.JobEntry, decide decider) (checkout.Change, error) {
	d := s.decision(ctx, decide)
	err := s.cfg.Store.UpdateCheckout(ctx, id, entry, d.run)
	switch {
	case err == nil:
		s.journal(ctx, d.change.Next.About(), d.change.Moments)
		s.countEnded(d.change)
	case d.err == nil || !errors.Is(err, d.err):
		err = s.fail(ctx, "update checkout "+id, err)
	}
	return d.change, err
}

// settle settles a job with what decide makes of its checkout, and returns that change; decide may be nil. An error of decide is
// returned unchanged. It wraps ports.ErrNotFound if the lease is lost.
func (s *Service) settle(ctx context.Context, l checkout.Lease, o checkout.Outcome, entry checkout.JobEntry,
	decide decider) (checkout.Change, error) {
	d := &decision{}
	var run func(checkout.Checkout) (checkout.Change, error)
	if decide != nil {
		d = s.decision(ctx, decide)
		run = d.run
	}
	o.Pause = min(o.Pause, l.Job.Kind.LongestPause(l.Attempts+o.Attempts)) // a longer one would be over at once
	err := s.cfg.Store.Settle(ctx, l, o, entry, run)
	switch {
	case err == nil:
		s.journal(ctx, d.change.Next.About(), d.change.Moments)
		s.journal(ctx, l.Job.About(), o.Moments)
	case d.err == nil || !errors.Is(err, d.err):
		err = fmt.Errorf("settle job %s: %w", l.Job.ID, err)
	}
	return d.change, err
}

// settleAttempt settles an attempt that changes nothing of the checkout, also when the time for the attempt is over. That another
// has the job by now is no error.
func (s *Service) settleAttempt(ctx context.Context, l checkout.Lease, o checkout.Outcome) error {
	ctx, cancel := detached(ctx, settleLimit)
	defer cancel()
	if _, err := s.settle(ctx, l, o, checkout.JobEntry{Now: s.now()}, nil); !lost(err) {
		return err
	}
	return nil
}

// extend has a lease last for a time from now on; 0 gives the job back.
func (s *Service) extend(ctx context.Context, l checkout.Lease, d time.Duration) error {
	return within(ctx, settleLimit, func(ctx context.Context) error { return s.cfg.Store.Extend(ctx, l, s.now(), d) })
}

// lease leases jobs. The query's time must not be older than checkout.MaxLease allows for when it takes effect.
func (s *Service) lease(ctx context.Context, q checkout.JobQuery) (leases []checkout.Lease, err error) {
	q.Now, q.For = s.now(), holdLimit
	err = within(ctx, waitLimit, func(ctx context.Context) (err error) { leases, err = s.cfg.Store.Lease(ctx, q); return err })
	if err != nil {
		return nil, fmt.Errorf("lease jobs: %w", err)
	}
	return leases, nil
}

// withinCommit returns the change with the answer to its CRM job, if the CRM answers within the commit, and the events that the
// provider lists.
func (s *Service) withinCommit(change checkout.Change, provider catalogue.Provider) (checkout.Change, error) {
	if !s.crmInfo.WithinCommit {
		return change, nil
	}
	at := change.Next.CreatedAt
	if change.Agreement != nil {
		at = change.Agreement.AcceptedAt
	}
	e := enrolment{checkout: change.Next, agreement: change.Agreement, document: change.Document}
	decide, err := s.askCRM(context.Background(), e)
	if err != nil {
		return checkout.Change{}, err
	}
	answer, err := decide(change.Next, at)
	return change.Answered(answer), err
}

// attemptHeld makes the first attempt at the CRM job of a change that was committed, which the caller holds. A change without
// such a job is answered already. Its errors are the errors of attemptCRMJob.
func (s *Service) attemptHeld(ctx context.Context, change checkout.Change, provider catalogue.Provider,
	entry checkout.JobEntry) (heldChange, error) {
	for _, j := range change.Jobs {
		if j.Kind == checkout.JobOpen || j.Kind == checkout.JobComplete {
			e := enrolment{checkout: change.Next, agreement: change.Agreement, document: change.Document}
			held, err := s.attemptCRMJob(ctx, checkout.Lease{Job: j, Token: 1, Until: entry.Now.Add(entry.Hold)}, e, provider, holdLimit)
			return held, s.failWaiting(ctx, err)
		}
	}
	return heldChange{change, provider, entry.Now.Add(entry.Hold)}, nil
}

// await makes an attempt at the CRM job that a request waits for, if it is due. It returns errAwaiting if that is not done, and
// BUSY if the CRM does not answer at all, or an administrator must do something first.
func (s *Service) await(ctx context.Context, kind checkout.JobKind, stored checkout.Checkout,
	provider catalogue.Provider) (heldChange, error) {
	if s.crm.Open() {
		return heldChange{}, checkout.Busy()
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < leastCRM+settleLimit {
		return heldChange{}, errAwaiting // the scheduler has more time for it
	}
	id := string(kind) + ":" + stored.ID
	leases, err := s.lease(ctx, checkout.JobQuery{Kinds: []checkout.JobKind{kind}, CheckoutID: stored.ID, ID: id, Limit: 1})
	switch {
	case err != nil:
		return heldChange{}, s.fail(ctx, "wait for the CRM", err)
	case len(leases) == 1:
		held, err := s.attemptLeased(ctx, leases[0], provider, holdLimit)
		return held, s.failWaiting(ctx, err)
	}
	jobs, err := s.cfg.Store.Jobs(ctx, checkout.JobFilter{CheckoutID: stored.ID, ID: id, State: checkout.JobPending}, 1)
	switch {
	case err != nil:
		return heldChange{}, s.fail(ctx, "read job "+id, err)
	case len(jobs) == 1 && refusedLatest(jobs[0]):
		return heldChange{}, checkout.Busy()
	}
	return heldChange{}, errAwaiting
}

// refusedCursor is the cursor of a job that the CRM refused at the attempt with this token.
func refusedCursor(token int64) string { return fmt.Sprint("refused ", token) }

// refusedLatest reports whether the CRM refused the latest attempt at a job, which then waits for an administrator.
func refusedLatest(j checkout.JobRecord) bool { return j.Cursor == refusedCursor(j.Token) }

// failWaiting returns the error of an attempt for the request that waits for it: a failure of the store becomes BUSY where it may
// pass.
func (s *Service) failWaiting(ctx context.Context, err error) error {
	if answered(err) || checkout.Refused(err) || errors.Is(err, errAwaiting) {
		return err
	}
	return s.fail(ctx, "wait for the CRM", err)
}

// attemptLeased makes an attempt at a CRM job, with what is on record of its checkout.
func (s *Service) attemptLeased(ctx context.Context, l checkout.Lease, provider catalogue.Provider,
	hold time.Duration) (heldChange, error) {
	c, err := s.cfg.Store.Checkout(ctx, l.Job.CheckoutID)
	if err != nil {
		return heldChange{}, fmt.Errorf("read checkout %s: %w", l.Job.CheckoutID, err)
	}
	e := enrolment{checkout: c, ends: l.Job.Kind == checkout.JobEnd}
	if l.Job.Kind == checkout.JobComplete {
		if e, err = s.conclusionOf(ctx, c); err != nil {
			return heldChange{}, err
		}
	}
	return s.attemptCRMJob(ctx, l, e, provider, hold)
}

// attemptCRMJob makes one attempt at a CRM job, and settles it. The events of the change that the answer leads to are held by the
// caller for a time. It returns errAwaiting if the job is to be attempted again, BUSY if there is no use in waiting for that, and
// a *checkout.CRMRefusal if the CRM refused to open the enrolment: then the reservation is gone.
func (s *Service) attemptCRMJob(ctx context.Context, l checkout.Lease, e enrolment, provider catalogue.Provider,
	hold time.Duration) (heldChange, error) {
	limit := min(crmLimit, l.Until.Sub(s.now())-settleLimit) // the store may have taken long to answer
	if end, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(end)-settleLimit)
	}
	if limit < leastCRM {
		return heldChange{}, errAwaiting
	}
	calling, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	decide, err := s.askCRM(calling, e)
	s.noteCRMAnswer(ctx, err)
	settling, cancel := detached(ctx, settleLimit)
	defer cancel()
	if err != nil {
		return heldChange{}, s.settleFailure(settling, l, err)
	}
	s.cfg.Count(CountStepDone, l.Job.ProviderCode)
	outcome := checkout.Outcome{State: checkout.JobDone, Attempts: 1, Moments: []checkout.Moment{{At: s.now(),
		Kind: checkout.MomentCRMDone, Actor: checkout.ActorCRM, RequestID: l.Job.RequestID, Detail: string(l.Job.Kind), Times: 1}}}
	entry := s.jobEntry(provider, hold)
	change, err := s.settle(settling, l, outcome, entry, func(c checkout.Checkout, now time.Time) (checkout.Change, error) {
		change, err := decide(c, now)
		return change, err
	})
	switch {
	case lost(err):
		return heldChange{}, errAwaiting
	case errors.Is(err, checkout.ErrOutdated): // the CRM has what was so when it was called
		return heldChange{}, cmp.Or(s.extend(settling, l, 0), errAwaiting)
	case err != nil:
		return heldChange{}, err
	default:
		return heldChange{change, provider, entry.Now.Add(entry.Hold)}, nil
	}
}

// lost reports whether an error says that another holder has the job, or that it is settled.
func lost(err error) bool {
	return errors.Is(err, checkout.ErrSettled) || errors.Is(err, ports.ErrNotFound)
}

// answered reports whether the CRM answered a call, if only to refuse it.
func answered(err error) bool {
	_, refused := errors.AsType[*checkout.CRMRefusal](err)
	return err == nil || refused
}

// enrolment is a request to the CRM: to open the enrolment of a checkout, to complete it with the agreement and its document, to
// update the authority of a complete one, or to record its end.
type enrolment struct {
	checkout  checkout.Checkout
	ends      bool
	agreement *agreement.Agreement // nil unless to complete it
	document  *agreement.Document
}

// conclusionOf reads the agreement of a checkout, and its document where there is one.
func (s *Service) conclusionOf(ctx context.Context, c checkout.Checkout) (enrolment, error) {
	number := c.Confirmation.AgreementNumber
	a, err := s.cfg.Store.Agreement(ctx, number)
	if err != nil {
		return enrolment{}, fmt.Errorf("read agreement %s: %w", number, err)
	}
	document, err := found(s.cfg.Store.Document(ctx, number))
	if err != nil {
		return enrolment{}, fmt.Errorf("read the document of agreement %s: %w", number, err)
	}
	return enrolment{checkout: c, agreement: &a, document: document}, nil
}

// askCRM has the CRM open or complete an enrolment, update the authority of a complete one, or record its end, and returns what its
// answer makes of the checkout. A CRM that panics has failed.
func (s *Service) askCRM(ctx context.Context, e enrolment) (decide decider, err error) {
	defer recovered(&err)
	c, key := e.checkout, s.enrolmentKey(e.checkout)
	switch {
	case e.ends:
		err := s.cfg.CRM.End(ctx, checkout.Ending{EnrolmentKey: key, Records: c.Records, End: c.End, Withdrawn: c.Withdrawn()})
		return func(stored checkout.Checkout, _ time.Time) (checkout.Change, error) {
			return checkout.Change{Next: stored}, nil
		}, err
	case c.Status == checkout.Confirmed:
		err := s.cfg.CRM.UpdateAuthority(ctx, checkout.AuthorityUpdate{EnrolmentKey: key, Records: c.Records, Setup: c.Setup})
		return func(stored checkout.Checkout, _ time.Time) (checkout.Change, error) { return stored.Reported(c.Setup) }, err
	case e.agreement == nil:
		records, err := s.cfg.CRM.Open(ctx, checkout.Enrolment{EnrolmentKey: key, CheckoutID: c.ID, Student: c.Student,
			CourseCode: c.CourseCode, Intent: c.Intent})
		return func(stored checkout.Checkout, now time.Time) (checkout.Change, error) {
			return stored.Opened(records, checkout.Opening{Now: now, Environment: s.cfg.Environment,
				Token: s.cfg.Keyring.Issue(1, now.Add(s.linkLife(c.OrderID)))})
		}, err
	}
	completed, err := s.cfg.CRM.Complete(ctx, checkout.Completion{EnrolmentKey: key, Records: c.Records, Agreement: *e.agreement,
		Document: e.document, Setup: c.Setup})
	return func(stored checkout.Checkout, now time.Time) (checkout.Change, error) {
		return stored.Completed(*e.agreement, completed.AgreementID, completed.DocumentID, s.cfg.Environment, now)
	}, err
}

// noteCRMAnswer has the breaker know how a call of the CRM ended, and reports when creates and confirms begin and cease to be
// refused. A CRM that takes no more calls of one kind may take calls of another: it says so itself, and need not be spared.
func (s *Service) noteCRMAnswer(ctx context.Context, err error) {
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

// settleFailure stores that an attempt failed, and reports it. A refusal to open releases the reservation.
func (s *Service) settleFailure(ctx context.Context, l checkout.Lease, failure error) error {
	refusal, refused := errors.AsType[*checkout.CRMRefusal](failure)
	opening, now := l.Job.Kind == checkout.JobOpen, s.now()
	outcome := checkout.Outcome{State: checkout.JobPending, Attempts: 1, Pause: checkout.CRMPause(l.Attempts+1, refused),
		Failure: checkout.FailureOf(failure, now)}
	counted, severity, detail := CountStepUnknown, Warning, string(l.Job.Kind)+": no answer"
	if refused {
		counted, detail = CountStepRefused, string(l.Job.Kind)+": refused"
		outcome.Cursor = refusedCursor(l.Token)
	}
	if refused && !opening { // no caller can do anything about it
		severity = Error
	}
	s.cfg.Count(counted, l.Job.ProviderCode)
	s.report(ctx, Failure{Operation: OperationCRM, Severity: severity, About: l.Job.About(), Attempt: l.Attempts + 1,
		Err: fmt.Errorf("%s in the CRM: %w", l.Job.Kind, failure)})
	// The first attempt that fails for a reason is a moment, and the others are counted in it.
	outcome.Moments = []checkout.Moment{{At: now, Kind: checkout.MomentCRMWaits, Actor: checkout.ActorCRM, RequestID: l.Job.RequestID,
		Detail: detail, Once: "crm " + detail, Times: 1}}
	var decide decider
	if refused && opening && (refusal.OtherIntent || !refusal.Made) {
		outcome = checkout.Outcome{State: checkout.JobDone, Attempts: 1}
		decide = func(c checkout.Checkout, _ time.Time) (checkout.Change, error) { return c.Released() }
	}
	_, err := s.settle(ctx, l, outcome, checkout.JobEntry{Now: s.now()}, decide)
	switch {
	case lost(err):
		return errAwaiting
	case err != nil:
		return err
	case decide != nil: // there is no such checkout any more
		concerns(ctx, checkout.About{OrderID: l.Job.OrderID, ProviderCode: l.Job.ProviderCode})
		return refusal
	case refused && opening:
		return refusal
	case errors.Is(failure, ports.ErrBusy), refused: // there is no use in waiting for it
		return checkout.Busy()
	}
	return errAwaiting
}

func (s *Service) enrolmentKey(c checkout.Checkout) checkout.EnrolmentKey {
	return checkout.EnrolmentKey{Environment: s.cfg.Environment, ProviderCode: c.ProviderCode, OrderID: c.OrderID}
}

// enrolLater has the CRM do a job that a request left behind. The events of the change are left to the scheduler, so that a receiver
// that hangs delays no enrolments. A failure of the CRM is no error here: attemptCRMJob has reported it.
func (s *Service) enrolLater(ctx context.Context, l checkout.Lease) error {
	if l.Job.Kind == checkout.JobEnd && s.crmInfo.WithinCommit { // an operator's act; the records have the end
		return s.settleAttempt(ctx, l, checkout.Outcome{State: checkout.JobDropped})
	}
	provider, err := s.providerOf(ctx, l.Job.ProviderCode)
	if err != nil {
		return err
	}
	held, err := s.attemptLeased(ctx, l, provider, 0)
	switch _, refused := errors.AsType[*checkout.CRMRefusal](err); {
	case refused, errors.Is(err, errAwaiting):
		return nil
	case err != nil:
		return err
	}
	switch l.Job.Kind {
	case checkout.JobOpen:
		s.cfg.Count(CountCreate, l.Job.ProviderCode)
	case checkout.JobComplete:
		s.cfg.Count(CountConfirm, l.Job.ProviderCode)
	}
	s.countUnsent(held)
	return nil
}

// probeCRM finds out whether a CRM that has no job to do answers again.
func (s *Service) probeCRM(ctx context.Context) {
	s.noteCRMAnswer(ctx, within(ctx, readyLimit, s.cfg.CRM.Ready))
}
