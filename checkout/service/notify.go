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
	"github.com/provider-checkout/provider-checkout/checkout/service/bounded"
	"github.com/provider-checkout/provider-checkout/checkout/service/breaker"
	"github.com/provider-checkout/provider-checkout/checkout/service/letter"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	notifyEvery = time.Second
	notifyBatch = 100 // notices at a time
	notifiers   = 4

	// noticeLease is how long a notice is leased: notifyLimit for the attempt, and the rest to store what came of it.
	noticeLease = time.Minute
	notifyLimit = 45 * time.Second
	// notifyGrace is how long an attempt may go on when the service stops: one that is cut off may have been taken over, and then
	// the payer gets two copies.
	notifyGrace = 5 * time.Second
	// longestNotifyPause is how long a notifier that does not answer is left alone at most, before one notice is tried.
	longestNotifyPause = time.Minute

	// maxAnswer is how many bytes of an answer are stored.
	maxAnswer = 300
)

// notifier sends the notices that are due. Every process with a Config.Notifier has one.
type notifier struct {
	*Service
	answers *breaker.Breaker // of Config.Notifier
}

func newNotifier(s *Service) *notifier {
	return &notifier{s, breaker.New(notifyEvery, longestNotifyPause)}
}

// send attempts the notices that are due. While no notice can be sent, it tries one now and then.
func (n *notifier) send(ctx context.Context) {
	due, err := n.due(ctx)
	if err != nil {
		n.failed(ctx, Failure{Operation: OperationNotify, Severity: Error, Err: err})
		return
	}
	probing := n.answers.Open()
	if probing {
		if len(due) == 0 || !n.answers.Probe(n.now()) {
			return
		}
		due = due[:1]
	}
	ids, byID := make([]string, len(due)), make(map[string]ports.DueNotice, len(due))
	for i, d := range due {
		ids[i], byID[d.Notice.ID] = d.Notice.ID, d
	}
	inParallel(notifiers, ids, func(id string) {
		if ctx.Err() != nil || !probing && n.answers.Open() {
			return
		}
		d := byID[id]
		if err := n.sendOne(ctx, d); err != nil {
			n.failed(ctx, Failure{Operation: OperationNotify, Severity: Error, CheckoutID: d.Notice.CheckoutID, Err: err})
		}
	})
}

func (n *notifier) due(ctx context.Context) (due []ports.DueNotice, err error) {
	defer recovered(&err)
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	if due, err = n.cfg.Store.DueNotices(ctx, n.now(), notifyBatch); err != nil {
		return nil, fmt.Errorf("list the due notices: %w", err)
	}
	return due, nil
}

// sendOne makes one attempt at a notice, and records what it came to.
func (n *notifier) sendOne(ctx context.Context, d ports.DueNotice) (err error) {
	defer recovered(&err)
	epoch, err := n.cfg.Store.LeaseNotice(ctx, d.Notice.ID, d.Epoch, n.now().Add(noticeLease))
	switch {
	case errors.Is(err, ports.ErrNotFound): // another was quicker
		return nil
	case err != nil:
		return fmt.Errorf("lease notice %s: %w", d.Notice.ID, err)
	}
	// A failure to record comes after the attempt: the notice is sent again when the lease has ended, under the same id.
	return n.settle(ctx, d.Notice, epoch, n.attempt(ctx, d))
}

// attempt makes the next attempt.
func (n *notifier) attempt(ctx context.Context, d ports.DueNotice) ports.NoticeOutcome {
	attempting, cancel := detached(ctx, notifyLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(notifyGrace, cancel) })()
	written, needed, err := n.write(attempting, d.Notice)
	switch {
	case err != nil:
		return n.failedAttempt(ctx, d, err)
	case !needed:
		return ports.NoticeOutcome{Status: checkout.NoticeDropped}
	}
	receipt, err := n.hand(attempting, written)
	n.noteAnswer(ctx, !errors.Is(err, ports.ErrBusy))
	if err != nil {
		return n.failedAttempt(ctx, d, err)
	}
	receipt.Reference, receipt.Answer = bounded.Text(receipt.Reference, maxAnswer), bounded.Text(receipt.Answer, maxAnswer)
	return ports.NoticeOutcome{Status: checkout.NoticeSent, Attempts: 1, SentAt: n.now(), Receipt: receipt}
}

// hand passes a notice to the notifier. One that panics has failed.
func (n *notifier) hand(ctx context.Context, written ports.PayerNotice) (r ports.Receipt, err error) {
	defer recovered(&err)
	return n.cfg.Notifier.Notify(ctx, written)
}

// noteAnswer reports when the notifier ceases to answer, and when it answers again.
func (n *notifier) noteAnswer(ctx context.Context, answered bool) {
	switch changed := n.answers.Done(answered, n.now()); {
	case changed && !answered:
		n.report(ctx, Failure{Operation: OperationNotify, Severity: Error, Err: errors.New("no notice to a payer can be sent: they wait until one can")})
	case changed:
		n.report(ctx, Failure{Operation: OperationNotify, Severity: Warning, Err: errors.New("notices to payers can be sent again")})
	}
}

// failedAttempt reports an attempt that failed, and returns whether and when the notice is attempted again.
func (n *notifier) failedAttempt(ctx context.Context, d ports.DueNotice, err error) ports.NoticeOutcome {
	now, number := n.now(), d.Attempts+1
	outcome := ports.NoticeOutcome{Status: checkout.NoticePending, Attempts: 1,
		Failure: ports.Failure{At: now, Reason: bounded.Text(err.Error(), maxAnswer)}}
	severity := Warning
	due, again := checkout.NextAttempt(number, now)
	_, refused := errors.AsType[*ports.NoticeRefusal](err)
	switch {
	case errors.Is(err, ports.ErrBusy):
		outcome.Attempts, outcome.Due = 0, now.Add(longestNotifyPause)
	case refused, !again:
		outcome.Status, severity = checkout.NoticeFailed, Error
		err = fmt.Errorf("it is given up: %w", err)
	default:
		outcome.Due = due
	}
	n.report(ctx, Failure{Operation: OperationNotify, Severity: severity, CheckoutID: d.Notice.CheckoutID, Attempt: number,
		Err: fmt.Errorf("notice %s of the %s: %w", d.Notice.ID, d.Notice.Kind, err)})
	return outcome
}

// settle records what an attempt came to, also when the service stops.
func (n *notifier) settle(ctx context.Context, notice checkout.Notice, epoch int64, outcome ports.NoticeOutcome) error {
	ctx, cancel := detached(ctx, waitLimit)
	defer cancel()
	err := n.cfg.Store.SettleNotice(ctx, notice.ID, epoch, outcome)
	switch {
	case errors.Is(err, ports.ErrNotFound): // the holder of the lease settles it
		return nil
	case err != nil:
		return fmt.Errorf("record that notice %s is %s: %w", notice.ID, outcome.Status, err)
	}
	n.countNotice(outcome.Status)
	return nil
}

// write writes a notice from what is on record now, and reports whether it is needed.
func (s *Service) write(ctx context.Context, n checkout.Notice) (written ports.PayerNotice, needed bool, err error) {
	defer recovered(&err)
	c, err := s.cfg.Store.Checkout(ctx, n.CheckoutID)
	if err != nil {
		return written, false, fmt.Errorf("read checkout %s: %w", n.CheckoutID, err)
	}
	if !n.Needed(c) {
		return written, false, nil
	}
	written = ports.PayerNotice{ID: n.ID, At: n.CreatedAt,
		To: ports.Addressee{Name: c.Student.FirstName + " " + c.Student.LastName, Email: c.Student.Email}}
	var l letter.Letter
	if n.Kind == checkout.NoticeOfSetup {
		l, err = s.letterOfSetup(ctx, c, &written)
	} else {
		l, err = s.letterOfAgreement(ctx, c, &written)
	}
	written.Subject, written.Text, written.HTML = l.Subject, l.Text, l.HTML
	return written, err == nil, err
}

func (s *Service) letterOfSetup(ctx context.Context, c checkout.Checkout, into *ports.PayerNotice) (letter.Letter, error) {
	provider, err := s.providerOf(ctx, c)
	if err != nil {
		return letter.Letter{}, err
	}
	provider.Name = cmp.Or(provider.Name, provider.Code) // of one that the operator removed
	page := s.pageOf(SetupPage{Provider: provider, LenderTerms: s.cfg.Terms}, c)
	into.ReplyTo = provider.Branding.SupportEmail
	return letter.OfSetup(letter.Setup{Checkout: c, Provider: page.DebitTerms.Provider, Contact: into.ReplyTo,
		Completed: page.Completed, Terms: page.DebitTerms, Sandbox: s.cfg.Environment == catalogue.Sandbox}), nil
}

// letterOfAgreement has the agreement's text, and its PDF where there is one.
func (s *Service) letterOfAgreement(ctx context.Context, c checkout.Checkout, into *ports.PayerNotice) (letter.Letter, error) {
	number := c.Confirmation.AgreementNumber
	a, err := s.cfg.Store.Agreement(ctx, number)
	if err != nil {
		return letter.Letter{}, fmt.Errorf("read agreement %s: %w", number, err)
	}
	document, err := found(s.cfg.Store.Document(ctx, number))
	if err != nil {
		return letter.Letter{}, fmt.Errorf("read the document of agreement %s: %w", number, err)
	}
	into.ReplyTo = a.Provider.SupportEmail
	into.Attachments = attachments(number, document)
	return letter.OfAgreement(a, document != nil, s.zone)
}

func attachments(number string, document *agreement.Document) []ports.Attachment {
	if document == nil {
		return nil
	}
	return []ports.Attachment{{Name: number + ".pdf", MediaType: "application/pdf", Bytes: document.Bytes}}
}

// Notices returns how many notices to payers wait to be sent, and for how long the oldest has, which is 0 if there is none. Without
// Config.Notifier none does, whatever was stored while there was one.
func (s *Service) Notices(ctx context.Context) (waiting int, age time.Duration, err error) {
	defer recovered(&err)
	if s.cfg.Notifier == nil {
		return 0, 0, nil
	}
	waiting, oldest, err := s.cfg.Store.NoticeBacklog(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("count the notices: %w", err)
	}
	if waiting > 0 {
		age = max(0, s.now().Sub(oldest))
	}
	return waiting, age, nil
}
