package gocardlesstest

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// The one scheme that this simulator has.
const (
	scheme   = "becs_nz"
	currency = "NZD"
)

// texts are metadata, or links from their names to ids.
type texts map[string]string

// billingRequest is a billing request as the API gives it, and takes it in a create.
type billingRequest struct {
	ID             string                        `json:"id"`
	CreatedAt      string                        `json:"created_at"`
	Status         checkout.BillingRequestStatus `json:"status"`
	MandateRequest struct {
		Scheme      string `json:"scheme"`
		Currency    string `json:"currency"`
		Description string `json:"description"`
		Metadata    texts  `json:"metadata"`
		Links       texts  `json:"links"`
	} `json:"mandate_request"`
	Metadata  texts `json:"metadata"`
	Links     texts `json:"links"`
	Resources struct {
		Customer customer `json:"customer"`
		Account  object   `json:"customer_bank_account,omitempty"`
	} `json:"resources"`
	Actions []object `json:"actions"`

	creditor     *Creditor
	blockedUntil time.Time // as from a country that is not served
}

// open reports whether it can be cancelled.
func (b *billingRequest) open() bool {
	return b.Status == checkout.BillingPending || b.Status == checkout.BillingReadyToFulfil
}

type customer struct {
	ID         string `json:"id,omitempty"`
	GivenName  string `json:"given_name"`
	FamilyName string `json:"family_name"`
	Email      string `json:"email"`
}

// actions lists the steps before a billing request can be fulfilled, which are all pending or all completed.
func actions(status string) (all []object) {
	for _, kind := range []string{"collect_customer_details", "collect_bank_account", "confirm_payer_details"} {
		all = append(all, object{"type": kind, "required": true, "completes_actions": []string{}, "requires_actions": []string{}, "status": status})
	}
	return all
}

// flow is one visit to the hosted page that was offered to a payer.
type flow struct {
	ID                  string   `json:"id"`
	URL                 string   `json:"authorisation_url"`
	CreatedAt           string   `json:"created_at"`
	ExpiresAt           string   `json:"expires_at"`
	RedirectURI         string   `json:"redirect_uri"`
	ExitURI             string   `json:"exit_uri"`
	Prefilled           customer `json:"prefilled_customer"`
	LockCurrency        bool     `json:"lock_currency"`
	ShowRedirectButtons bool     `json:"show_redirect_buttons"`
	Language            string   `json:"language"`
	Links               texts    `json:"links"`

	request *billingRequest
	expires time.Time
	visited bool
}

// flowLife is the time for which a flow can be used.
const flowLife = 7 * 24 * time.Hour

// mandate is a direct debit authority.
type mandate struct {
	ID         string                 `json:"id"`
	CreatedAt  string                 `json:"created_at"`
	Reference  string                 `json:"reference"`
	Status     checkout.MandateStatus `json:"status"`
	Scheme     string                 `json:"scheme"`
	NextCharge *string                `json:"next_possible_charge_date"` // null of a mandate that is dead
	Metadata   texts                  `json:"metadata"`
	Links      texts                  `json:"links"`

	request *billingRequest
	ended   bool // by a call of the API: its fate does not come true any more
}

// event says that something happened to a resource.
type event struct {
	ID               string `json:"id"`
	CreatedAt        string `json:"created_at"`
	Resource         string `json:"resource_type"`
	Action           string `json:"action"`
	Details          texts  `json:"details"`
	Metadata         texts  `json:"metadata"`
	ResourceMetadata texts  `json:"resource_metadata"`
	Links            texts  `json:"links"`
}

// Creditor is a creditor of the account.
type Creditor struct {
	ID                   string // CR…
	Name                 string
	SchemeName           string // of its becs_nz scheme identifier, as bank statements show it; Name if empty
	SchemeStatus         string // of that identifier: "active" (if empty), "pending", or NoScheme
	MinimumAdvanceNotice int    // days; 10 if 0
	Reference            string // the authorisation code of that identifier; 0200001 if empty and the scheme status is active
}

// NoScheme as a creditor's scheme status is a creditor that has no becs_nz scheme identifier.
const NoScheme = "none"

// complete returns the creditor with defaults for what is empty.
func (c Creditor) complete() Creditor {
	c.ID, c.Name = cmp.Or(c.ID, "CR000SIMULATOR"), cmp.Or(c.Name, "Rimu College")
	c.SchemeName, c.SchemeStatus = cmp.Or(c.SchemeName, c.Name), cmp.Or(c.SchemeStatus, "active")
	c.MinimumAdvanceNotice = cmp.Or(c.MinimumAdvanceNotice, 10)
	if c.SchemeStatus == "active" {
		c.Reference = cmp.Or(c.Reference, "0200001")
	}
	return c
}

// object is a JSON object that is sent.
type object map[string]any

func (c Creditor) toWire() object {
	schemes := []object{}
	if c.SchemeStatus != NoScheme {
		schemes = append(schemes, object{"id": "SU" + c.ID[2:], "name": c.SchemeName, "scheme": scheme, "currency": currency,
			"status": c.SchemeStatus, "reference": c.Reference, "minimum_advance_notice": c.MinimumAdvanceNotice})
	}
	return object{"id": c.ID, "name": c.Name, "country_code": "NZ", "scheme_identifiers": schemes, "links": object{}}
}

// encode returns a value as JSON. Values have texts, numbers and booleans, which always marshal.
func encode(v any) []byte {
	data, _ := json.Marshal(v)
	return data
}

// stamp writes a time as the API does. Such texts are in the order of the times.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }
