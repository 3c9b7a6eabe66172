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
	err := n.settleSent(settling, l, outcome, nil)
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
	outcome := checkout.Outcome{State: checkout.JobPending, Attempts: 1, Failure: checkout.FailureOf(err, n.Present(ctx))}
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
	if n.CheckoutID == "" {
		return s.writeOfReceiver(ctx, n)
	}
	c, err := s.cfg.Store.Checkout(ctx, n.CheckoutID)
	if err != nil {
		return written, false, fmt.Errorf("read checkout %s: %w", n.CheckoutID, err)
	}
	if !c.NoticeNeeded(n) {
		return written, false, nil
	}
	written = checkout.PayerNotice{ID: n.ID, At: n.CreatedAt,
		To: checkout.Addressee{Name: c.Student.Name(), Email: c.Student.Email}}
	var l letter.Letter
	switch kind := checkout.NoticeKind(n.Name); {
	case kind == checkout.NoticeOfSetup:
		l, err = s.letterOfSetup(ctx, c, &written)
	case kind == checkout.NoticeOfLink:
		l, err = s.letterOfLink(ctx, c, &written)
	case kind == checkout.NoticeOfCancel:
		l, err = s.letterOfCancel(ctx, c, &written)
	case kind == checkout.NoticeOfWithdrawal:
		l, err = s.letterOfWithdrawal(ctx, c, &written)
	case kind.OfMandate():
		l, err = s.letterOfMandate(ctx, c, &written)
	default:
		l, err = s.letterOfAgreement(ctx, c, &written)
	}
	written.Subject, written.Text, written.HTML = l.Subject, l.Text, l.HTML
	return written, err == nil, err
}

func (s *Service) letterOfSetup(ctx context.Context, c checkout.Checkout, into *checkout.PayerNotice) (letter.Letter, error) {
	provider, err := s.providerOf(ctx, c.ProviderCode)
	if err != nil {
		return letter.Letter{}, err
	}
	terms, err := s.termsOf(ctx, provider)
	if err != nil {
		return letter.Letter{}, err
	}
	page := s.pageOf(SetupPage{Provider: provider, LenderTerms: terms, now: s.Present(ctx)}, c)
	into.ReplyTo = provider.Branding.SupportEmail
	return letter.OfSetup(letter.Setup{Checkout: c, Provider: page.DebitTerms.Provider, Colour: provider.Branding.PrimaryColour,
		Contact: into.ReplyTo, Page: s.payersPage(c), Completed: page.Completed, Payments: page.Payments, Terms: page.DebitTerms,
		Sandbox: s.cfg.Environment == catalogue.Sandbox}), nil
}

// letterOfMandate says what became of the direct debit of an agreement.
func (s *Service) letterOfMandate(ctx context.Context, c checkout.Checkout, into *checkout.PayerNotice) (letter.Letter, error) {
	a, err := s.cfg.Store.Agreement(ctx, c.Confirmation.AgreementNumber)
	if err != nil {
		return letter.Letter{}, fmt.Errorf("read agreement %s: %w", c.Confirmation.AgreementNumber, err)
	}
	into.ReplyTo = a.Provider.SupportEmail
	return letter.OfMandate(letter.Mandate{Agreement: a, Setup: c.Setup, Page: s.payersPage(c), Today: money.DateOf(s.Present(ctx).In(s.zone))}), nil
}

// letterOfCancel says that a checkout for which bank details were given is cancelled.
func (s *Service) letterOfCancel(ctx context.Context, c checkout.Checkout, into *checkout.PayerNotice) (letter.Letter, error) {
	provider, err := s.providerOf(ctx, c.ProviderCode)
	if err != nil {
		return letter.Letter{}, err
	}
	into.ReplyTo = provider.Branding.SupportEmail
	return letter.OfCancel(letter.Cancel{Checkout: c, Provider: provider.DisplayName(), Colour: provider.Branding.PrimaryColour,
		Contact: into.ReplyTo, Sandbox: s.cfg.Environment == catalogue.Sandbox}), nil
}

// letterOfWithdrawal says that an agreement is withdrawn.
func (s *Service) letterOfWithdrawal(ctx context.Context, c checkout.Checkout, into *checkout.PayerNotice) (letter.Letter, error) {
	a, err := s.cfg.Store.Agreement(ctx, c.Confirmation.AgreementNumber)
	if err != nil {
		return letter.Letter{}, fmt.Errorf("read agreement %s: %w", c.Confirmation.AgreementNumber, err)
	}
	into.ReplyTo = a.Provider.SupportEmail
	return letter.OfWithdrawal(letter.Mandate{Agreement: a, Setup: c.Setup, Page: s.payersPage(c)}, c.End.At.In(s.zone)), nil
}

// letterOfLink has the latest link that was made for an e-mail.
func (s *Service) letterOfLink(ctx context.Context, c checkout.Checkout, into *checkout.PayerNotice) (letter.Letter, error) {
	provider, err := s.providerOf(ctx, c.ProviderCode)
	if err != nil {
		return letter.Letter{}, err
	}
	token := s.cfg.Keyring.MailedText(c)
	if token == "" {
		return letter.Letter{}, fmt.Errorf("checkout %s has no link for an e-mail: its secret is not in use any more", c.ID)
	}
	_, epoch, _ := s.cfg.Keyring.Read(token)
	into.ReplyTo = provider.Branding.SupportEmail
	return letter.OfLink(letter.Link{Student: agreement.Student(c.Student), Course: c.Intent.CourseName,
		Provider: provider.DisplayName(), Colour: provider.Branding.PrimaryColour, Address: s.pageURL(token), Until: money.DateOf(c.TokenExpiry(epoch).In(s.zone)),
		Sandbox: s.cfg.Environment == catalogue.Sandbox}), nil
}

// payersPage returns the address of the payer's page by the latest token; "" if the token's secret is not in use any more.
func (s *Service) payersPage(c checkout.Checkout) string {
	if token := s.cfg.Keyring.LatestText(c); token != "" {
		return s.pageURL(token)
	}
	return ""
}

// letterOfAgreement has the agreement's PDF or, without a PDF, its whole text.
func (s *Service) letterOfAgreement(ctx context.Context, c checkout.Checkout, into *checkout.PayerNotice) (letter.Letter, error) {
	concluded, err := s.conclusionOf(ctx, c)
	if err != nil {
		return letter.Letter{}, err
	}
	a, document := concluded.agreement, concluded.document
	into.ReplyTo = a.Provider.SupportEmail
	if document != nil {
		into.Attachments = []checkout.Attachment{{Name: a.Number + ".pdf", MediaType: "application/pdf", Bytes: document.Bytes}}
	}
	return letter.OfAgreement(letter.Concluded{Agreement: *a, Attached: document != nil, Page: s.payersPage(c),
		Proven: s.cfg.Evidence.CanVerify(), Receipt: c.Confirmation.Receipt, Zone: s.zone})
}
