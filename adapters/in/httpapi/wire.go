package httpapi

import (
	"cmp"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// dollars is an amount on the wire: a JSON number with two decimals.
type dollars money.Cents

func (d dollars) MarshalJSON() ([]byte, error) { return []byte(money.Cents(d).String()), nil }

// openedWire is the answer to a create (section 2.2).
type openedWire struct {
	Success          bool   `json:"success"`
	IdempotentReplay bool   `json:"idempotent_replay"`
	IdempotencyKey   string `json:"idempotency_key,omitempty"`
	Provider         struct {
		Code    string `json:"provider_code"`
		OrderID string `json:"provider_order_id"`
	} `json:"provider"`
	Records  recordsWire `json:"records"`
	Checkout struct {
		ID                  string          `json:"checkout_id"`
		Status              checkout.Status `json:"status"`
		RequiresDirectDebit bool            `json:"requires_direct_debit"`
	} `json:"checkout"`
	DirectDebit struct {
		SetupComplete bool   `json:"setup_complete"`
		DDAID         string `json:"dda_id"`
		SetupURL      string `json:"setup_url,omitempty"`
		Token         string `json:"token,omitempty"`
		waitWire
	} `json:"direct_debit"`
	Plan    planWire    `json:"plan"`
	Pricing pricingWire `json:"pricing"`
}

type recordsWire struct {
	ContactID     string `json:"contact_id"`
	OpportunityID string `json:"opportunity_id"`
	DDAID         string `json:"dda_id"`
}

type planWire struct {
	PaymentType  string          `json:"payment_type"`
	Frequency    money.Frequency `json:"payment_frequency"`
	Number       int             `json:"number_of_instalments"`
	Regular      dollars         `json:"instalment_amount"`
	Final        *dollars        `json:"final_instalment_amount,omitempty"`
	FirstPayment string          `json:"first_payment_date"`
}

type pricingWire struct {
	Price     dollars `json:"course_price"`
	Principal dollars `json:"amount_to_finance"`
	Upfront   dollars `json:"upfront_payment"`
}

// waitWire tells a caller how long the link opens, and when to ask again.
type waitWire struct {
	ExpiresAt     string `json:"expires_at,omitempty"`
	NextPollAfter int    `json:"next_poll_after,omitempty"`
}

func toWaitWire(c checkout.Checkout, now time.Time) (w waitWire) {
	if expires := c.LinkExpires(); !expires.IsZero() {
		w.ExpiresAt = events.Timestamp(expires)
	}
	w.NextPollAfter = int(c.NextPoll(now).Seconds())
	return w
}

func toOpenedWire(o service.Opened, now time.Time) openedWire {
	c := o.Checkout
	w := openedWire{Success: true, IdempotentReplay: o.Replay}
	if o.Replay {
		w.IdempotencyKey = o.IdempotencyKey
	}
	w.Provider.Code, w.Provider.OrderID = c.ProviderCode, c.OrderID
	w.Records = recordsWire(o.Records)
	w.Checkout.ID, w.Checkout.Status, w.Checkout.RequiresDirectDebit = c.ID, c.Status, true
	w.DirectDebit.SetupComplete, w.DirectDebit.DDAID = c.SetupComplete(), o.Records.DDAID
	w.DirectDebit.SetupURL, w.DirectDebit.Token, w.DirectDebit.waitWire = o.SetupURL, o.Token, toWaitWire(c, now)
	w.Plan = toPlanWire(c.Intent.Plan, o.SentFinal)
	p := c.Intent.Pricing
	w.Pricing = pricingWire{dollars(p.Price), dollars(p.Principal), dollars(p.Upfront)}
	return w
}

// toPlanWire echoes a plan, with the final instalment where it differs from the others or was sent.
func toPlanWire(p money.Plan, sentFinal bool) planWire {
	w := planWire{
		PaymentType:  checkout.PaymentType,
		Frequency:    p.Frequency,
		Number:       p.Number,
		Regular:      dollars(p.Regular),
		FirstPayment: p.First.String(),
	}
	if p.Residual() || sentFinal {
		final := dollars(p.Final)
		w.Final = &final
	}
	return w
}

// checkoutWire is the answer to a get (section 2.3).
type checkoutWire struct {
	Success  bool `json:"success"`
	Checkout struct {
		ID     string          `json:"checkout_id"`
		Status checkout.Status `json:"status"`
	} `json:"checkout"`
	DirectDebit struct {
		SetupComplete  bool                          `json:"setup_complete"`
		BillingRequest checkout.BillingRequestStatus `json:"billing_request_status"`
		Mandate        checkout.MandateStatus        `json:"mandate_status,omitempty"`
		Authorisation  checkout.AuthorisationStatus  `json:"authorisation_status"`
		Authorised     bool                          `json:"authorised"`
		DDAID          string                        `json:"dda_id"`
		waitWire
	} `json:"direct_debit"`
	Agreement struct {
		WithdrawnAt string `json:"withdrawn_at"`
	} `json:"agreement,omitzero"`
}

func toCheckoutWire(c checkout.Checkout, env catalogue.Environment, now time.Time) checkoutWire {
	w := checkoutWire{Success: true}
	w.Checkout.ID, w.Checkout.Status = c.ID, c.Status
	w.DirectDebit.SetupComplete, w.DirectDebit.DDAID = c.SetupComplete(), c.Records(env).DDAID
	w.DirectDebit.BillingRequest = cmp.Or(c.Setup.BillingRequest, checkout.BillingPending)
	w.DirectDebit.Mandate = c.Setup.Mandate
	w.DirectDebit.Authorisation = cmp.Or(c.Setup.Authorisation, checkout.CustomerInProgress)
	w.DirectDebit.Authorised = c.Setup.Authorisation == checkout.Authorised
	w.DirectDebit.waitWire = toWaitWire(c, now)
	w.Agreement.WithdrawnAt = withdrawnAt(c)
	return w
}

// confirmedWire is the answer to a confirm (section 2.5).
type confirmedWire struct {
	Success  bool `json:"success"`
	Checkout struct {
		Status checkout.Status `json:"status"`
		ID     string          `json:"id"`
	} `json:"checkout"`
	Enrolment struct {
		Status string `json:"status"`
	} `json:"enrolment"`
	DirectDebit struct {
		SetupComplete bool                   `json:"setup_complete"`
		Mandate       checkout.MandateStatus `json:"mandate_status,omitempty"`
	} `json:"direct_debit"`
	Agreement struct {
		ID           string `json:"id"`
		Number       string `json:"number"`
		PDFGenerated bool   `json:"pdf_generated"`
		WithdrawnAt  string `json:"withdrawn_at,omitempty"`
	} `json:"agreement"`
	AlreadyConfirmed bool `json:"already_confirmed"`
}

func toConfirmedWire(d service.Confirmed) confirmedWire {
	c := d.Checkout
	w := confirmedWire{Success: true, AlreadyConfirmed: d.Already}
	w.Checkout.ID, w.Checkout.Status, w.Enrolment.Status = c.ID, c.Status, "complete"
	w.DirectDebit.SetupComplete, w.DirectDebit.Mandate = c.SetupComplete(), c.Setup.Mandate
	w.Agreement.ID, w.Agreement.Number = d.AgreementID, c.Confirmation.AgreementNumber
	w.Agreement.PDFGenerated = c.Confirmation.PDFGenerated()
	w.Agreement.WithdrawnAt = withdrawnAt(c)
	return w
}

// withdrawnAt returns when a checkout's agreement was withdrawn, or "".
func withdrawnAt(c checkout.Checkout) string {
	if !c.Withdrawn() {
		return ""
	}
	return events.Timestamp(c.End.At)
}

// cancelledWire is the answer to a cancel, and to its repeats.
type cancelledWire struct {
	Success  bool `json:"success"`
	Checkout struct {
		ID     string          `json:"checkout_id"`
		Status checkout.Status `json:"status"`
	} `json:"checkout"`
}

func toCancelledWire(c checkout.Checkout) cancelledWire {
	w := cancelledWire{Success: true}
	w.Checkout.ID, w.Checkout.Status = c.ID, c.Status
	return w
}

// eventsWire is a page of a provider's events.
type eventsWire struct {
	Success bool        `json:"success"`
	Events  []eventWire `json:"events"`
	Next    string      `json:"next"`
}

type eventWire struct {
	Cursor    string        `json:"cursor"`
	ID        string        `json:"event_id"`
	Name      string        `json:"event"`
	CreatedAt string        `json:"created_at"`
	Status    events.Status `json:"status"`
	Attempts  int           `json:"attempts"`
	Body      string        `json:"body"`
}

func toEventsWire(page []checkout.JobRecord, after checkout.Cursor) eventsWire {
	w := eventsWire{Success: true, Events: []eventWire{}, Next: string(after)}
	for _, e := range page {
		w.Next = string(e.Cursor)
		w.Events = append(w.Events, eventWire{w.Next, e.ID, e.Name, events.Timestamp(e.CreatedAt), e.EventStatus(),
			e.Attempts, string(e.Body)})
	}
	return w
}

// aboutWire is the answer to GET /v1.
type aboutWire struct {
	Success     bool                  `json:"success"`
	Service     string                `json:"service"`
	Version     string                `json:"version"`
	Environment catalogue.Environment `json:"environment"`
	BaseURL     string                `json:"base_url"`
}

// environmentWire is the answer to GET /v1/environment (section 4).
type environmentWire struct {
	Success         bool                  `json:"success"`
	Environment     catalogue.Environment `json:"environment"`
	APIBaseURL      string                `json:"api_base_url"`
	Processor       string                `json:"payment_processor"`
	ProcessorStatus string                `json:"payment_processor_status"`
	Readiness       struct {
		ReadyForAPICalls              bool `json:"ready_for_api_calls"`
		WebhookDestinationsConfigured bool `json:"webhook_destinations_configured"`
	} `json:"readiness"`
}

func toEnvironmentWire(r service.Readiness) environmentWire {
	w := environmentWire{Success: true, Environment: r.Environment, APIBaseURL: r.BaseURL,
		Processor: r.Processor, ProcessorStatus: "configured"}
	w.Readiness.ReadyForAPICalls = r.ReadyForAPICalls
	w.Readiness.WebhookDestinationsConfigured = r.WebhookDestinationsConfigured
	return w
}

// envelopeWire is the answer of every refusal and failure.
type envelopeWire struct {
	Success bool `json:"success"`
	Error   struct {
		Code    string      `json:"code"`
		Message string      `json:"message"`
		Details []faultWire `json:"details"`
		DocURL  string      `json:"doc_url"`
	} `json:"error"`
	RequestID string `json:"request_id"`
}

type faultWire struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func toEnvelopeWire(p *problem, base, requestID string) envelopeWire {
	w := envelopeWire{RequestID: requestID}
	w.Error.Code, w.Error.Message = p.code, p.message
	w.Error.DocURL = base + docsPath + "#error-" + p.code
	w.Error.Details = []faultWire{} // never null
	for _, f := range p.faults {
		w.Error.Details = append(w.Error.Details, faultWire(f))
	}
	return w
}
