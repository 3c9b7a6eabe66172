package checkout

import (
	"crypto/subtle"
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

// PaymentMethod is the one value of payment.payment_method.
const PaymentMethod = "service_payment_plan"

// Confirm is the command to confirm a checkout (section 2.4).
type Confirm struct {
	RequestID  string // req_…; the events carry it
	Actor      Actor
	CheckoutID Optional[string]

	ProviderCode Optional[string]
	OrderID      Optional[string]

	Token         Optional[string]
	OpportunityID Optional[string]
	DDAID         Optional[string]

	PaymentMethod Optional[string]
	FirstPayment  Optional[money.Date]

	DepositConfirmed       Optional[bool]
	PaymentPlanAccepted    Optional[bool]
	InformationConfirmed   Optional[bool]
	PrivacyConsentAccepted Optional[bool]
}

var (
	// ErrAlreadyConfirmed: the confirm is a repeat. It is answered as the first was, and changes nothing.
	ErrAlreadyConfirmed = errors.New("checkout is already confirmed")

	// ErrOutdated: the direct debit has changed since the agreement was prepared, which must be prepared again.
	ErrOutdated = errors.New("checkout changed since its agreement was prepared")
)

// Prepared holds the agreement of a confirm, made before the confirm is decided for good because rendering takes time.
type Prepared struct {
	Environment catalogue.Environment
	Now         time.Time
	Agreement   agreement.Agreement
	Document    *agreement.Document // nil if it could not be rendered
}

// Check returns nil, or a VALIDATION_ERROR with every fault of the request.
func (c Confirm) Check() error {
	k := newChecker(c.ProviderCode, c.OrderID, c.CheckoutID, c.Token, c.OpportunityID, c.DDAID, c.PaymentMethod, c.FirstPayment,
		c.DepositConfirmed, c.PaymentPlanAccepted, c.InformationConfirmed, c.PrivacyConsentAccepted)
	k.text(FieldProviderCode, c.ProviderCode, text.Check)
	k.text(FieldOrderID, c.OrderID, text.Check)
	k.text(FieldCheckoutID, c.CheckoutID, text.Check)
	k.text(FieldCheckoutToken, c.Token, text.Check)
	k.text(FieldOpportunityID, c.OpportunityID, text.Check)
	k.text(FieldDDAID, c.DDAID, text.Check)
	if require(k, FieldPaymentMethod, c.PaymentMethod) {
		k.only(FieldPaymentMethod, c.PaymentMethod, PaymentMethod)
	}
	k.date(FieldAgreedFirstPayment, c.FirstPayment)
	k.accepted(FieldDepositConfirmed, c.DepositConfirmed)
	k.accepted(FieldPlanAccepted, c.PaymentPlanAccepted)
	k.accepted(FieldInformationConfirmed, c.InformationConfirmed)
	k.accepted(FieldPrivacyAccepted, c.PrivacyConsentAccepted)
	return k.err()
}

// A confirm is decided by the contract's table (section 3) in the order of its rows: Match has the first of them, Ready
// these and the next, and Decide all. latest is the text of the checkout's latest setup token, "" if it cannot be
// derived any more.

// Match decides the rows that do not depend on the setup: it returns nil if a checked confirm is about this checkout,
// whose agreement is not concluded yet. A repeat may carry any token, so that a lost one does not block a safe retry. The
// errors are CONFLICT, ErrAlreadyConfirmed, CHECKOUT_CANCELLED and CHECKOUT_ERASED.
func (c Confirm) Match(stored Checkout, env catalogue.Environment, latest string) error {
	switch differing := c.differs(stored, env); {
	case len(differing) > 0:
		return refuseIdentifiers(differing)
	case stored.Status == Confirmed:
		return ErrAlreadyConfirmed
	case stored.Status == Cancelled:
		return CheckoutCancelled()
	case stored.Erased():
		return refuseErased()
	case latest == "" || subtle.ConstantTimeCompare([]byte(c.Token.Value), []byte(latest)) != 1:
		return refuseToken()
	}
	return nil
}

// Ready returns nil if the agreement may be prepared. Its errors are the errors of Match, and DIRECT_DEBIT_SETUP_INCOMPLETE.
func (c Confirm) Ready(stored Checkout, env catalogue.Environment, latest string) error {
	switch err := c.Match(stored, env, latest); {
	case err != nil:
		return err
	case !stored.SetupComplete():
		return refuseSetupIncomplete()
	case !stored.Setup.Mandate.Confirmable():
		return refuseMandate()
	}
	return nil
}

// Decide decides for good, with the prepared agreement. Its errors are the errors of Ready, and ErrOutdated.
func (c Confirm) Decide(stored Checkout, latest string, p Prepared) (Change, error) {
	switch err := c.Ready(stored, p.Environment, latest); {
	case err != nil:
		return Change{}, err
	case p.Agreement.DirectDebit != stored.authority(p.Environment):
		return Change{}, ErrOutdated
	}
	return c.conclude(stored, p), nil
}

func (c Confirm) differs(stored Checkout, env catalogue.Environment) []Fault {
	k := &checker{}
	same := func(field string, sent Optional[string], want string) {
		if sent.Value != want {
			k.fault(field, "is not this checkout's; send what its create answered")
		}
	}
	records := stored.Records(env)
	same(FieldCheckoutID, c.CheckoutID, stored.ID)
	same(FieldOrderID, c.OrderID, stored.OrderID)
	same(FieldOpportunityID, c.OpportunityID, records.OpportunityID)
	same(FieldDDAID, c.DDAID, records.DDAID)
	return k.faults
}

// conclude returns the confirmed checkout with its agreement, the events, the payer's notice and the job for the CRM.
func (c Confirm) conclude(stored Checkout, p Prepared) Change {
	a, next := p.Agreement, stored
	next.Status = Confirmed
	next.Confirmation = Confirmation{At: a.AcceptedAt, RequestID: c.RequestID, FirstPayment: a.Plan.First, AgreementNumber: a.Number}
	o, about := origin(c.RequestID, p.Environment, p.Now), next.subject(p.Environment)
	agreementID := next.AgreementID(p.Environment, a.Number)
	jobs := []Job{DeliveryOf(events.Confirmed(o, about, next.Records(p.Environment).DDAID, agreementID))}
	if p.Document != nil {
		next.Confirmation.DocumentSHA256 = p.Document.SHA256
		jobs = append(jobs,
			DeliveryOf(events.Generated(o, about, agreementID, a.Number, next.DocumentID(p.Environment, a.Number), a.Version)))
	}
	return Change{At: p.Now, Next: next, Agreement: &a, Document: p.Document,
		Moments: []Moment{{At: p.Now, Kind: MomentConfirmed, Actor: c.Actor, RequestID: c.RequestID, Detail: a.Number}},
		Jobs:    append(jobs, next.notice(NoticeOfAgreement, c.RequestID, p.Now), next.Job(JobSync, c.RequestID, p.Now, 0))}
}

// AgreementFacts are the facts that an agreement takes from outside.
type AgreementFacts struct {
	Environment catalogue.Environment
	Provider    catalogue.Provider
	Terms       agreement.Terms
	Number      string
	Now         time.Time
	Today       money.Date // in New Zealand
	SignedBy    string     // SHA-256 of the certificate under which the document is signed
}

// PartyOf returns a provider as payers know it now.
func PartyOf(p catalogue.Provider) agreement.Party {
	return agreement.Party{Code: p.Code, Name: p.DisplayName(), SupportEmail: p.Branding.SupportEmail, Colour: p.Branding.PrimaryColour}
}

// Agreement returns the agreement that the confirm concludes.
func (c Confirm) Agreement(stored Checkout, with AgreementFacts) agreement.Agreement {
	own := with.Terms.Period(stored.Intent.Plan.Frequency)
	stored.Confirmation = Confirmation{At: with.Now, RequestID: c.RequestID, FirstPayment: c.FirstPayment.Value,
		AgreementNumber: with.Number}
	return stored.Stated(agreement.Agreement{
		Version:     agreement.Version,
		SignedBy:    with.SignedBy,
		Provider:    PartyOf(with.Provider),
		Notice:      stored.NoticeOn(with.Today, own, with.Terms.Authority.Calendar),
		Terms:       with.Terms,
		CancelUntil: with.Terms.Cancellation.Until(with.Today),
	}, with.Environment)
}

// NoticeOn returns the notice of an agreement that is concluded on day. Its period is the period that the payer consented to, or
// else own. No payment is taken before the first day on which the processor can collect.
func (c Checkout) NoticeOn(day money.Date, own agreement.NoticePeriod, calendar money.Calendar) agreement.Notice {
	n := agreement.AgreedNotice(c.Setup.Consent, own, day, calendar)
	if first := c.Setup.FirstCharge; n.NotBefore.Before(first) {
		n.NotBefore = calendar.Next(first)
	}
	return n
}

// Stated returns an agreement with what is on record of its checkout in the place of what it states itself. It is the same agreement unless
// somebody has changed one of them.
func (c Checkout) Stated(a agreement.Agreement, env catalogue.Environment) agreement.Agreement {
	a.Number, a.CheckoutID, a.OrderID, a.AcceptedAt = c.Confirmation.AgreementNumber, c.ID, c.OrderID, c.Confirmation.At
	a.Sandbox, a.Provider.Code = env == catalogue.Sandbox, c.ProviderCode
	a.Requests = agreement.Requests{Create: c.RequestID, Confirm: c.Confirmation.RequestID}
	a.Student, a.Course = agreement.Student(c.Student), agreement.Course{Code: c.CourseCode, Name: c.Intent.CourseName}
	a.Pricing, a.Plan = c.Intent.Pricing, c.Intent.Plan
	a.Plan.First = c.Confirmation.FirstPayment
	a.Schedule, a.DirectDebit = money.Schedule(a.Pricing.Upfront, a.Plan), c.authority(env)
	return a
}

func (c Checkout) authority(env catalogue.Environment) agreement.DirectDebit {
	return agreement.DirectDebit{AuthorityID: c.Records(env).DDAID, MandateID: c.Setup.MandateID, AccountHolder: c.Setup.AccountHolder,
		AccountMask: c.Setup.AccountMask, AuthorisedAt: c.Setup.CompletedAt, Consent: c.Setup.Consent}
}
