package gocardless

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/money/text"
)

const scheme = "becs_nz"

// metaKey is the name of the billing request's metadata by which it is known again.
const metaKey = "key"

// Prefixes of identifiers.
const creditorPrefix, billingRequestPrefix, mandatePrefix = "CR", "BRQ", "MD"

type linksWire struct {
	BillingRequest string `json:"billing_request"`
	// Of a billing request; GoCardless' answers have the second form.
	Mandate               string `json:"mandate"`
	MandateRequestMandate string `json:"mandate_request_mandate"`
	NewMandate            string `json:"new_mandate"`
}

type object = map[string]any

func toBillingRequestWire(start checkout.SetupStart) object {
	w := object{
		"mandate_request": object{"scheme": scheme, "currency": "NZD", "description": describe(start)},
		"metadata":        object{metaKey: start.Key, "checkout_id": start.CheckoutID, "provider_code": start.Account.ProviderCode},
	}
	if strings.HasPrefix(start.Account.ID, creditorPrefix) {
		w["links"] = object{"creditor": start.Account.ID}
	}
	return w
}

// describe returns the words that GoCardless' page shows the payer: what is paid for, and the first payment where there is room.
func describe(start checkout.SetupStart) string {
	first := start.First
	described := fmt.Sprintf("%s: first payment %s, planned for %s", start.Description, first.Amount.Dollars(), first.Taken.Long())
	if first.Amount == 0 || utf8.RuneCountInString(described) > text.Max {
		return start.Description
	}
	return described
}

// toFlowWire returns the body that makes a flow. It leaves the payer's name and e-mail open: a parent may pay for the student
// whose details are filled in.
func toFlowWire(request string, start checkout.SetupStart) object {
	return object{"redirect_uri": start.ReturnURL, "exit_uri": start.ReturnURL, "lock_currency": true, "show_redirect_buttons": true,
		"language": "en", "links": object{"billing_request": request},
		"prefilled_customer": object{"given_name": start.Student.FirstName, "family_name": start.Student.LastName,
			"email": start.Student.Email}}
}

type billingRequestWire struct {
	ID             string                        `json:"id"`
	Status         checkout.BillingRequestStatus `json:"status"`
	MandateRequest struct {
		Scheme string    `json:"scheme"`
		Links  linksWire `json:"links"`
	} `json:"mandate_request"`
	Metadata  map[string]string `json:"metadata"`
	Links     linksWire         `json:"links"`
	Resources struct {
		Account struct {
			Holder string `json:"account_holder_name"`
			Ending string `json:"account_number_ending"` // of an account in NZD, the last four digits of its base number
		} `json:"customer_bank_account"`
	} `json:"resources"`
}

func (w billingRequestWire) check() error {
	if !isID(w.ID, billingRequestPrefix) || !w.Status.Known() || w.MandateRequest.Scheme != scheme {
		return fmt.Errorf("billing request %q is %q and has the scheme %q, want %s",
			outbound.Word(w.ID), outbound.Word(string(w.Status)), outbound.Word(w.MandateRequest.Scheme), scheme)
	}
	return nil
}

func isID(id, prefix string) bool { return strings.HasPrefix(outbound.Word(id), prefix) }

// observation returns the observation by the billing request alone. A fulfilled billing request without a mandate counts as
// fulfilling.
func (w billingRequestWire) observation() checkout.Observation {
	seen := checkout.Observation{BillingRequest: w.Status, Authorisation: checkout.CustomerInProgress}
	mandate := outbound.Word(cmp.Or(w.Links.MandateRequestMandate, w.MandateRequest.Links.Mandate))
	switch {
	case w.Status != checkout.BillingFulfilled:
	case mandate == "":
		seen.BillingRequest = checkout.BillingFulfilling
	default:
		seen.MandateID, seen.AccountHolder, seen.AccountMask = mandate, w.Resources.Account.Holder, maskOf(w.Resources.Account.Ending)
	}
	return seen
}

// maskOf returns an account as it is shown, such as ••••8389; "" where GoCardless does not name it. The hidden places
// stand for everything before the ending, however long that is.
func maskOf(ending string) agreement.AccountMask {
	if ending == "" || len(ending) > 4 {
		return ""
	}
	return agreement.AccountMask(strings.Repeat(agreement.HiddenDigit, 4) + ending)
}

type flowWire struct {
	ID               string `json:"id"`
	AuthorisationURL string `json:"authorisation_url"`
}

type mandateWire struct {
	ID          string                 `json:"id"`
	CreatedAt   time.Time              `json:"created_at"`
	Status      checkout.MandateStatus `json:"status"`
	Scheme      string                 `json:"scheme"`
	FirstCharge string                 `json:"next_possible_charge_date"` // null of a mandate that has ended
	Links       linksWire              `json:"links"`
}

func (w mandateWire) check() error {
	status := outbound.Word(string(w.Status))
	if !isID(w.ID, mandatePrefix) || status == "" || w.Scheme != scheme {
		return fmt.Errorf("mandate %q is %q and has the scheme %q, want %s", outbound.Word(w.ID), status, outbound.Word(w.Scheme), scheme)
	}
	return nil
}

// onto returns the observation of a fulfilled billing request with the mandate as it stands.
func (w mandateWire) onto(seen checkout.Observation) checkout.Observation {
	seen.MandateID, seen.Mandate, seen.Authorisation = w.ID, w.Status, checkout.CustomerInProgress
	if w.Status == checkout.MandateActive {
		seen.Authorisation = checkout.Authorised
	}
	seen.FirstCharge, _ = money.ParseDate(w.FirstCharge) // zero if it is no date
	return seen
}

type creditorWire struct {
	ID      string `json:"id"`
	Schemes []struct {
		Scheme string `json:"scheme"`
		Status string `json:"status"`
		Notice int    `json:"minimum_advance_notice"` // calendar days
		Name   string `json:"name"`                   // of the initiator, as bank statements show it
		Code   string `json:"reference"`              // of the initiator at the scheme
	} `json:"scheme_identifiers"`
}

type notificationWire struct {
	Events []eventWire `json:"events"`
}

// eventWire is an event, in a notification and in the list of events.
type eventWire struct {
	ID        string    `json:"id"`
	CreatedAt time.Time `json:"created_at"`
	Resource  string    `json:"resource_type"`
	Action    string    `json:"action"`
	Links     linksWire `json:"links"`
	Details   struct {
		ReasonCode string `json:"reason_code"`
	} `json:"details"`
}

// errorWire is the body of an answer that is no success.
type errorWire struct {
	Error struct {
		Type      string `json:"type"`
		RequestID string `json:"request_id"`
		Errors    []struct {
			Reason string `json:"reason"`
			Field  string `json:"field"`
			Links  struct {
				Conflicting string `json:"conflicting_resource_id"`
			} `json:"links"`
		} `json:"errors"`
	} `json:"error"`
}
