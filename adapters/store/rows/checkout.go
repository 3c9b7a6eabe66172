package rows

import "github.com/provider-checkout/provider-checkout/checkout"

// Checkout is a row of the table checkouts.
type Checkout struct {
	domainCheckout
	parser
}

type domainCheckout = checkout.Checkout

// IdentityColumns is the number of the columns at the beginning that never change.
const IdentityColumns = 4

// Fields returns the columns provider_code, id, provider_order_id, idempotency_key; status, created_ms, search, billing_request_id,
// consent, mandate_id, mandate_status, mandate_since_ms, setup_completed_ms, ended, attention_ms, revision, request_id, created_by,
// first_name, last_name, email, course_code, course_name, price_cents, upfront_cents, frequency, number, instalment_cents, final_cents,
// first_payment, setup_tokens, setup_try, billing_request_status, mandate, authorisation_status, account_holder, account_mask,
// confirmed_ms, confirmed_by_request_id, agreed_first_payment, agreement_number, document_sha256, erased_ms.
func (r *Checkout) Fields() []any {
	c := &r.domainCheckout
	student, pricing, plan, setup, done := &c.Student, &c.Intent.Pricing, &c.Intent.Plan, &c.Setup, &c.Confirmation
	_, attention := c.Attention()
	return []any{&c.ProviderCode, &c.ID, &c.OrderID, &c.IdempotencyKey,
		(*string)(&c.Status), (*millis)(&c.CreatedAt), derived{student.Search()}, &setup.BillingRequestID,
		jsonColumn(&r.parser, toConsentWire(setup.Consent), func(w consentWire) { setup.Consent = w.toDomain() }),
		&setup.MandateID, (*string)(&setup.Mandate), (*millis)(&setup.MandateSince), (*millis)(&setup.CompletedAt),
		jsonColumn(&r.parser, toEndWire(c.End), func(w endWire) { c.End = w.toDomain() }), derived{Millis(attention)},
		&c.Revision, &c.RequestID, (*string)(&c.CreatedBy), &student.FirstName, &student.LastName, &student.Email,
		&c.CourseCode, &c.Intent.CourseName, (*int64)(&pricing.Price), (*int64)(&pricing.Upfront), (*string)(&plan.Frequency),
		&plan.Number, (*int64)(&plan.Regular), (*int64)(&plan.Final), r.date(&plan.First),
		jsonColumn(&r.parser, toTokenWires(c.Tokens), func(w []tokenWire) { c.Tokens = toTokens(w) }), &setup.Try,
		(*string)(&setup.BillingRequest),
		jsonColumn(&r.parser, mandateWire{setup.MandateReason, dateText(setup.FirstCharge)}, func(w mandateWire) {
			setup.MandateReason = w.Reason
			_ = r.date(&setup.FirstCharge).Scan(w.FirstCharge)
		}),
		(*string)(&setup.Authorisation), &setup.AccountHolder, (*string)(&setup.AccountMask), (*millis)(&done.At), &done.RequestID,
		r.date(&done.FirstPayment), &done.AgreementNumber, hash{&r.parser, &done.DocumentSHA256}, (*millis)(&c.ErasedAt)}
}

// OfCheckout returns the row of a checkout.
func OfCheckout(c checkout.Checkout) Checkout { return Checkout{domainCheckout: c} }

// Checkout returns the checkout of the row.
func (r Checkout) Checkout() (checkout.Checkout, error) {
	r.Intent.Pricing.Principal = r.Intent.Pricing.Price - r.Intent.Pricing.Upfront
	return r.domainCheckout, r.result("checkout", r.ID)
}
