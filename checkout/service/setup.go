package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// SetupPage is the content of the page that a payer is shown.
type SetupPage struct {
	State       checkout.PageState
	Token       string
	LastTry     checkout.LastTry   // what became of it, where the page is open or expired
	Superseded  bool               // the provider was given a later token
	Renewable   bool               // Service.MailLink may send the payer a new link
	Until       money.Date         // the link works on this day at least, to an agreement at most; zero where that is over
	Today       money.Date         // in New Zealand
	Provider    catalogue.Provider // if the operator removed it: as the agreement names it, or only its code, also as its name
	Checkout    checkout.Checkout
	Payments    []money.Payment // of the plan, if the enrolment is confirmed today
	Earliest    money.Date      // on which a payment may be taken, if the enrolment is confirmed today
	Planned     money.Date      // the first payment date that was agreed, or that the provider prefers
	Completed   time.Time       // when the setup was completed, in New Zealand time; zero before
	Ended       money.Date      // when the checkout was cancelled, or its agreement withdrawn, in New Zealand; zero before
	DebitTerms  agreement.DebitTerms
	LenderTerms agreement.Terms      // of the agreement, where there is one
	Agreement   *agreement.Agreement // nil before the confirm

	now     time.Time
	epoch   int   // of the token
	unknown error // why it is not known who debits
}

// known returns the page, or the error that the debiting party is not known.
func (p SetupPage) known() (SetupPage, error) {
	closed := []checkout.PageState{checkout.PageCancelled, checkout.PageExpired, checkout.PageNotEnabled}
	if p.unknown != nil && !slices.Contains(closed, p.State) {
		return SetupPage{}, p.unknown
	}
	return p, nil
}

// Disclosure returns what the page shows a payer before the consent.
func (p SetupPage) Disclosure() agreement.Disclosure {
	return agreement.Disclosure{DebitTerms: p.DebitTerms, Terms: p.LenderTerms, Course: p.Checkout.Intent.CourseName,
		Pricing: p.Checkout.Intent.Pricing, Payments: p.Payments}
}

// SetupPage returns the page that a setup token opens, by what is on record. It asks the processor nothing and stores nothing but
// that the page was opened: scanners of e-mails open the link too. The refusals are SETUP_LINK_UNKNOWN, for a token that was not
// signed by one of our secrets, and BUSY.
func (s *Service) SetupPage(ctx context.Context, token string) (page SetupPage, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	if page, err = s.readPage(ctx, token); err != nil {
		return page, err
	}
	if page.LastTry == checkout.TryUnfinished {
		page.LastTry = checkout.TryBegun
	}
	s.notePage(page, checkout.MomentOpened, page.Checkout.NextTry())
	return page, nil
}

// ReturnPage returns the page of a payer who comes back from the processor, to SetupStart.ReturnURL. It shows what the processor
// reports within a second, and otherwise what is on record. It stores that: the notice of a completed setup leaves at once, and not
// with the provider's next poll. It refuses as SetupPage does.
func (s *Service) ReturnPage(ctx context.Context, token string) (page SetupPage, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, waitLimit)
	defer cancel()
	page, err = s.readPage(ctx, token)
	if err != nil {
		return page, err
	}
	opened := page.Checkout
	defer func() { s.notePage(page, checkout.MomentReturned, opened.Setup.Try) }()
	closed := page.State == checkout.PageCancelled || page.State == checkout.PageNotEnabled || page.State == checkout.PageEnded
	if opened.Setup.BillingRequestID == "" || closed {
		return page, nil
	}
	answer, err := s.answer(ctx, opened, true)
	page.now = s.now()
	if err != nil {
		s.report(ctx, Failure{Operation: OperationObserve, Severity: Warning, About: opened.About(), Err: err})
		if page.LastTry == checkout.TryUnfinished {
			page.LastTry = checkout.TryUnknown
		}
		return page, nil
	}
	if _, err := s.storeObservation(ctx, opened, answer.seen); err != nil {
		s.report(ctx, Failure{Operation: OperationObserve, Severity: Warning, About: opened.About(),
			Err: fmt.Errorf("store the setup of %s: %w", opened.ID, err)})
	}
	return s.pageOf(page, opened.Observe(answer.seen, page.now).Next).known()
}

// notePage notes that a page was opened, once for each try and each state that it showed.
func (s *Service) notePage(page SetupPage, kind checkout.MomentKind, try int) {
	s.notes.moment(page.Checkout.About(), checkout.Moment{ID: fmt.Sprintf("%s %d %s", kind, try, page.State), At: page.now, Kind: kind,
		Actor: checkout.ActorPayer, Detail: string(page.State)})
}

// readPage returns the page that a setup token opens by what is on record.
func (s *Service) readPage(ctx context.Context, token string) (SetupPage, error) {
	id, epoch, ok := s.cfg.Keyring.Read(token)
	if !ok {
		return SetupPage{}, checkout.LinkUnknown()
	}
	c, err := found(s.cfg.Store.Checkout(ctx, id))
	switch {
	case err != nil:
		return SetupPage{}, s.fail(ctx, "read checkout "+id, err)
	case c == nil, !c.Erased() && epoch > c.Newest().Epoch:
		return SetupPage{}, checkout.LinkUnknown()
	}
	page := SetupPage{Token: token, epoch: epoch, now: s.now()}
	if page.Provider, err = s.providerOf(ctx, c.ProviderCode); err != nil {
		return SetupPage{}, s.fail(ctx, "open the setup page", err)
	}
	if c.Status == checkout.Confirmed {
		if page.Agreement, err = found(s.cfg.Store.Agreement(ctx, c.ID)); err != nil {
			return SetupPage{}, s.fail(ctx, "read the agreement of "+c.ID, err)
		}
	}
	if page.Agreement == nil {
		page.LenderTerms, page.unknown = s.termsOf(ctx, page.Provider)
		return s.pageOf(page, *c).known()
	}
	a, p := page.Agreement, &page.Provider
	if p.Environment == "" { // the operator removed it
		p.Name = a.Provider.Name
		p.Branding = catalogue.Branding{PrimaryColour: a.Provider.Colour, SupportEmail: a.Provider.SupportEmail}
	}
	page.LenderTerms, p.Environment = a.Terms, s.cfg.Environment
	return s.pageOf(page, *c).known()
}

// pageOf returns the page with every field that depends on the state of the checkout.
func (s *Service) pageOf(page SetupPage, c checkout.Checkout) SetupPage {
	page.Checkout, page.Today = c, money.DateOf(page.now.In(s.zone))
	page.State = c.Page(checkout.PageFacts{Environment: s.cfg.Environment, Provider: page.Provider, Agreement: page.Agreement,
		Epoch: page.epoch, Now: page.now, Today: page.Today})
	page.LastTry = checkout.TryNone
	if page.State == checkout.PageOpen || page.State == checkout.PageExpired {
		page.LastTry = c.Setup.LastTry()
	}
	page.Superseded = page.epoch < c.Latest().Epoch
	page.Renewable = page.State == checkout.PageExpired && !c.Erased() && s.cfg.Notifier != nil
	page.Until = money.Date{}
	if until := c.TokenExpiry(page.epoch); page.now.Before(until) {
		page.Until = money.DateOf(until.In(s.zone))
	}
	if at := c.Setup.CompletedAt; !at.IsZero() {
		page.Completed = at.In(s.zone)
	}
	if at := c.End.At; !at.IsZero() {
		page.Ended = money.DateOf(at.In(s.zone))
	}
	page.DebitTerms = agreement.DebitTerms{Period: page.LenderTerms.Period(c.Intent.Plan.Frequency), Provider: page.Provider.DisplayName(),
		Lender: page.LenderTerms.Lender, Authority: page.LenderTerms.Authority}
	if agreed := c.Setup.Consent.Period; agreed.Days > 0 && c.SetupComplete() {
		page.DebitTerms.Period = agreed
	}
	schedule, calendar := c.Schedule(), page.DebitTerms.Authority.Calendar
	page.Planned = schedule[0].Due
	notice := s.notice(page)
	page.Payments = calendar.Payments(schedule, c.Intent.Plan.Frequency, notice.Start(page.Planned, calendar))
	if a := page.Agreement; a != nil {
		notice, page.Payments, page.Until = a.Notice, a.Payments(), checkout.PageLasts(*a)
		page.DebitTerms.Version, page.DebitTerms.Period = a.Version, a.Notice.Period
	}
	page.Earliest = notice.NotBefore
	return page
}

// notice returns the notice of an agreement that was concluded with the confirm, or today.
func (s *Service) notice(page SetupPage) agreement.Notice {
	c, concluded := page.Checkout, page.now
	if c.Status == checkout.Confirmed {
		concluded = c.Confirmation.At
	}
	day := money.DateOf(concluded.In(s.zone))
	if c.SetupComplete() {
		return c.NoticeOn(day, page.DebitTerms.Period, page.DebitTerms.Authority.Calendar)
	}
	return page.DebitTerms.NoticeOn(day)
}

// BeginSetup starts the bank setup and returns the URL to redirect the payer's browser to: the processor's, or the setup page's if
// there is nothing to do there. It is stored as the payer's consent to the direct debit terms. The refusals are SETUP_LINK_UNKNOWN,
// SETUP_LINK_EXPIRED, CHECKOUT_CANCELLED, PROVIDER_NOT_ENABLED, TERMS_CHANGED and BUSY.
func (s *Service) BeginSetup(ctx context.Context, token string, accepted checkout.Acceptance) (url string, err error) {
	defer recovered(&err)
	ctx, cancel := detached(ctx, waitLimit+processorLimit)
	defer cancel()
	page, err := s.readPage(ctx, token)
	if err != nil {
		return "", err
	}
	if page.State != checkout.PageNotEnabled { // the payer may have completed it at the bank and closed that page
		fresh, err := s.refresh(ctx, page.Checkout)
		if err != nil {
			s.report(ctx, Failure{Operation: OperationObserve, Severity: Warning, About: page.Checkout.About(), Err: err})
		}
		page.now = s.now()
		page = s.pageOf(page, fresh)
	}
	consent, err := accepted.Decide(page.State, page.Disclosure(), page.now)
	if errors.Is(err, checkout.ErrSetUp) {
		return s.pageURL(token), nil
	}
	if err != nil {
		return "", err
	}
	c, try := page.Checkout, page.Checkout.NextTry()
	request, err := s.begin(ctx, page, try)
	if err != nil { // the payer may try again
		return "", s.fail(ctx, "begin the setup of "+c.ID, fmt.Errorf("%w: %w", ports.ErrBusy, err))
	}
	change, err := s.update(ctx, page.Provider, c, 0, func(c checkout.Checkout) (checkout.Change, error) {
		return c.Begun(try, request.ID, consent), nil
	})
	switch {
	case err != nil:
		return "", err
	case change.Next.Ended(): // meanwhile
		return "", checkout.CheckoutCancelled()
	}
	return request.URL, nil
}

// begin creates the billing request of a try, or finds it if it exists.
func (s *Service) begin(ctx context.Context, page SetupPage, try int) (checkout.BillingRequest, error) {
	ctx, cancel := context.WithTimeout(ctx, processorLimit)
	defer cancel()
	c, p := page.Checkout, page.Provider
	return s.cfg.Processor.Begin(ctx, checkout.SetupStart{
		Key:          c.SetupKey(s.cfg.Environment, try),
		Account:      s.accountOf(p),
		ProviderName: p.DisplayName(),
		CheckoutID:   c.ID,
		OrderID:      c.OrderID,
		ReturnURL:    s.cfg.BaseURL + ReturnPath + "?token=" + page.Token,
		Student:      c.Student,
		Description:  c.Intent.CourseName,
		Terms:        page.DebitTerms,
		First:        page.Payments[0],
	})
}

func (s *Service) pageURL(token string) string { return s.cfg.BaseURL + SetupPath + "?token=" + token }

// MailLink returns the page that a setup token opens, as ReturnPage does. Where that is Renewable it sends a new link to the address on
// record, within the limits of checkout.MailLink: the answer does not tell whether it did. It refuses as ReturnPage does.
func (s *Service) MailLink(ctx context.Context, token, requestID string) (page SetupPage, err error) {
	defer recovered(&err)
	ctx, cancel := detached(ctx, waitLimit)
	defer cancel()
	page, err = s.ReturnPage(ctx, token)
	if err != nil || !page.Renewable {
		return page, err
	}
	c := page.Checkout
	ofPayer := checkout.JobFilter{CheckoutID: c.ID, Kinds: []checkout.JobKind{checkout.JobNotify}}
	notices, err := s.cfg.Store.Jobs(ctx, ofPayer, checkout.RecentNotices)
	if err != nil {
		return page, s.fail(ctx, "read the notices of "+c.ID, err)
	}
	_, err = s.update(ctx, page.Provider, c, 0, func(c checkout.Checkout) (checkout.Change, error) {
		return c.MailLink(s.cfg.Keyring, checkout.LinkRequest{RequestID: requestID, Actor: checkout.ActorPayer, Epoch: page.epoch,
			Now: s.now(), Lifetime: s.cfg.SetupLifetime(c.OrderID), Notices: notices})
	})
	if errors.Is(err, checkout.ErrNoLink) || errors.Is(err, checkout.ErrLinkSent) {
		err = nil
	}
	return page, err
}
