package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// creditorLife is the time after which the processor is asked again who debits for an account.
const creditorLife = time.Minute

// termsOf returns the operator's terms for a provider's payers, in which the authority names the party that debits them: as the processor says
// it and, where the processor does not say, as the terms do. The error is BUSY where the processor cannot be asked and nothing is
// known; the terms are the operator's own then.
func (s *Service) termsOf(ctx context.Context, p catalogue.Provider) (agreement.Terms, error) {
	terms := s.cfg.Terms
	creditor, err := s.creditorOf(ctx, p)
	creditor.Authority.Calendar = s.processor.Calendar
	terms.Authority = creditor.Authority.Or(terms.Authority)
	return terms, err
}

// creditorOf returns the creditor of a provider's account; zero where the processor does not say. An answer that is there is
// returned at once: when it is old, the processor is asked again meanwhile. Only without any answer is the processor waited for.
func (s *Service) creditorOf(ctx context.Context, p catalogue.Provider) (checkout.Creditor, error) {
	checker, ok := s.cfg.Processor.(ports.AccountChecker)
	if !ok {
		return checkout.Creditor{}, nil
	}
	account, lasting := s.accountOf(p), context.WithoutCancel(ctx) // others may wait for the answer too
	if known, ok := s.creditors.Latest(account); ok {
		if _, fresh := s.creditors.Fresh(s.now(), account); !fresh {
			s.creditors.Put(s.now(), account, known) // nobody else asks meanwhile, nor soon after a failure
			go s.askCreditor(lasting, checker, p)
		}
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, processorLimit)
	defer cancel()
	unlock, waited, err := s.asking.lock(ctx, fmt.Sprint(account))
	if err != nil {
		return checkout.Creditor{}, checkout.Busy()
	}
	defer unlock()
	if !waited {
		s.askCreditor(lasting, checker, p)
	}
	if known, ok := s.creditors.Latest(account); ok {
		return known, nil
	}
	return checkout.Creditor{}, checkout.Busy()
}

// askCreditor asks the processor for the creditor of a provider's account, and keeps the answer, or reports why there is no answer.
func (s *Service) askCreditor(ctx context.Context, checker ports.AccountChecker, p catalogue.Provider) {
	err := within(ctx, processorLimit, func(ctx context.Context) error {
		creditor, err := checker.CheckAccount(ctx, s.accountOf(p))
		if err == nil {
			s.creditors.Put(s.now(), s.accountOf(p), creditor)
		}
		return err
	})
	if err != nil {
		s.report(ctx, Failure{Operation: OperationReady, Severity: Warning,
			Err: fmt.Errorf("ask who debits for provider %s: %w", p.Code, err)})
	}
}

// accountOf returns a provider's account at the processor.
func (s *Service) accountOf(p catalogue.Provider) checkout.Account {
	return checkout.Account{ProviderCode: p.Code, ID: p.AccountID, Environment: s.cfg.Environment}
}

// checkAccounts asks the processor about the accounts of all providers that may be used, and returns the reasons why payments cannot be
// collected for some. A store that does not name the providers in time is no fault of the processor's.
func (s *Service) checkAccounts(ctx context.Context) error {
	checker, ok := s.cfg.Processor.(ports.AccountChecker)
	if !ok {
		return nil
	}
	reading, cancel := context.WithTimeout(ctx, readyLimit/2)
	defer cancel()
	providers, _ := s.cfg.Store.Providers(reading)
	var reasons []error
	for _, p := range providers {
		if p.Usable(s.cfg.Environment) != nil {
			continue
		}
		creditor, err := checker.CheckAccount(ctx, s.accountOf(p))
		if err != nil {
			reasons = append(reasons, fmt.Errorf("provider %s: %w", p.Code, err))
			continue
		}
		s.creditors.Put(s.now(), s.accountOf(p), creditor)
		reasons = append(reasons, s.enoughNotice(p, creditor))
	}
	return errors.Join(reasons...)
}

// enoughNotice returns an error if the terms have payments collected sooner after their notice than a provider's account may.
func (s *Service) enoughNotice(p catalogue.Provider, c checkout.Creditor) error {
	for _, f := range []money.Frequency{money.Weekly, money.Monthly} {
		if given := s.cfg.Terms.Period(f).Long(); given.Days < c.Notice {
			return fmt.Errorf("provider %s: the terms have a notice of %s, and its account needs %d days at least", p.Code, given, c.Notice)
		}
	}
	return nil
}
