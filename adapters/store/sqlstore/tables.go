package sqlstore

import (
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Identity is the columns of a checkout that never change.
var Identity = Columns[checkout.Checkout]{
	{Name: "provider_code", Field: func(c *checkout.Checkout) any { return &c.ProviderCode }},
	{Name: "id", Field: func(c *checkout.Checkout) any { return &c.ID }},
	{Name: "provider_order_id", Field: func(c *checkout.Checkout) any { return &c.OrderID }},
	{Name: "idempotency_key", Field: func(c *checkout.Checkout) any { return &c.IdempotencyKey }},
}

// State is the columns of a checkout that may change, without Lookups.
var State = Columns[checkout.Checkout]{
	{Name: "first_name", Field: func(c *checkout.Checkout) any { return &c.Student.FirstName }},
	{Name: "last_name", Field: func(c *checkout.Checkout) any { return &c.Student.LastName }},
	{Name: "email", Field: func(c *checkout.Checkout) any { return &c.Student.Email }},

	{Name: "course_code", Field: func(c *checkout.Checkout) any { return &c.CourseCode }},
	{Name: "course_name", Field: func(c *checkout.Checkout) any { return &c.Intent.CourseName }},
	{Name: "price_cents", Field: func(c *checkout.Checkout) any { return (*int64)(&c.Intent.Pricing.Price) }},
	{Name: "upfront_cents", Field: func(c *checkout.Checkout) any { return (*int64)(&c.Intent.Pricing.Upfront) }},
	{Name: "principal_cents", Field: func(c *checkout.Checkout) any { return (*int64)(&c.Intent.Pricing.Principal) }},
	{Name: "payment_frequency", Field: func(c *checkout.Checkout) any { return (*string)(&c.Intent.Plan.Frequency) }},
	{Name: "number_of_instalments", Field: func(c *checkout.Checkout) any { return &c.Intent.Plan.Number }},
	{Name: "instalment_cents", Field: func(c *checkout.Checkout) any { return (*int64)(&c.Intent.Plan.Regular) }},
	{Name: "final_instalment_cents", Field: func(c *checkout.Checkout) any { return (*int64)(&c.Intent.Plan.Final) }},
	{Name: "first_payment_date", Field: func(c *checkout.Checkout) any { return (*Date)(&c.Intent.Plan.First) }},

	{Name: "contact_id", Field: func(c *checkout.Checkout) any { return &c.Records.ContactID }},
	{Name: "opportunity_id", Field: func(c *checkout.Checkout) any { return &c.Records.OpportunityID }},
	{Name: "dda_id", Field: func(c *checkout.Checkout) any { return &c.Records.DDAID }},
	{Name: "setup_tokens", Field: func(c *checkout.Checkout) any { return (*Tokens)(&c.Tokens) }},

	{Name: "setup_try", Field: func(c *checkout.Checkout) any { return &c.Setup.Try }},
	{Name: "billing_request_status", Field: func(c *checkout.Checkout) any { return (*string)(&c.Setup.BillingRequest) }},
	{Name: "mandate_reason", Field: func(c *checkout.Checkout) any { return &c.Setup.MandateReason }},
	{Name: "authorisation_status", Field: func(c *checkout.Checkout) any { return (*string)(&c.Setup.Authorisation) }},
	{Name: "account_holder", Field: func(c *checkout.Checkout) any { return &c.Setup.AccountHolder }},
	{Name: "account_mask", Field: func(c *checkout.Checkout) any { return (*string)(&c.Setup.AccountMask) }},

	{Name: "agreed_first_date", Field: func(c *checkout.Checkout) any { return (*Date)(&c.Confirmation.FirstPayment) }},
	{Name: "agreement_id", Field: func(c *checkout.Checkout) any { return &c.Confirmation.AgreementID }},
	{Name: "agreement_number", Field: func(c *checkout.Checkout) any { return &c.Confirmation.AgreementNumber }},
	{Name: "document_id", Field: func(c *checkout.Checkout) any { return &c.Confirmation.DocumentID }},

	{Name: "ended_by", Field: func(c *checkout.Checkout) any { return (*string)(&c.End.By) }},
	{Name: "ended_ground", Field: func(c *checkout.Checkout) any { return (*string)(&c.End.Ground) }},
	{Name: "ended_reason", Field: func(c *checkout.Checkout) any { return &c.End.Reason }},

	{Name: "erased_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.ErasedAt) }},
}

// Lookups is the columns of a checkout that may change and that have an index. They change a few times in a checkout's life.
var Lookups = Columns[checkout.Checkout]{
	{Name: "status", Field: func(c *checkout.Checkout) any { return (*string)(&c.Status) }},
	{Name: "billing_request_id", Field: func(c *checkout.Checkout) any { return &c.Setup.BillingRequestID }},
	{Name: "mandate_id", Field: func(c *checkout.Checkout) any { return &c.Setup.MandateID }},
	{Name: "request_id", Field: func(c *checkout.Checkout) any { return &c.RequestID }},
	{Name: "created_ms", Field: func(c *checkout.Checkout) any { return (*Instant)(&c.CreatedAt) }},
	{Name: "mandate_status", Field: func(c *checkout.Checkout) any { return (*string)(&c.Setup.Mandate) }},
	{Name: "mandate_since_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.Setup.MandateSince) }},
	{Name: "setup_completed_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.Setup.CompletedAt) }},
	{Name: "consent", Field: func(c *checkout.Checkout) any { return (*Consent)(&c.Setup.Consent) }},
	{Name: "confirmed_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.Confirmation.At) }},
	{Name: "confirmed_by_request_id", Field: func(c *checkout.Checkout) any { return &c.Confirmation.RequestID }},
	{Name: "ended_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.End.At) }},
}

// Checkout is all columns of a checkout that are read.
var Checkout = slices.Concat(Identity, State, Lookups)

// Created is the columns of a checkout that has no confirmation and no end. The others have their defaults then.
var Created = slices.DeleteFunc(slices.Clone(Checkout), func(c Column[checkout.Checkout]) bool {
	return slices.Contains([]string{"confirmed_ms", "confirmed_by_request_id", "agreed_first_date", "agreement_id", "agreement_number",
		"document_id", "ended_ms", "ended_by", "ended_ground", "ended_reason", "erased_ms"}, c.Name)
})

// Agreement is the columns of an agreement.
var Agreement = Columns[agreement.Agreement]{
	{Name: "provider_code", Field: func(a *agreement.Agreement) any { return &a.Provider.Code }},
	{Name: "number", Field: func(a *agreement.Agreement) any { return &a.Number }},
	{Name: "id", Field: func(a *agreement.Agreement) any { return &a.ID }},
	{Name: "version", Field: func(a *agreement.Agreement) any { return &a.Version }},
	{Name: "checkout_id", Field: func(a *agreement.Agreement) any { return &a.CheckoutID }},
	{Name: "provider_order_id", Field: func(a *agreement.Agreement) any { return &a.OrderID }},
	{Name: "accepted_ms", Field: func(a *agreement.Agreement) any { return (*Time)(&a.AcceptedAt) }},

	{Name: "provider_name", Field: func(a *agreement.Agreement) any { return &a.Provider.Name }},
	{Name: "support_email", Field: func(a *agreement.Agreement) any { return &a.Provider.SupportEmail }},
	{Name: "first_name", Field: func(a *agreement.Agreement) any { return &a.Student.FirstName }},
	{Name: "last_name", Field: func(a *agreement.Agreement) any { return &a.Student.LastName }},
	{Name: "email", Field: func(a *agreement.Agreement) any { return &a.Student.Email }},

	{Name: "course_code", Field: func(a *agreement.Agreement) any { return &a.Course.Code }},
	{Name: "course_name", Field: func(a *agreement.Agreement) any { return &a.Course.Name }},
	{Name: "price_cents", Field: func(a *agreement.Agreement) any { return (*int64)(&a.Pricing.Price) }},
	{Name: "upfront_cents", Field: func(a *agreement.Agreement) any { return (*int64)(&a.Pricing.Upfront) }},
	{Name: "principal_cents", Field: func(a *agreement.Agreement) any { return (*int64)(&a.Pricing.Principal) }},
	{Name: "payment_frequency", Field: func(a *agreement.Agreement) any { return (*string)(&a.Plan.Frequency) }},
	{Name: "number_of_instalments", Field: func(a *agreement.Agreement) any { return &a.Plan.Number }},
	{Name: "instalment_cents", Field: func(a *agreement.Agreement) any { return (*int64)(&a.Plan.Regular) }},
	{Name: "final_instalment_cents", Field: func(a *agreement.Agreement) any { return (*int64)(&a.Plan.Final) }},
	{Name: "first_payment_date", Field: func(a *agreement.Agreement) any { return (*Date)(&a.Plan.First) }},
	{Name: "schedule", Field: func(a *agreement.Agreement) any { return (*Schedule)(&a.Schedule) }},

	{Name: "dda_id", Field: func(a *agreement.Agreement) any { return &a.DirectDebit.AuthorityID }},
	{Name: "account_holder", Field: func(a *agreement.Agreement) any { return &a.DirectDebit.AccountHolder }},
	{Name: "account_mask", Field: func(a *agreement.Agreement) any { return (*string)(&a.DirectDebit.AccountMask) }},
	{Name: "authorised_ms", Field: func(a *agreement.Agreement) any { return (*Time)(&a.DirectDebit.AuthorisedAt) }},
	{Name: "details", Field: func(a *agreement.Agreement) any { return (*Details)(a) }},
}

// Personal is the columns of an agreement that hold personal data.
var Personal = Agreement.named("first_name", "last_name", "email", "account_holder", "account_mask", "details")

// Job is the columns of a job that never change.
var Job = Columns[checkout.Job]{
	{Name: "provider_code", Field: func(j *checkout.Job) any { return &j.ProviderCode }},
	{Name: "checkout_id", Field: func(j *checkout.Job) any { return &j.CheckoutID }},
	{Name: "id", Field: func(j *checkout.Job) any { return &j.ID }},
	{Name: "kind", Field: func(j *checkout.Job) any { return (*string)(&j.Kind) }},
	{Name: "provider_order_id", Field: func(j *checkout.Job) any { return &j.OrderID }},
	{Name: "request_id", Field: func(j *checkout.Job) any { return &j.RequestID }},
	{Name: "name", Field: func(j *checkout.Job) any { return &j.Name }},
	{Name: "setup_try", Field: func(j *checkout.Job) any { return &j.Try }},
	{Name: "created_ms", Field: func(j *checkout.Job) any { return (*Instant)(&j.CreatedAt) }},
	{Name: "body", Field: func(j *checkout.Job) any { return (*Bytes)(&j.Body) }},
}

// Lease is the columns of a job that say when it is due, and who has leased it.
var Lease = Columns[JobRow]{
	{Name: "due_ms", Field: func(r *JobRow) any { return (*Instant)(&r.Due) }},
	{Name: "leased_until_ms", Field: func(r *JobRow) any { return (*Time)(&r.Until) }},
	{Name: "token", Field: func(r *JobRow) any { return &r.Token }},
}

// Outcome is the columns of a job that hold the outcome of its attempts.
var Outcome = Columns[JobRow]{
	{Name: "state", Field: func(r *JobRow) any { return (*string)(&r.State) }},
	{Name: "attempts", Field: func(r *JobRow) any { return &r.Attempts }},
	{Name: "cursor", Field: func(r *JobRow) any { return &r.Cursor }},
	{Name: "settled_ms", Field: func(r *JobRow) any { return (*Time)(&r.SettledAt) }},
	{Name: "reference", Field: func(r *JobRow) any { return &r.Receipt.Reference }},
	{Name: "answer", Field: func(r *JobRow) any { return &r.Receipt.Answer }},
	{Name: "failure", Field: func(r *JobRow) any { return &r.Failure.Reason }},
	{Name: "failed_ms", Field: func(r *JobRow) any { return (*Time)(&r.Failure.At) }},
}

// JobRecord is all columns of a job but its position.
var JobRecord = slices.Concat(of(Job, func(r *JobRow) *checkout.Job { return &r.Job }), Lease, Outcome)

// Moment is the columns of a moment. Beside them a store has the provider and the id of the checkout.
var Moment = Columns[checkout.Moment]{
	{Name: "position", Field: func(m *checkout.Moment) any { return &m.Position }},
	{Name: "at_ms", Field: func(m *checkout.Moment) any { return (*Instant)(&m.At) }},
	{Name: "kind", Field: func(m *checkout.Moment) any { return (*string)(&m.Kind) }},
	{Name: "actor", Field: func(m *checkout.Moment) any { return (*string)(&m.Actor) }},
	{Name: "request_id", Field: func(m *checkout.Moment) any { return &m.RequestID }},
	{Name: "detail", Field: func(m *checkout.Moment) any { return &m.Detail }},
	{Name: "once", Field: func(m *checkout.Moment) any { return &m.Once }},
	{Name: "times", Field: func(m *checkout.Moment) any { return &m.Times }},
}

// Key is the columns of an API key.
var Key = Columns[catalogue.Key]{
	{Name: "id", Field: func(k *catalogue.Key) any { return &k.ID }},
	{Name: "provider_code", Field: func(k *catalogue.Key) any { return &k.Provider }},
	{Name: "environment", Field: func(k *catalogue.Key) any { return (*string)(&k.Environment) }},
	{Name: "hash", Field: func(k *catalogue.Key) any { return (*SHA256)(&k.Hash) }},
	{Name: "created_ms", Field: func(k *catalogue.Key) any { return (*Time)(&k.CreatedAt) }},
	{Name: "revoked_ms", Field: func(k *catalogue.Key) any { return (*Time)(&k.RevokedAt) }},
	{Name: "label", Field: func(k *catalogue.Key) any { return &k.Label }},
	{Name: "expires_ms", Field: func(k *catalogue.Key) any { return (*Time)(&k.ExpiresAt) }},
	{Name: "last_used_day", Field: func(k *catalogue.Key) any { return &k.LastUsed }},
}
