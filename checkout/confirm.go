package checkout

import (
	"crypto/subtle"
	"errors"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// PaymentMethod is the one value of payment.payment_method.
const PaymentMethod = "service_payment_plan"

// Confirm is the command to confirm a checkout (section 2.4).
type Confirm struct {
	RequestID  string // req_…; the events carry it
	PathID     string // the checkout id of the path
	CheckoutID Given[string]

	ProviderCode Given[string]
	OrderID      Given[string]

	Token         Given[string]
	OpportunityID Given[string]
	DDAID         Given[string]

	PaymentMethod Given[string]
	FirstPayment  Given[money.Date]

	// True only where the request said true itself.
	DepositConfirmed       bool
	PaymentPlanAccepted    bool
	InformationConfirmed   bool
	PrivacyConsentAccepted bool

	Unread []Fault // as for Create
	Hints  Hints   // as for Create
}

// Check returns nil, or a CodeInvalid with every fault of the request.
func (c Confirm) Check() error {
	k := &checker{faults: slices.Clip(c.Unread), hints: c.Hints}
	k.text(fieldProvider, c.ProviderCode)
	k.text(fieldOrder, c.OrderID)
	k.text("checkout.checkout_id", c.CheckoutID)
	k.text("checkout.checkout_token", c.Token)
	k.text("checkout.opportunity_id", c.OpportunityID)
	k.text("checkout.dda_id", c.DDAID)
	if require(k, "payment.payment_method", c.PaymentMethod) {
		k.only("payment.payment_method", c.PaymentMethod, PaymentMethod)
	}
	require(k, "payment.first_payment_date", c.FirstPayment)
	accepted := func(field string, yes bool) {
		if !yes {
			k.fault(field, "must be true%s", k.hint(field))
		}
	}
	accepted("payment.deposit_confirmed", c.DepositConfirmed)
	accepted("declarations.payment_plan_accepted", c.PaymentPlanAccepted)
	accepted("declarations.information_confirmed", c.InformationConfirmed)
	accepted("declarations.privacy_consent_accepted", c.PrivacyConsentAccepted)
	return k.err()
}

// ErrAlreadyConfirmed says that a confirm is a repeat: it is answered as the first was, and changes nothing.
var ErrAlreadyConfirmed = errors.New("checkout is already confirmed")

// ErrOvertaken says that the checkout changed while its agreement was drawn: it must be drawn again.
var ErrOvertaken = errors.New("checkout changed while its agreement was drawn")

// Match tells whether a checked confirm is about this checkout. token is the text of the
// checkout's latest token, "" if it can no longer be derived. A repeat may carry any token, so
// that one that got lost does not block a safe retry.
func (c Confirm) Match(stored Checkout, token string) error {
	k := &checker{}
	same := func(field string, sent Given[string], want string) {
		if sent.Value != want {
			k.fault(field, "is not this checkout's; send what its create answered")
		}
	}
	same("checkout.checkout_id", c.CheckoutID, stored.ID)
	same(fieldOrder, c.OrderID, stored.OrderID)
	same("checkout.opportunity_id", c.OpportunityID, stored.Records.OpportunityID)
	same("checkout.dda_id", c.DDAID, stored.Records.DDAID)
	switch {
	case len(k.faults) > 0:
		return Refuse(CodeConflict, "the identifiers are not those of this checkout; send what its create answered", k.faults...)
	case stored.Status == Confirmed:
		return ErrAlreadyConfirmed
	case token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(c.Token.Value)) != 1:
		return Refuse(CodeConflict, "checkout_token is not the latest one of this checkout; send the create again to be told it",
			Fault{"checkout.checkout_token", "is not the latest token; send direct_debit.token of the latest answer to the create"})
	}
	return nil
}

// Ready returns nil if the checkout's direct debit allows a confirm (section 3).
func (c Checkout) Ready() error {
	switch {
	case !c.SetupComplete():
		return Refuse(CodeSetupIncomplete, "the payer has not completed the direct debit setup; poll the checkout until direct_debit.setup_complete is true")
	case !c.Setup.Mandate.Confirmable():
		return Refuse(CodeSetupIncomplete, "the direct debit mandate cannot be confirmed in its present status; "+
			"poll the checkout until it is pending_submission, submitted or active")
	}
	return nil
}

// Agree returns the agreement that a confirm concludes: now, which is today in New Zealand.
func (c Confirm) Agree(stored Checkout, provider catalogue.Provider, env catalogue.Environment,
	number string, now time.Time, today money.Date) agreement.Agreement {
	plan := stored.Intent.Plan
	plan.First = c.FirstPayment.Value
	return agreement.Agreement{
		ID:         NaturalKey(env, stored.ProviderCode, stored.OrderID, "agreement"),
		Number:     number,
		Version:    agreement.Version,
		CheckoutID: stored.ID,
		OrderID:    stored.OrderID,
		AcceptedAt: now,
		Sandbox:    env == catalogue.Sandbox,
		Provider: agreement.Party{Code: provider.Code, Name: provider.DisplayName(),
			SupportEmail: provider.Branding.SupportEmail, Colour: provider.Branding.PrimaryColour},
		Student:     agreement.Student(stored.Student),
		Course:      agreement.Course{Code: stored.CourseCode, Name: stored.Intent.CourseName},
		Pricing:     stored.Intent.Pricing,
		Plan:        plan,
		Schedule:    money.Schedule(stored.Intent.Pricing.Upfront, plan),
		DirectDebit: stored.authority(),
		Notice:      agreement.AgreedNotice(stored.Setup.Consent, provider.NoticeDays, today),
	}
}

func (c Checkout) authority() agreement.DirectDebit {
	return agreement.DirectDebit{AuthorityID: c.Records.DDAID, AccountHolder: c.Setup.AccountHolder,
		AccountTail: c.Setup.AccountTail, AuthorisedAt: c.Setup.CompletedAt, Consent: c.Setup.Consent}
}

// Conclusion is what a confirm concludes, made outside of the decision because it takes time.
type Conclusion struct {
	Environment catalogue.Environment
	Agreement   agreement.Agreement
	Document    *agreement.Document // nil if it could not be drawn
}

// Conclude decides a confirm for good: the checkout is confirmed, its agreement is on record, and
// checkout.confirmed and, if it was drawn, agreement.generated tell of it. It returns the refusals
// of Match and Ready, ErrAlreadyConfirmed, or ErrOvertaken.
func (c Confirm) Conclude(stored Checkout, token string, done Conclusion) (Change, error) {
	if err := c.Match(stored, token); err != nil {
		return Change{}, err
	}
	if err := stored.Ready(); err != nil {
		return Change{}, err
	}
	a := done.Agreement
	if a.DirectDebit != stored.authority() {
		return Change{}, ErrOvertaken
	}
	next := stored
	next.Status = Confirmed
	next.Confirmation = Confirmation{At: a.AcceptedAt, RequestID: c.RequestID, FirstPayment: a.Plan.First,
		AgreementID: a.ID, AgreementNumber: a.Number}
	o, s := stored.origin(c.RequestID, done.Environment, a.AcceptedAt), stored.subject()
	out := []events.Event{events.Confirmed(o, s, stored.Records.DDAID, a.ID)}
	if d := done.Document; d != nil {
		next.Confirmation.DocumentID = d.ID
		out = append(out, events.Generated(o, s, a.ID, a.Number, d.ID, a.Version))
	}
	return Change{Next: next, Events: out, Agreement: &a, Document: done.Document}, nil
}
