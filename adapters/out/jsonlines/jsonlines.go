// Package jsonlines writes everything that a store has on record as JSON Lines: one object a line, each with a kind.
// Fields are named as in the contract with the provider and in the provider file. No secret is written, no token, and
// no text of a key.
package jsonlines

import (
	"encoding/hex"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// NewVisitor returns a visitor for a store's export that writes each record to w as it comes. It writes a line at a
// time: give it a buffered writer, and flush that at the end. A checkout that cannot be read is passed to unreadable.
func NewVisitor(w io.Writer, env catalogue.Environment, unreadable func(checkoutID string, err error) error) checkout.Visitor {
	return checkout.Visitor{
		Configuration: func(c catalogue.Configuration) error {
			lines := []Object{toWireProvider(c.Provider)}
			for _, course := range c.Courses {
				lines = append(lines, toWireCourse(c.Provider.Code, course))
			}
			return Write(w, lines...)
		},
		Key:        func(k catalogue.Key) error { return Write(w, toWireKey(k)) },
		Checkout:   func(r checkout.CheckoutRecord) error { return Write(w, checkoutLines(r, env)...) },
		Unreadable: unreadable,
	}
}

// checkoutLines returns the checkout, its CRM records, what was agreed, the events, the
// notices to the payer, and the timeline.
func checkoutLines(r checkout.CheckoutRecord, env catalogue.Environment) []Object {
	c := r.Checkout
	lines := []Object{toWireCheckout(c, env), toWireContact(c, env), toWireOpportunity(c, env), toWireDDA(c, env)}
	if r.Agreement != nil {
		lines = append(lines, toWireAgreement(c, env, *r.Agreement))
	}
	if r.Document > 0 {
		lines = append(lines, toWireDocument(c, env, r.Document))
	}
	for _, e := range r.Events() {
		lines = append(lines, toWireEvent(c, e))
	}
	for _, j := range r.Jobs {
		if j.Job.Kind == checkout.JobNotify {
			lines = append(lines, toWireNotice(j))
		}
	}
	for _, m := range c.Timeline(r.Moments) {
		lines = append(lines, toWireMoment(c, m))
	}
	return lines
}

func toWireProvider(p catalogue.Provider) Object {
	return Object{
		Put("kind", "provider"),
		Put("provider_code", p.Code),
		Put("name", p.Name),
		Put("account_id", p.AccountID),
		Put("environment", string(p.Environment)),
		Put("active", p.Active),
		Put("api_enabled", p.APIEnabled),
		Opt("disabled", p.Disabled), // by an operator
		Put("mode", string(p.Mode)), // catalogue or legacy
		Opt("enrolment_origins", p.EnrolmentOrigins),
		Opt("success_url", p.SuccessURL),
		Opt("cancel_url", p.CancelURL),
		Opt("rate_limit", p.RateLimit),
		Opt("branding", Object{
			Opt("display_name", p.Branding.DisplayName),
			Opt("primary_colour", p.Branding.PrimaryColour),
			Opt("logo_url", p.Branding.LogoURL),
			Opt("support_email", p.Branding.SupportEmail),
		}),
		Opt("webhook", Object{Put("url", p.Destination.URL)}),
	}
}

func toWireCourse(provider string, c catalogue.Course) Object {
	plans := make([]Object, len(c.Options))
	for i, o := range c.Options {
		plans[i] = Object{Put("payment_frequency", string(o.Frequency)), Opt("number_of_instalments", o.Number), Opt("instalment_amount", o.Amount)}
	}
	var prices []Object
	for _, p := range c.Prices {
		prices = append(prices, Object{Put("valid_from", p.From.String()), Put("course_price", p.Price), Put("upfront_payment", p.Upfront)})
	}
	return Object{
		Put("kind", "course"),
		Put("provider_code", provider),
		Put("course_code", c.Code),
		Put("course_name", c.Name),
		Put("course_price", c.Price),
		Put("upfront_payment", c.Upfront),
		Opt("prices", prices),
		Put("active", c.Active),
		Put("environment", string(c.Environment)),
		Put("plans", plans),
	}
}

func toWireKey(k catalogue.Key) Object {
	return Object{
		Put("kind", "key"),
		Put("key_id", k.ID),
		Put("provider_code", k.Provider),
		Put("environment", string(k.Environment)),
		Put("created_at", k.CreatedAt),
		Opt("revoked_at", k.RevokedAt),
		Opt("label", k.Label),
		Opt("expires_at", k.ExpiresAt),
		Opt("last_used_at", k.LastUsed),
	}
}

// toWireCheckout describes the setup tokens without revealing them.
func toWireCheckout(c checkout.Checkout, env catalogue.Environment) Object {
	var tokens []Object
	for _, t := range c.Tokens {
		tokens = append(tokens, Object{Put("epoch", t.Epoch), Put("expires_at", t.Expires)})
	}
	return Object{
		Put("kind", "checkout"),
		Put("checkout_id", c.ID),
		Put("provider_code", c.ProviderCode),
		Put("provider_order_id", c.OrderID),
		Opt("idempotency_key", sentKey(c)),
		Put("request_id", c.RequestID),
		Put("created_at", c.CreatedAt),
		Put("status", string(c.Status)),
		Put("contact_id", c.Records(env).ContactID),
		Put("opportunity_id", c.Records(env).OpportunityID),
		Put("dda_id", c.Records(env).DDAID),
		Opt("course_code", c.CourseCode),
		Put("course_name", c.Intent.CourseName),
		Put("pricing", Object{Put("course_price", c.Intent.Pricing.Price), Put("amount_to_finance", c.Intent.Pricing.Principal),
			Put("upfront_payment", c.Intent.Pricing.Upfront)}),
		Put("plan", toWirePlan(c.Intent.Plan)),
		Opt("setup_tokens", tokens),
		Opt("confirmed_at", c.Confirmation.At),
		Opt("confirm_request_id", c.Confirmation.RequestID),
		Opt("agreement_number", c.Confirmation.AgreementNumber),
		Opt("ended", Object{Opt("at", c.End.At), Opt("by", string(c.End.By)), Opt("ground", string(c.End.Ground)),
			Opt("reason", c.End.Reason)}), // it was cancelled, or its agreement withdrawn
		Opt("erased_at", c.ErasedAt), // when the personal data was erased
	}
}

// sentKey returns the idempotency key of a checkout if its create sent one: the default follows from the order.
func sentKey(c checkout.Checkout) string {
	if c.IdempotencyKey == checkout.DefaultKey(c.ProviderCode, c.OrderID) {
		return ""
	}
	return c.IdempotencyKey
}

func toWirePlan(p money.Plan) Object {
	final := p.Final
	if !p.Residual() {
		final = 0
	}
	return Object{
		Put("payment_type", checkout.PaymentType),
		Put("payment_frequency", string(p.Frequency)),
		Put("number_of_instalments", p.Number),
		Put("instalment_amount", p.Regular),
		Opt("final_instalment_amount", final),
		Put("first_payment_date", p.First),
	}
}

func toWireContact(c checkout.Checkout, env catalogue.Environment) Object {
	return Object{
		Put("kind", "contact"),
		Put("contact_id", c.Records(env).ContactID),
		Put("checkout_id", c.ID),
		Put("first_name", c.Student.FirstName),
		Put("last_name", c.Student.LastName),
		Put("email", c.Student.Email),
	}
}

func toWireOpportunity(c checkout.Checkout, env catalogue.Environment) Object {
	status := ""
	if c.Status == checkout.Confirmed {
		status = "complete"
	}
	return Object{
		Put("kind", "opportunity"),
		Put("opportunity_id", c.Records(env).OpportunityID),
		Put("checkout_id", c.ID),
		Put("contact_id", c.Records(env).ContactID),
		Put("provider_code", c.ProviderCode),
		Opt("course_code", c.CourseCode),
		Put("course_name", c.Intent.CourseName),
		Opt("enrolment_status", status),
	}
}

func toWireDDA(c checkout.Checkout, env catalogue.Environment) Object {
	return Object{
		Put("kind", "dda"),
		Put("dda_id", c.Records(env).DDAID),
		Put("checkout_id", c.ID),
		Put("opportunity_id", c.Records(env).OpportunityID),
		Put("contact_id", c.Records(env).ContactID),
		Put("setup_complete", c.SetupComplete()),
		Opt("try", c.Setup.Try),
		Opt("billing_request_id", c.Setup.BillingRequestID),
		Put("billing_request_status", string(c.Setup.BillingRequest)),
		Opt("mandate_status", string(c.Setup.Mandate)),
		Opt("mandate_id", c.Setup.MandateID),
		Opt("mandate_since", c.Setup.MandateSince),
		Opt("mandate_reason_code", c.Setup.MandateReason), // the processor's, such as DISHONOUR-AC05
		Put("authorisation_status", string(c.Setup.Authorisation)),
		Put("authorised", c.Setup.Authorisation == checkout.Authorised),
		Opt("account_holder_name", c.Setup.AccountHolder),
		Opt("account_mask", string(c.Setup.AccountMask)),
		Opt("completed_at", c.Setup.CompletedAt),
		Opt("consent", toWireConsent(c.Setup.Consent)),
	}
}

// toWireConsent writes the evidence that the payer accepted the direct debit terms.
func toWireConsent(c agreement.Consent) Object {
	return Object{
		Put("accepted_at", c.At),
		Opt("network_address", c.From),
		Opt("terms", c.Terms),
		Opt("notice_days", c.Period.Days),
		Opt("notice_in_business_days", c.Period.Business),
		Opt("disclosed", Object{Opt("sha256", c.Disclosed.SHA256), Opt("page", c.Disclosed.Page)}), // before accepted_at
	}
}

func toWireAgreement(c checkout.Checkout, env catalogue.Environment, a agreement.Agreement) Object {
	return Object{
		Put("kind", "agreement"),
		Put("agreement_id", c.AgreementID(env, c.Confirmation.AgreementNumber)),
		Put("agreement_number", a.Number),
		Put("checkout_id", c.ID),
		Put("opportunity_id", c.Records(env).OpportunityID),
		Put("dda_id", c.Records(env).DDAID),
		Put("accepted_at", a.AcceptedAt),
		Put("pdf_generated", c.Confirmation.PDFGenerated()),
		Put("facts", jsontext.Value(a.Facts())),
	}
}

func toWireDocument(c checkout.Checkout, env catalogue.Environment, size int) Object {
	return Object{
		Put("kind", "document"),
		Put("document_id", c.DocumentID(env, c.Confirmation.AgreementNumber)),
		Put("checkout_id", c.ID),
		Put("agreement_number", c.Confirmation.AgreementNumber),
		Put("sha256", hex.EncodeToString(c.Confirmation.DocumentSHA256[:])),
		Put("size", size),
	}
}

func toWireNotice(r checkout.JobRecord) Object {
	status, sent := string(r.State), time.Time{} // sent is when another system took it over
	if r.State == checkout.JobDone {
		status, sent = "sent", r.SettledAt
	}
	return Object{
		Put("kind", "notice"),
		Put("notice_id", r.Job.ID),
		Put("checkout_id", r.Job.CheckoutID),
		Put("notice", r.Job.Name), // setup or agreement
		Put("created_at", r.Job.CreatedAt),
		Put("status", status), // pending, sent, failed or dropped
		Put("attempts", r.Attempts),
		Opt("sent_at", sent),
		Opt("receipt", r.Receipt),      // the other system's words
		Opt("failed_at", r.Failure.At), // of the latest attempt that failed, like the failure
		Opt("failure", r.Failure.Reason),
	}
}

func toWireMoment(c checkout.Checkout, m checkout.Moment) Object {
	return Object{
		Put("kind", "moment"),
		Put("checkout_id", c.ID),
		Put("at", m.At),
		Put("moment", string(m.Kind)),
		Opt("actor", string(m.Actor)),
		Opt("request_id", m.RequestID),
		Opt("detail", m.Detail),
		Put("times", max(m.Times, 1)),
	}
}

func toWireEvent(c checkout.Checkout, e checkout.JobRecord) Object {
	return Object{
		Put("kind", "event"),
		Put("event_id", e.ID),
		Put("event", e.Name),
		Put("checkout_id", e.CheckoutID),
		Put("provider_code", e.ProviderCode),
		Put("provider_order_id", c.OrderID),
		Put("request_id", e.RequestID),
		Put("created_at", e.CreatedAt),
		Put("status", string(e.EventStatus())),
		Put("attempts", e.Attempts),
		Put("body", string(e.Body)), // the exact bytes that are signed and sent
	}
}
