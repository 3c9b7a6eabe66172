package column

import (
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Identity is the columns of a checkout that never change.
var Identity = Columns[checkout.Checkout]{
	{Name: "id", Field: func(c *checkout.Checkout) any { return &c.ID }},
	{Name: "provider_code", Field: func(c *checkout.Checkout) any { return &c.ProviderCode }},
	{Name: "provider_order_id", Field: func(c *checkout.Checkout) any { return &c.OrderID }},
	{Name: "idempotency_key", Field: func(c *checkout.Checkout) any { return &c.IdempotencyKey }},
}

// State is the columns of a checkout that may change, without Lookups.
var State = Columns[checkout.Checkout]{
	{Name: "request_id", Field: func(c *checkout.Checkout) any { return &c.RequestID }},
	{Name: "created_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.CreatedAt) }},
	{Name: "status", Field: func(c *checkout.Checkout) any { return (*string)(&c.Status) }},

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
	{Name: "mandate_status", Field: func(c *checkout.Checkout) any { return (*string)(&c.Setup.Mandate) }},
	{Name: "mandate_since_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.Setup.MandateSince) }},
	{Name: "mandate_reason", Field: func(c *checkout.Checkout) any { return &c.Setup.MandateReason }},
	{Name: "authorisation_status", Field: func(c *checkout.Checkout) any { return (*string)(&c.Setup.Authorisation) }},
	{Name: "account_holder", Field: func(c *checkout.Checkout) any { return &c.Setup.AccountHolder }},
	{Name: "account_mask", Field: func(c *checkout.Checkout) any { return (*string)(&c.Setup.AccountMask) }},
	{Name: "setup_completed_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.Setup.CompletedAt) }},
	{Name: "consent", Field: func(c *checkout.Checkout) any { return (*Consent)(&c.Setup.Consent) }},

	{Name: "confirmed_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.Confirmation.At) }},
	{Name: "confirmed_by_request_id", Field: func(c *checkout.Checkout) any { return &c.Confirmation.RequestID }},
	{Name: "agreed_first_date", Field: func(c *checkout.Checkout) any { return (*Date)(&c.Confirmation.FirstPayment) }},
	{Name: "agreement_id", Field: func(c *checkout.Checkout) any { return &c.Confirmation.AgreementID }},
	{Name: "agreement_number", Field: func(c *checkout.Checkout) any { return &c.Confirmation.AgreementNumber }},
	{Name: "document_id", Field: func(c *checkout.Checkout) any { return &c.Confirmation.DocumentID }},

	{Name: "step", Field: func(c *checkout.Checkout) any { return (*Step)(&c.Step) }},
	{Name: "step_since_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.Step.Since) }},
	{Name: "erased_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.ErasedAt) }},
}

// Lookups is the columns of a checkout that may change and that have an index. They change a few times in a checkout's life.
var Lookups = Columns[checkout.Checkout]{
	{Name: "billing_request_id", Field: func(c *checkout.Checkout) any { return &c.Setup.BillingRequestID }},
	{Name: "mandate_id", Field: func(c *checkout.Checkout) any { return &c.Setup.MandateID }},
	{Name: "look_again_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.Setup.LookAgain) }},
	{Name: "step_due_ms", Field: func(c *checkout.Checkout) any { return (*Time)(&c.Step.Until) }},
}

// Checkout is all columns of a checkout.
var Checkout = slices.Concat(Identity, State, Lookups)

// Agreement is the columns of an agreement.
var Agreement = Columns[agreement.Agreement]{
	{Name: "number", Field: func(a *agreement.Agreement) any { return &a.Number }},
	{Name: "id", Field: func(a *agreement.Agreement) any { return &a.ID }},
	{Name: "version", Field: func(a *agreement.Agreement) any { return &a.Version }},
	{Name: "checkout_id", Field: func(a *agreement.Agreement) any { return &a.CheckoutID }},
	{Name: "provider_order_id", Field: func(a *agreement.Agreement) any { return &a.OrderID }},
	{Name: "accepted_ms", Field: func(a *agreement.Agreement) any { return (*Time)(&a.AcceptedAt) }},

	{Name: "provider_code", Field: func(a *agreement.Agreement) any { return &a.Provider.Code }},
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

// Event is the columns of an event that the event itself contains.
var Event = Columns[events.Event]{
	{Name: "id", Field: func(e *events.Event) any { return &e.ID }},
	{Name: "checkout_id", Field: func(e *events.Event) any { return &e.CheckoutID }},
	{Name: "name", Field: func(e *events.Event) any { return (*string)(&e.Name) }},
	{Name: "provider_code", Field: func(e *events.Event) any { return &e.ProviderCode }},
	{Name: "provider_order_id", Field: func(e *events.Event) any { return &e.OrderID }},
	{Name: "request_id", Field: func(e *events.Event) any { return &e.RequestID }},
	{Name: "created_ms", Field: func(e *events.Event) any { return (*Time)(&e.CreatedAt) }},
	{Name: "body", Field: func(e *events.Event) any { return (*Text)(&e.Body) }},
}

// Entry is the columns of an entry of the evidence log that the entry itself contains. Beside them a store has its place.
var Entry = Columns[evidence.Entry]{
	{Name: "id", Field: func(e *evidence.Entry) any { return &e.ID }},
	{Name: "recorded_ms", Field: func(e *evidence.Entry) any { return (*Time)(&e.At) }},
	{Name: "leaf", Field: func(e *evidence.Entry) any { return (*Text)(&e.Leaf) }},
	{Name: "salt", Field: func(e *evidence.Entry) any { return &e.Salt }},
	{Name: "attestation", Field: func(e *evidence.Entry) any { return &e.Attestation }},
}

// Head is the columns of the end of the evidence log.
var Head = Columns[evidence.Head]{
	{Name: "size", Field: func(h *evidence.Head) any { return &h.Size }},
	{Name: "edge", Field: func(h *evidence.Head) any { return (*Hashes)(&h.Edge) }},
	{Name: "checkpoint", Field: func(h *evidence.Head) any { return (*Text)(&h.Checkpoint) }},
}

// EventRecord is the columns of an event with what became of it.
var EventRecord = append(of(Event, func(r *ports.EventRecord) *events.Event { return &r.Event }), Columns[ports.EventRecord]{
	{Name: "status", Field: func(r *ports.EventRecord) any { return (*string)(&r.Status) }},
	{Name: "attempts", Field: func(r *ports.EventRecord) any { return &r.Attempts }},
	{Name: "failure", Field: func(r *ports.EventRecord) any { return &r.Failure.Reason }},
	{Name: "failed_ms", Field: func(r *ports.EventRecord) any { return (*Time)(&r.Failure.At) }},
}...)

// PendingEvent is the columns of an event that is to be delivered.
var PendingEvent = append(of(Event, func(e *ports.PendingEvent) *events.Event { return &e.Event }), Columns[ports.PendingEvent]{
	{Name: "attempts", Field: func(e *ports.PendingEvent) any { return &e.Attempts }},
	{Name: "epoch", Field: func(e *ports.PendingEvent) any { return &e.Epoch }},
	{Name: "leased_until_ms", Field: func(e *ports.PendingEvent) any { return (*Time)(&e.Until) }},
}...)

// Redelivery is the columns of a redelivery. Beside them a store has the event's id.
var Redelivery = Columns[ports.Redelivery]{
	{Name: "sent_ms", Field: func(r *ports.Redelivery) any { return (*Time)(&r.At) }},
	{Name: "delivered", Field: func(r *ports.Redelivery) any { return &r.Delivered }},
	{Name: "attempts", Field: func(r *ports.Redelivery) any { return &r.Attempts }},
	{Name: "failure", Field: func(r *ports.Redelivery) any { return &r.Failure }},
}

// Notice is the columns of a notice as it was made. Beside them a store has what [NoticeRecord] has, and when it is due.
var Notice = Columns[checkout.Notice]{
	{Name: "id", Field: func(n *checkout.Notice) any { return &n.ID }},
	{Name: "kind", Field: func(n *checkout.Notice) any { return (*string)(&n.Kind) }},
	{Name: "checkout_id", Field: func(n *checkout.Notice) any { return &n.CheckoutID }},
	{Name: "setup_try", Field: func(n *checkout.Notice) any { return &n.Try }},
	{Name: "created_ms", Field: func(n *checkout.Notice) any { return (*Time)(&n.CreatedAt) }},
}

// DueNotice is the columns of a notice that is to be sent.
var DueNotice = append(of(Notice, func(d *ports.DueNotice) *checkout.Notice { return &d.Notice }),
	Column[ports.DueNotice]{Name: "attempts", Field: func(d *ports.DueNotice) any { return &d.Attempts }},
	Column[ports.DueNotice]{Name: "epoch", Field: func(d *ports.DueNotice) any { return &d.Epoch }})

// NoticeRecord is the columns of a notice with what became of it.
var NoticeRecord = append(of(Notice, func(r *ports.NoticeRecord) *checkout.Notice { return &r.Notice }), Columns[ports.NoticeRecord]{
	{Name: "status", Field: func(r *ports.NoticeRecord) any { return (*string)(&r.Status) }},
	{Name: "attempts", Field: func(r *ports.NoticeRecord) any { return &r.Attempts }},
	{Name: "sent_ms", Field: func(r *ports.NoticeRecord) any { return (*Time)(&r.SentAt) }},
	{Name: "reference", Field: func(r *ports.NoticeRecord) any { return &r.Receipt.Reference }},
	{Name: "answer", Field: func(r *ports.NoticeRecord) any { return &r.Receipt.Answer }},
	{Name: "failure", Field: func(r *ports.NoticeRecord) any { return &r.Failure.Reason }},
	{Name: "failed_ms", Field: func(r *ports.NoticeRecord) any { return (*Time)(&r.Failure.At) }},
}...)

// NoticeOutcomeValues returns the values of the columns status, attempts, due_ms, sent_ms, reference, answer, failure and failed_ms.
func NoticeOutcomeValues(o ports.NoticeOutcome) []any {
	return []any{string(o.Status), o.Attempts, Millis(o.Due), Millis(o.SentAt), o.Receipt.Reference, o.Receipt.Answer, o.Failure.Reason, Millis(o.Failure.At)}
}

// Notification is the columns of a notification. Beside them a store has when it was settled.
var Notification = Columns[ports.Notification]{
	{Name: "id", Field: func(n *ports.Notification) any { return &n.ID }},
	{Name: "received_ms", Field: func(n *ports.Notification) any { return (*Time)(&n.Received) }},
	{Name: "resource", Field: func(n *ports.Notification) any { return &n.Resource }},
	{Name: "action", Field: func(n *ports.Notification) any { return &n.Action }},
	{Name: "billing_request_id", Field: func(n *ports.Notification) any { return &n.BillingRequestID }},
	{Name: "mandate_id", Field: func(n *ports.Notification) any { return &n.MandateID }},
}

// Task is the columns of a task that its holder knows. Beside them a store has its name and its lease.
var Task = Columns[ports.Task]{
	{Name: "epoch", Field: func(t *ports.Task) any { return &t.Epoch }},
	{Name: "cursor", Field: func(t *ports.Task) any { return &t.Cursor }},
}

// Key is the columns of an API key.
var Key = Columns[catalogue.Key]{
	{Name: "id", Field: func(k *catalogue.Key) any { return &k.ID }},
	{Name: "provider_code", Field: func(k *catalogue.Key) any { return &k.Provider }},
	{Name: "environment", Field: func(k *catalogue.Key) any { return (*string)(&k.Environment) }},
	{Name: "hash", Field: func(k *catalogue.Key) any { return (*SHA256)(&k.Hash) }},
	{Name: "created_ms", Field: func(k *catalogue.Key) any { return (*Time)(&k.CreatedAt) }},
	{Name: "revoked_ms", Field: func(k *catalogue.Key) any { return (*Time)(&k.RevokedAt) }},
}
