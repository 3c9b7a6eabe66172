package checkout

import "github.com/provider-checkout/provider-checkout/money"

// Confirm is the command to confirm a checkout (section 2.4).
type Confirm struct {
	RequestID  string
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
}
