package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/breaker"
	"github.com/provider-checkout/provider-checkout/checkout/service/letter"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	notifyEvery = time.Second // between two probes of a notifier that does not answer, at first
	notifyLimit = 45 * time.Second
	// notifyGrace is the time that an attempt has left when the service stops: the notice of an attempt that is cut off may have been
	// taken over, and then the payer gets two copies.
	notifyGrace = 5 * time.Second
	// longestNotifyPause is the longest time that a notifier that does not answer is left alone before one notice is tried.
	longestNotifyPause = time.Minute
)

// notifier sends the notices to payers. Every process with a Config.Notifier has one.
type notifier struct {
	*Service
	answers *breaker.Breaker // of Config.Notifier
}

func newNotifier(s *Service) *notifier {
	return &notifier{s, breaker.New(notifyEvery, longestNotifyPause)}
}

// attemptNotice makes one attempt at a notice, and settles it. A failure to settle comes after the attempt: the notice is sent again
// when the lease has ended, under the same id.
func (n *notifier) attemptNotice(ctx context.Context, l checkout.Lease) error {
	outcome := n.send(ctx, l)
	settling, cancel := detached(ctx, waitLimit)
	defer cancel()
	err := n.settleSent(settling, l, outcome)
	if errors.Is(err, ports.ErrNotFound) { // its holder settles it
		return nil
	}
	return err
}

// send makes the next attempt.
func (n *notifier) send(ctx context.Context, l checkout.Lease) checkout.Outcome {
	attempting, cancel := detached(ctx, notifyLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(notifyGrace, cancel) })()
	written, needed, err := n.write(attempting, l.Job)
	switch {
	case err != nil:
		return n.failedAttempt(ctx, l, err)
	case !needed:
		return checkout.Outcome{State: checkout.JobDropped}
	}
	var receipt checkout.Receipt
	err = within(attempting, notifyLimit, func(ctx context.Context) (err error) {
		receipt, err = n.cfg.Notifier.Notify(ctx, written)
		return err
	})
	n.noteNotifierAnswer(ctx, !errors.Is(err, ports.ErrBusy))
	if err != nil {
		return n.failedAttempt(ctx, l, err)
	}
	return checkout.Outcome{State: checkout.JobDone, Attempts: 1, Receipt: receipt.Storable()}
}

// noteNotifierAnswer reports when the notifier ceases to answer, and when it answers again.
func (n *notifier) noteNotifierAnswer(ctx context.Context, answered bool) {
	switch changed := n.answers.Done(answered, n.now()); {
	case changed && !answered:
		n.report(ctx, Failure{Operation: OperationNotify, Severity: Error,
			Err: errors.New("no notice to a payer can be sent: they wait until one can")})
	case changed:
		n.report(ctx, Failure{Operation: OperationNotify, Severity: Warning,
			Err: errors.New("notices to payers can be sent again")})
	}
}

// failedAttempt reports an attempt that failed, and returns whether and when the notice is attempted again.
func (n *notifier) failedAttempt(ctx context.Context, l checkout.Lease, err error) checkout.Outcome {
	number := l.Attempts + 1
	outcome := checkout.Outcome{State: checkout.JobPending, Attempts: 1, Failure: checkout.FailureOf(err, n.now())}
	severity := Warning
	pause, again := checkout.NoticePause(number)
	_, refused := errors.AsType[*checkout.NoticeRefusal](err)
	switch {
	case errors.Is(err, ports.ErrBusy):
		outcome.Attempts, outcome.Pause = 0, longestNotifyPause
	case refused, !again:
		outcome.State, severity = checkout.JobDead, Error
		err = fmt.Errorf("it is given up: %w", err)
	default:
		outcome.Pause = pause
	}
	n.report(ctx, Failure{Operation: OperationNotify, Severity: severity, About: l.Job.About(), Attempt: number,
		Err: fmt.Errorf("notice %s of the %s: %w", l.Job.ID, l.Job.Name, err)})
	return outcome
}

// write writes a notice from what is on record now, and reports whether it is needed.
func (s *Service) write(ctx context.Context, n checkout.Job) (written checkout.PayerNotice, needed bool, err error) {
	defer recovered(&err)
	c, err := s.cfg.Store.Checkout(ctx, n.CheckoutID)
	if err != nil {
		return written, false, fmt.Errorf("read checkout %s: %w", n.CheckoutID, err)
	}
	if !c.NoticeNeeded(n) {
		return written, false, nil
	}
	facts, document, err := s.facts(ctx, c, checkout.NoticeKind(n.Name))
	if err != nil {
		return written, false, err
	}
	written, err = s.compose(n, facts, checkout.Addressee{Name: c.Student.Name(), Email: c.Student.Email})
	written.ReplyTo = facts.Provider.SupportEmail
	if document != nil {
		written.Attachments = []checkout.Attachment{{Name: facts.Agreement.Number + ".pdf", MediaType: "application/pdf", Bytes: document.Bytes}}
	}
	return written, err == nil, err
}

// compose writes the letter of a notice.
func (s *Service) compose(n checkout.Job, f letter.Facts, to checkout.Addressee) (checkout.PayerNotice, error) {
	l, err := letter.Write(f, s.zone)
	return checkout.PayerNotice{ID: n.ID, At: n.CreatedAt, To: to, Subject: l.Subject, Text: l.Text, HTML: l.HTML}, err
}

// facts reads the facts of a letter about a checkout, and the PDF that goes with it, or nil.
func (s *Service) facts(ctx context.Context, c checkout.Checkout, kind checkout.NoticeKind) (f letter.Facts, document *agreement.Document, err error) {
	switch kind {
	case checkout.NoticeOfSetup, checkout.NoticeOfLink, checkout.NoticeOfCancel:
		f, err = s.factsOfSetup(ctx, c, kind)
		return f, nil, err
	}
	number := c.Confirmation.AgreementNumber
	a, err := s.cfg.Store.Agreement(ctx, number)
	if err != nil {
		return f, nil, fmt.Errorf("read agreement %s: %w", number, err)
	}
	f = letter.OfAgreement(kind, c, a)
	f.Page, f.At, f.Today = s.payersPage(c), c.End.At, money.DateOf(s.now().In(s.zone))
	if kind != checkout.NoticeOfAgreement {
		return f, nil, nil
	}
	if document, err = found(s.cfg.Store.Document(ctx, number)); err != nil {
		return f, nil, fmt.Errorf("read the document of agreement %s: %w", number, err)
	}
	f.Attached = document != nil
	return f, document, nil
}

// factsOfSetup reads the facts of a letter about a checkout without an agreement.
func (s *Service) factsOfSetup(ctx context.Context, c checkout.Checkout, kind checkout.NoticeKind) (letter.Facts, error) {
	provider, err := s.providerOf(ctx, c.ProviderCode)
	if err != nil {
		return letter.Facts{}, err
	}
	f := s.factsOf(provider, kind)
	f.Student, f.Course, f.Checkout = agreement.Student(c.Student), c.Intent.CourseName, c
	switch kind {
	case checkout.NoticeOfSetup:
		terms, err := s.termsOf(ctx, provider)
		if err != nil {
			return f, err
		}
		page := s.pageOf(SetupPage{Provider: provider, LenderTerms: terms, now: s.now()}, c)
		f.Page, f.At, f.Payments, f.Terms = s.payersPage(c), page.Completed, page.Payments, page.DebitTerms
	case checkout.NoticeOfLink: // the latest that was made for an e-mail
		token := s.cfg.Keyring.MailedText(c)
		if token == "" {
			return f, fmt.Errorf("checkout %s has no link for an e-mail: its secret is not in use any more", c.ID)
		}
		_, epoch, _ := s.cfg.Keyring.Read(token)
		f.Page, f.At = s.pageURL(token), c.TokenExpiry(epoch)
	}
	return f, nil
}

// factsOf returns the facts of a letter that names a provider as it is now.
func (s *Service) factsOf(p catalogue.Provider, kind checkout.NoticeKind) letter.Facts {
	return letter.Facts{Kind: kind, Sandbox: s.cfg.Environment == catalogue.Sandbox,
		Provider: agreement.Party{Name: p.DisplayName(), SupportEmail: p.Branding.SupportEmail, Colour: p.Branding.PrimaryColour}}
}

// payersPage returns the address of the payer's page by the latest token; "" if the token's secret is not in use any more.
func (s *Service) payersPage(c checkout.Checkout) string {
	if token := s.cfg.Keyring.LatestText(c); token != "" {
		return s.pageURL(token)
	}
	return ""
}
