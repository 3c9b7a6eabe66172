package service

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/letter"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

const (
	notifyLimit = 45 * time.Second
	// notifyGrace is the time that an attempt has left when the service stops: a notice whose attempt is cut off may have been taken
	// over, and then the payer gets two copies.
	notifyGrace = 5 * time.Second
)

// notify makes one attempt to send a notice to a payer.
func (s *Service) notify(ctx context.Context, l checkout.Lease) (checkout.Outcome, error) {
	attempting, cancel := detached(ctx, notifyLimit)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(notifyGrace, cancel) })()
	written, needed, err := s.write(attempting, l.Job)
	switch {
	case err != nil:
		return s.unsent(ctx, l, err), nil
	case !needed:
		return checkout.Outcome{State: checkout.JobDropped}, nil
	}
	receipt, err := s.cfg.Notifier.Notify(attempting, written)
	switch {
	case errors.Is(err, ports.ErrBusy):
		return checkout.Outcome{}, err
	case err != nil:
		return s.unsent(ctx, l, err), nil
	}
	return checkout.Outcome{State: checkout.JobDone, Attempts: 1, Receipt: checkout.Storable(receipt),
		Moments: s.moments(l.Job, checkout.MomentNoticeSent)}, nil
}

// unsent reports an attempt that failed, and returns whether and when the notice is attempted again.
func (s *Service) unsent(ctx context.Context, l checkout.Lease, err error) checkout.Outcome {
	number := l.Attempts + 1
	o := checkout.Outcome{State: checkout.JobPending, Attempts: 1, Failure: checkout.FailureOf(err, s.now())}
	severity := Warning
	pause, again := checkout.NoticePause(number)
	if _, refused := errors.AsType[*checkout.NoticeRefusal](err); refused || !again {
		o.State, o.Moments, severity = checkout.JobFailed, s.moments(l.Job, checkout.MomentNoticeFailed), Error
		err = fmt.Errorf("it is given up: %w", err)
	} else {
		o.Pause = pause
	}
	s.report(ctx, Failure{Operation: OperationNotify, Severity: severity, About: l.Job.About(), RequestID: l.Job.RequestID, Attempt: number,
		Err: fmt.Errorf("notice %s of the %s: %w", l.Job.ID, l.Job.Name, err)})
	return o
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
	written, err = letter.Write(facts, s.zone)
	written.ID, written.At, written.ReplyTo = n.ID, n.CreatedAt, facts.Provider.SupportEmail
	written.To = checkout.Addressee{Name: c.Student.Name(), Email: c.Student.Email}
	if document != nil {
		written.Attachments = []checkout.Attachment{{Name: facts.Agreement.Number + ".pdf", MediaType: "application/pdf", Bytes: document.Bytes}}
	}
	return written, err == nil, err
}

// facts reads the facts of a letter about a checkout, and the PDF that goes with it, or nil.
func (s *Service) facts(ctx context.Context, c checkout.Checkout, kind checkout.NoticeKind) (f letter.Facts, document *agreement.Document, err error) {
	switch kind {
	case checkout.NoticeOfSetup, checkout.NoticeOfLink, checkout.NoticeOfCancel:
		f, err = s.factsOfSetup(ctx, c, kind)
		return f, nil, err
	}
	a, err := s.cfg.Store.Agreement(ctx, c.ID)
	if err != nil {
		return f, nil, fmt.Errorf("read the agreement of %s: %w", c.ID, err)
	}
	f = letter.OfAgreement(kind, c, a)
	f.Page, f.At, f.Today = s.payersPage(c), c.End.At, money.DateOf(s.now().In(s.zone))
	if kind != checkout.NoticeOfAgreement {
		return f, nil, nil
	}
	document, err = found(s.cfg.Store.Document(ctx, c.ID))
	switch {
	case err != nil:
		return f, nil, fmt.Errorf("read the document of %s: %w", c.ID, err)
	case document != nil && sha256.Sum256(document.Bytes) != c.Confirmation.DocumentSHA256:
		return f, nil, fmt.Errorf("the document of %s does not have the SHA-256 on record", c.ID)
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
	f := letter.Facts{Kind: kind, Sandbox: s.cfg.Environment == catalogue.Sandbox, Provider: checkout.PartyOf(provider),
		Student: agreement.Student(c.Student), Course: c.Intent.CourseName, Checkout: c}
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

// payersPage returns the address of the payer's page by the latest token; "" if the token's secret is not in use any more.
func (s *Service) payersPage(c checkout.Checkout) string {
	if token := s.cfg.Keyring.LatestText(c); token != "" {
		return s.pageURL(token)
	}
	return ""
}
