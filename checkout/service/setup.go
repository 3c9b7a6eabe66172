package service

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// PageState says which setup page a token opens.
type PageState int

const (
	PageOpen       PageState = iota + 1 // the setup can be done
	PageDone                            // it is done, or confirmed
	PageExpired                         // the token's time is over
	PageNotEnabled                      // the provider may not be used now
)

// SetupPage is what a payer is shown.
type SetupPage struct {
	State      PageState
	Token      string
	Superseded bool               // a later token was issued
	Provider   catalogue.Provider // only its code and name where the operator removed it
	Checkout   checkout.Checkout
	Schedule   []money.Charge
	Completed  time.Time            // when the setup was completed, in New Zealand time; zero before
	Terms      agreement.DebitTerms // of the direct debit, in the words of now
	PlanTerms  agreement.Terms      // the operator's, for the agreement
}

// Acceptance is what a payer's browser says in going on from the setup page.
type Acceptance struct {
	From  string // its network address; "" where it is not known
	Terms string // the Name of the direct debit terms that the page showed; "" where it said none
}

// SetupPage returns the page that a setup token opens; it changes nothing. A token that is not ours
// is CodeTokenUnknown.
func (s *Service) SetupPage(ctx context.Context, token string) (SetupPage, error) {
	unknown := checkout.Refuse(checkout.CodeTokenUnknown, "there is no such page")
	ctx, cancel := bounded(ctx)
	defer cancel()
	id, epoch, ok := s.cfg.Keyring.Read(token)
	if !ok {
		return SetupPage{}, unknown
	}
	c, err := s.cfg.Store.Checkout(ctx, id)
	if errors.Is(err, ports.ErrNotFound) || err == nil && epoch > c.Latest().Epoch {
		return SetupPage{}, unknown
	}
	if err != nil {
		return SetupPage{}, s.fail(ctx, "read checkout "+id, err)
	}
	page := SetupPage{Token: token, Superseded: epoch < c.Latest().Epoch, Checkout: c, Schedule: c.Schedule()}
	if at := c.Setup.CompletedAt; !at.IsZero() {
		page.Completed = at.In(s.zone)
	}
	page.PlanTerms = s.cfg.Terms
	page.Provider, err = s.configured.provider(ctx, s.now(), c.ProviderCode)
	if errors.Is(err, ports.ErrNotFound) {
		page.Provider = catalogue.Provider{Code: c.ProviderCode, Name: c.ProviderCode}
	} else if err != nil {
		return SetupPage{}, s.fail(ctx, "read provider "+c.ProviderCode, err)
	}
	page.Terms = agreement.DebitTerms{NoticeDays: page.Provider.NoticeDays,
		Provider: page.Provider.DisplayName(), Lender: s.cfg.Terms.Lender}
	if agreed := c.Setup.Consent.NoticeDays; agreed > 0 && c.SetupComplete() {
		page.Terms.NoticeDays = agreed
	}
	switch {
	case page.Provider.Usable(s.cfg.Environment) != nil:
		page.State = PageNotEnabled
	case c.SetupComplete():
		page.State = PageDone
	case c.TokenExpired(epoch, s.now()):
		page.State = PageExpired
	default:
		page.State = PageOpen
	}
	return page, nil
}

// openPage returns the page of a token while its setup can be done. done is true when it is already: as far
// as the processor says now, for a mandate may have died since.
func (s *Service) openPage(ctx context.Context, token string) (page SetupPage, done bool, err error) {
	page, err = s.SetupPage(ctx, token)
	if page.State == PageDone {
		if _, err := s.refresh(ctx, page.Checkout, s.ask); err != nil {
			s.cfg.Report(ctx, err)
		}
		page, err = s.SetupPage(ctx, token)
	}
	switch {
	case err != nil:
		return page, false, err
	case page.State == PageNotEnabled:
		return page, false, checkout.Refuse(checkout.CodeProviderNotEnabled, "this provider cannot be used now")
	case page.State == PageExpired:
		return page, false, checkout.Refuse(checkout.CodeTokenExpired, "this page has expired")
	}
	return page, page.State == PageDone, nil
}

// BeginSetup starts the bank setup and returns where the payer's browser goes: to the processor, or
// back to the setup page when the setup is done. That the payer went on is kept as the consent to the
// direct debit terms. A page that does not open is CodeTokenUnknown, CodeTokenExpired or
// CodeProviderNotEnabled; one that named other terms than those of now is CodeTermsChanged.
func (s *Service) BeginSetup(ctx context.Context, token string, said Acceptance) (url string, err error) {
	ctx, cancel := lasting(ctx, waitLimit)
	defer cancel()
	page, done, err := s.openPage(ctx, token)
	if err != nil {
		return "", err
	}
	if !done { // here: at the bank it may be, and the payer have closed that page
		fresh, err := s.refresh(ctx, page.Checkout, s.ask)
		if err != nil {
			s.cfg.Report(ctx, err)
		}
		page.Checkout, done = fresh, fresh.SetupComplete()
	}
	if done {
		return s.pageURL(token), nil
	}
	consent, err := page.consent(said, s.now())
	if err != nil {
		return "", err
	}
	c, try := page.Checkout, page.Checkout.NextTry()
	request, err := s.cfg.Processor.Begin(ctx, ports.SetupStart{
		Key: checkout.NaturalKey(s.cfg.Environment, c.ProviderCode, c.OrderID,
			"billing request "+strconv.Itoa(try)),
		CheckoutID:  c.ID,
		Token:       token,
		BaseURL:     s.cfg.BaseURL,
		ReturnURL:   s.pageURL(token),
		Student:     c.Student,
		Description: c.Intent.CourseName,
	})
	if err != nil {
		return "", s.fail(ctx, "begin the setup of "+c.ID, err)
	}
	if c.Begin(try, request.ID, consent).Next.Setup != c.Setup {
		_, err = s.update(ctx, c.ID, ports.Queued{}, func(c checkout.Checkout) (checkout.Change, error) {
			return c.Begin(try, request.ID, consent), nil
		})
	}
	return request.URL, err
}

// consent returns what a payer agreed to who went on from the page.
func (p SetupPage) consent(said Acceptance, now time.Time) (agreement.Consent, error) {
	c := agreement.Consent{At: now, From: said.From}
	switch said.Terms {
	case p.Terms.Name():
		c.Terms, c.NoticeDays = said.Terms, cmp.Or(p.Terms.NoticeDays, agreement.UsualNotice)
	case "": // a page of the version before this one, or no page at all: which terms were read is not known
	default:
		return c, checkout.Refuse(checkout.CodeTermsChanged, "the direct debit terms have changed since this page was opened")
	}
	return c, nil
}

// CompleteSetup records that the payer completed the bank setup, and returns the address of
// the setup page, which says so. When it was completed is set here. It changes nothing unless the
// setup was begun and is not complete. The refusals are BeginSetup's.
func (s *Service) CompleteSetup(ctx context.Context, token string, completion checkout.Observation) (url string, err error) {
	ctx, cancel := lasting(ctx, waitLimit)
	defer cancel()
	page, done, err := s.openPage(ctx, token)
	if err != nil {
		return "", err
	}
	if !done {
		now := s.now()
		_, err = s.update(ctx, page.Checkout.ID, ports.Queued{}, func(c checkout.Checkout) (checkout.Change, error) {
			return c.Complete(completion, now), nil
		})
	}
	return s.pageURL(token), err
}

// pageURL returns the address of the setup page.
func (s *Service) pageURL(token string) string { return s.cfg.BaseURL + "/api/dd-setup?token=" + token }
