package jsonlines

import (
	"encoding/hex"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/money"
)

// formatTimestamp formats a time as the events do; the zero time is "".
func formatTimestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return events.Timestamp(t)
}

func toWireProvider(p catalogue.Provider) object {
	return object{
		put("kind", "provider"),
		put("provider_code", p.Code),
		put("name", p.Name),
		put("account_id", p.AccountID),
		put("environment", string(p.Environment)),
		put("active", p.Active),
		put("api_enabled", p.APIEnabled),
		put("mode", string(p.Mode)), // catalogue or legacy
		opt("enrolment_origins", p.EnrolmentOrigins),
		opt("success_url", p.SuccessURL),
		opt("cancel_url", p.CancelURL),
		opt("notice_days", p.NoticeDays),
		opt("branding", object{
			opt("display_name", p.Branding.DisplayName),
			opt("primary_colour", p.Branding.PrimaryColour),
			opt("logo_url", p.Branding.LogoURL),
			opt("support_email", p.Branding.SupportEmail),
		}),
		opt("webhook", object{put("url", p.Destination.URL)}),
	}
}

func toWireCourse(provider string, c catalogue.Course) object {
	plans := make([]object, len(c.Options))
	for i, o := range c.Options {
		plans[i] = object{put("payment_frequency", string(o.Frequency)), opt("number_of_instalments", o.Number), opt("instalment_amount", o.Amount)}
	}
	return object{
		put("kind", "course"),
		put("provider_code", provider),
		put("course_code", c.Code),
		put("course_name", c.Name),
		put("course_price", c.Price),
		put("upfront_payment", c.Upfront),
		put("active", c.Active),
		put("environment", string(c.Environment)),
		put("plans", plans),
	}
}

func toWireKey(k catalogue.Key) object {
	return object{
		put("kind", "key"),
		put("key_id", k.ID),
		put("provider_code", k.Provider),
		put("environment", string(k.Environment)),
		put("created_at", formatTimestamp(k.CreatedAt)),
		opt("revoked_at", formatTimestamp(k.RevokedAt)),
	}
}

// toWireCheckout describes the setup tokens without revealing them.
func toWireCheckout(c checkout.Checkout) object {
	var tokens []object
	for _, t := range c.Tokens {
		tokens = append(tokens, object{put("epoch", t.Epoch), put("expires_at", formatTimestamp(t.Expires))})
	}
	return object{
		put("kind", "checkout"),
		put("checkout_id", c.ID),
		put("provider_code", c.ProviderCode),
		put("provider_order_id", c.OrderID),
		opt("idempotency_key", sentKey(c)),
		put("request_id", c.RequestID),
		put("created_at", formatTimestamp(c.CreatedAt)),
		put("status", string(c.Status)),
		put("contact_id", c.Records.ContactID),
		put("opportunity_id", c.Records.OpportunityID),
		put("dda_id", c.Records.DDAID),
		opt("course_code", c.CourseCode),
		put("course_name", c.Intent.CourseName),
		put("pricing", toWirePricing(c.Intent.Pricing)),
		put("plan", toWirePlan(c.Intent.Plan)),
		opt("setup_tokens", tokens),
		opt("confirmed_at", formatTimestamp(c.Confirmation.At)),
		opt("confirm_request_id", c.Confirmation.RequestID),
		opt("agreement_id", c.Confirmation.AgreementID),
		opt("erased_at", formatTimestamp(c.ErasedAt)), // when the personal data was erased
	}
}

// sentKey returns the idempotency key of a checkout if its create sent one: the default follows from the order.
func sentKey(c checkout.Checkout) string {
	if c.IdempotencyKey == checkout.DefaultKey(c.ProviderCode, c.OrderID) {
		return ""
	}
	return c.IdempotencyKey
}

func toWirePricing(p money.Pricing) object {
	return object{put("course_price", p.Price), put("amount_to_finance", p.Principal), put("upfront_payment", p.Upfront)}
}

func toWirePlan(p money.Plan) object {
	final := p.Final
	if !p.Residual() {
		final = 0
	}
	return object{
		put("payment_type", checkout.PaymentType),
		put("payment_frequency", string(p.Frequency)),
		put("number_of_instalments", p.Number),
		put("instalment_amount", p.Regular),
		opt("final_instalment_amount", final),
		put("first_payment_date", p.First.String()),
	}
}

func toWireContact(c checkout.Checkout) object {
	return object{
		put("kind", "contact"),
		put("contact_id", c.Records.ContactID),
		put("checkout_id", c.ID),
		put("first_name", c.Student.FirstName),
		put("last_name", c.Student.LastName),
		put("email", c.Student.Email),
	}
}

func toWireOpportunity(c checkout.Checkout) object {
	status := ""
	if c.Status == checkout.Confirmed {
		status = "complete"
	}
	return object{
		put("kind", "opportunity"),
		put("opportunity_id", c.Records.OpportunityID),
		put("checkout_id", c.ID),
		put("contact_id", c.Records.ContactID),
		put("provider_code", c.ProviderCode),
		opt("course_code", c.CourseCode),
		put("course_name", c.Intent.CourseName),
		opt("enrolment_status", status),
	}
}

func toWireDDA(c checkout.Checkout) object {
	return object{
		put("kind", "dda"),
		put("dda_id", c.Records.DDAID),
		put("checkout_id", c.ID),
		put("opportunity_id", c.Records.OpportunityID),
		put("contact_id", c.Records.ContactID),
		put("setup_complete", c.SetupComplete()),
		opt("try", c.Setup.Try),
		opt("billing_request_id", c.Setup.BillingRequestID),
		put("billing_request_status", string(c.Setup.BillingRequest)),
		opt("mandate_status", string(c.Setup.Mandate)),
		opt("mandate_id", c.Setup.MandateID),
		opt("mandate_since", formatTimestamp(c.Setup.MandateSince)),
		opt("mandate_reason_code", c.Setup.MandateReason), // the processor's, such as DISHONOUR-AC05
		put("authorisation_status", string(c.Setup.Authorisation)),
		put("authorised", c.Setup.Authorisation == checkout.Authorised),
		opt("account_holder_name", c.Setup.AccountHolder),
		opt("account_mask", string(c.Setup.AccountMask)),
		opt("completed_at", formatTimestamp(c.Setup.CompletedAt)),
		opt("consent", toWireConsent(c.Setup.Consent)),
	}
}

// toWireConsent writes the evidence that the payer accepted the direct debit terms.
func toWireConsent(c agreement.Consent) object {
	return object{
		put("accepted_at", formatTimestamp(c.At)),
		opt("network_address", c.From),
		opt("terms", c.Terms),
		opt("notice_days", c.NoticeDays),
	}
}

func toWireBlocks(blocks []agreement.Block) (list []object) {
	for _, b := range blocks {
		list = append(list, object{put("title", b.Title), put("text", b.Text)})
	}
	return list
}

// toWireFees returns a list that is not nil, though it may be empty, if the terms state the fees.
func toWireFees(l agreement.FeeList) []object {
	if !l.Stated {
		return nil
	}
	list := make([]object, len(l.Fees))
	for i, f := range l.Fees {
		list[i] = object{put("name", f.Name), put("amount", f.Amount), put("when", f.When)}
	}
	return list
}

// toWireAuthority writes the direct debit authority in the operator's terms.
func toWireAuthority(a agreement.Authority) object {
	return object{
		opt("authorisation_code", a.AuthorisationCode),
		opt("initiator", a.Initiator),
		opt("particulars", a.Particulars),
		opt("code", a.Code),
		opt("reference", a.Reference),
		opt("conditions", toWireBlocks(a.Conditions)),
	}
}

func toWireAgreement(c checkout.Checkout, a agreement.Agreement) object {
	notBefore := "" // the first day on which a payment may be collected
	if !a.Notice.NotBefore.IsZero() {
		notBefore = a.Notice.NotBefore.String()
	}
	lender := a.Terms.Lender
	return object{
		put("kind", "agreement"),
		put("agreement_id", c.Confirmation.AgreementID),
		put("agreement_number", a.Number),
		put("agreement_version", a.Version),
		put("checkout_id", c.ID),
		put("opportunity_id", c.Records.OpportunityID),
		put("dda_id", c.Records.DDAID),
		put("accepted_at", formatTimestamp(a.AcceptedAt)),
		opt("sandbox", a.Sandbox),
		put("pdf_generated", c.Confirmation.PDFGenerated()),
		put("provider_code", a.Provider.Code),
		put("provider_name", a.Provider.Name),
		put("first_name", a.Student.FirstName),
		put("last_name", a.Student.LastName),
		put("email", a.Student.Email),
		opt("course_code", a.Course.Code),
		put("course_name", a.Course.Name),
		put("pricing", toWirePricing(a.Pricing)),
		put("plan", toWirePlan(a.Plan)),
		put("account_holder_name", a.DirectDebit.AccountHolder),
		opt("account_mask", string(a.DirectDebit.AccountMask)),
		put("authorised_at", formatTimestamp(a.DirectDebit.AuthorisedAt)),
		opt("consent", toWireConsent(a.DirectDebit.Consent)),
		opt("notice_days", a.Notice.Days),
		opt("not_before", notBefore),
		opt("lender", object{put("name", lender.Name), put("address", lender.Address), opt("registration", lender.Registration)}),
		opt("fees", toWireFees(a.Terms.Fees)),
		opt("default_fees", toWireFees(a.Terms.DefaultFees)),
		opt("authority", toWireAuthority(a.Terms.Authority)),
		opt("terms", toWireBlocks(a.Terms.Blocks)),
	}
}

func toWireDocument(c checkout.Checkout, d checkout.DocumentInfo) object {
	return object{
		put("kind", "document"),
		put("document_id", c.Confirmation.DocumentID),
		put("checkout_id", c.ID),
		put("agreement_number", c.Confirmation.AgreementNumber),
		put("sha256", hex.EncodeToString(d.SHA256[:])),
		put("size", d.Size),
	}
}

// toWireCharge writes a charge, and the day before which it may not be collected where it is due sooner.
func toWireCharge(c checkout.Checkout, m money.Charge, collected money.Date) object {
	notBefore := ""
	if m.Due.Before(collected) {
		notBefore = collected.String()
	}
	return object{
		put("kind", "charge"),
		put("checkout_id", c.ID),
		put("opportunity_id", c.Records.OpportunityID),
		put("sequence", m.Sequence),
		put("type", string(m.Type)),
		put("due_date", m.Due.String()),
		opt("not_before", notBefore),
		put("amount", m.Amount),
	}
}

func toWireNotice(r checkout.JobRecord) noticeWire {
	w := noticeWire{
		Kind:       "notice",
		NoticeID:   r.Job.ID,
		CheckoutID: r.Job.CheckoutID,
		Notice:     r.Job.Name,
		CreatedAt:  formatTimestamp(r.Job.CreatedAt),
		Status:     noticeStatus(r.State),
		Attempts:   r.Attempts,
		MessageID:  r.Receipt.Reference,
		Answer:     r.Receipt.Answer,
		FailedAt:   formatTimestamp(r.Failure.At),
		Failure:    r.Failure.Reason,
	}
	if r.State == checkout.JobDone {
		w.SentAt = formatTimestamp(r.SettledAt)
	}
	return w
}

func noticeStatus(s checkout.JobState) string {
	switch s {
	case checkout.JobDone:
		return "sent"
	case checkout.JobDead:
		return "failed"
	}
	return string(s)
}

func toWireEvent(e checkout.EventRecord) eventWire {
	return eventWire{
		Kind:         "event",
		EventID:      e.Event.ID,
		Event:        string(e.Event.Name),
		CheckoutID:   e.Event.CheckoutID,
		ProviderCode: e.Event.ProviderCode,
		OrderID:      e.Event.OrderID,
		RequestID:    e.Event.RequestID,
		CreatedAt:    formatTimestamp(e.Event.CreatedAt),
		Status:       string(e.Status),
		Attempts:     e.Attempts,
		Body:         string(e.Event.Body),
	}
}
