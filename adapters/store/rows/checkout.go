package rows

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Checkout is a row of the table checkouts.
type Checkout struct {
	domainCheckout
	mandate struct {
		Reason      string
		FirstCharge money.Date
	}
	parser
}

type domainCheckout = checkout.Checkout

// The columns of the table checkouts, in the order of the fields of a row. Those of the identity never change.
const (
	IdentityColumns = `provider_code, id, provider_order_id, idempotency_key`
	StateColumns    = `status, created_ms, search, billing_request_id, consent, mandate_id, mandate_status, mandate_since_ms,
		setup_completed_ms, ended, attention_ms, revision, request_id, created_by, first_name, last_name, email, course_code, course_name,
		price_cents, upfront_cents, frequency, number, instalment_cents, final_cents, first_payment, setup_tokens, setup_try,
		billing_request_status, mandate, authorisation_status, account_holder, account_mask, confirmed_ms,
		confirmed_by_request_id, agreed_first_payment, agreement_number, document_sha256, erased_ms`
	CheckoutColumns = IdentityColumns + `, ` + StateColumns
)

// UpdateFields returns the fields of StateColumns.
func (r *Checkout) UpdateFields() []any { return r.Fields()[4:] }

// Fields returns the fields of CheckoutColumns.
func (r *Checkout) Fields() []any {
	c := &r.domainCheckout
	student, pricing, plan, setup, done := &c.Student, &c.Intent.Pricing, &c.Intent.Plan, &c.Setup, &c.Confirmation
	_, attention := c.Attention()
	return []any{&c.ProviderCode, &c.ID, &c.OrderID, &c.IdempotencyKey,
		(*string)(&c.Status), (*millis)(&c.CreatedAt), derived{student.Search()}, &setup.BillingRequestID,
		jsonColumn(&r.parser, &setup.Consent),
		&setup.MandateID, (*string)(&setup.Mandate), (*millis)(&setup.MandateSince), (*millis)(&setup.CompletedAt),
		jsonColumn(&r.parser, &c.End), derived{Millis(attention)},
		&c.Revision, &c.RequestID, (*string)(&c.CreatedBy), &student.FirstName, &student.LastName, &student.Email,
		&c.CourseCode, &c.Intent.CourseName, (*int64)(&pricing.Price), (*int64)(&pricing.Upfront), (*string)(&plan.Frequency),
		&plan.Number, (*int64)(&plan.Regular), (*int64)(&plan.Final), date{&r.parser, &plan.First},
		jsonColumn(&r.parser, &c.Tokens), &setup.Try,
		(*string)(&setup.BillingRequest),
		jsonColumn(&r.parser, &r.mandate),
		(*string)(&setup.Authorisation), &setup.AccountHolder, (*string)(&setup.AccountMask), (*millis)(&done.At), &done.RequestID,
		date{&r.parser, &done.FirstPayment}, &done.AgreementNumber, hash{&r.parser, &done.DocumentSHA256}, (*millis)(&c.ErasedAt)}
}

// OfCheckout returns the row of a checkout. The times in its JSON are as they come back.
func OfCheckout(c checkout.Checkout) Checkout {
	c.Tokens = slices.Clone(c.Tokens)
	for i := range c.Tokens {
		truncate(&c.Tokens[i].Expires, &c.Tokens[i].Renewed)
	}
	truncate(&c.Setup.Consent.At, &c.End.At)
	r := Checkout{domainCheckout: c}
	r.mandate.Reason, r.mandate.FirstCharge = c.Setup.MandateReason, c.Setup.FirstCharge
	return r
}

// Checkout returns the checkout of the row.
func (r Checkout) Checkout() (checkout.Checkout, error) {
	r.Intent.Pricing.Principal = r.Intent.Pricing.Price - r.Intent.Pricing.Upfront
	r.Setup.MandateReason, r.Setup.FirstCharge = r.mandate.Reason, r.mandate.FirstCharge
	return r.domainCheckout, r.result("checkout", r.ID)
}

// Update decides on a checkout until store stores the change, or there is nothing to store. store returns an error wrapping ErrNotFound
// if there is no checkout with the revision of known.
func Update(known checkout.Checkout, decide ports.Decide, store func(known checkout.Checkout, change checkout.Change) ([]checkout.Lease, error),
	read func(id string) (checkout.Checkout, error)) (checkout.Change, []checkout.Lease, error) {
	for {
		given := known
		given.Tokens = slices.Clone(known.Tokens) // which decide may change
		change, err := decide(given)
		if err != nil {
			return change, nil, err
		}
		if change.Changes() {
			change = change.Numbered(known)
			if leases, err := store(known, change); !errors.Is(err, ports.ErrNotFound) {
				return change, leases, err
			}
		}
		current, err := read(known.ID)
		if err != nil || !change.Changes() && current.Revision == known.Revision {
			return change, nil, err
		}
		known = current
	}
}

// Hit is a checkout that an operator asked for.
type Hit struct {
	Checkout
	hit checkout.Hit
}

// Fields returns the fields of CheckoutColumns, since when it is a hit, and the reason.
func (r *Hit) Fields() []any {
	return append(r.Checkout.Fields(), (*millis)(&r.hit.Since), &r.hit.Reason)
}

// Hit returns the hit of the row.
func (r Hit) Hit() (hit checkout.Hit, err error) {
	r.hit.Checkout, err = r.Checkout.Checkout()
	return r.hit, err
}

// TroubleCount is the number of checkouts of a provider with a trouble.
type TroubleCount struct{ checkout.TroubleCount }

// Fields returns the fields of the provider, the number, and since when the first has it.
func (r *TroubleCount) Fields() []any { return []any{&r.ProviderCode, &r.Count, (*millis)(&r.Oldest)} }

// Of returns the count of a trouble.
func (r TroubleCount) Of(t checkout.Trouble) checkout.TroubleCount {
	r.Trouble = t
	return r.TroubleCount
}

// Kept is a checkout that retention looks at.
type Kept struct {
	id, status          string
	createdMS, erasedMS int64
	hasOldJobs          bool
}

// Fields returns the fields of id, status, created_ms and erased_ms, and whether it has old jobs.
func (r *Kept) Fields() []any {
	return []any{&r.id, &r.status, &r.createdMS, &r.erasedMS, &r.hasOldJobs}
}

// Old returns the ids of a page of at most limit checkouts, and one more if there are more: of old checkouts and of checkouts with old
// jobs. next is the cursor of the next page.
func Old(page []Kept, limit int, confirmed, open time.Time) (ids, withOldJobs []string, next string) {
	if len(page) > limit {
		page = page[:limit]
		next = page[limit-1].id
	}
	for _, r := range page {
		before := open
		if r.status == string(checkout.Confirmed) {
			before = confirmed
		}
		if r.erasedMS == 0 && r.createdMS < Millis(before) {
			ids = append(ids, r.id)
		}
		if r.hasOldJobs {
			withOldJobs = append(withOldJobs, r.id)
		}
	}
	return ids, withOldJobs, next
}

// The columns of the tables agreements and documents.
const (
	AgreementColumns = `provider_code, checkout_id, number, facts`
	DocumentColumns  = `provider_code, checkout_id, sha256, bytes`
)

// Agreement is a row of the table agreements. The facts are the agreement as JSON.
type Agreement struct{ ProviderCode, CheckoutID, Number, Facts string }

// Fields returns the fields of AgreementColumns.
func (r *Agreement) Fields() []any { return []any{&r.ProviderCode, &r.CheckoutID, &r.Number, &r.Facts} }

// OfAgreement returns the row of the agreement of a checkout. Its times are as they come back.
func OfAgreement(provider, checkoutID string, a agreement.Agreement) Agreement {
	truncate(&a.AcceptedAt, &a.DirectDebit.AuthorisedAt, &a.DirectDebit.Consent.At)
	return Agreement{ProviderCode: provider, CheckoutID: checkoutID, Number: a.Number, Facts: string(a.Facts())}
}

// Agreement returns the agreement of the row.
func (r Agreement) Agreement() (a agreement.Agreement, err error) {
	if a, err = agreement.ParseFacts([]byte(r.Facts)); err != nil {
		return a, fmt.Errorf("agreement %s: %w", r.Number, err)
	}
	return a, nil
}

// Document is a row of the table documents.
type Document struct {
	ProviderCode, CheckoutID string
	document                 agreement.Document
	parser
}

// Fields returns the fields of DocumentColumns.
func (r *Document) Fields() []any {
	return []any{&r.ProviderCode, &r.CheckoutID, hash{&r.parser, &r.document.SHA256}, (*blob)(&r.document.Bytes)}
}

// OfDocument returns the row of the document of a checkout's agreement.
func OfDocument(provider, checkoutID string, d agreement.Document) Document {
	return Document{ProviderCode: provider, CheckoutID: checkoutID, document: d}
}

// Document returns the document of the row.
func (r Document) Document() (agreement.Document, error) {
	return r.document, r.result("document of checkout", r.CheckoutID)
}
