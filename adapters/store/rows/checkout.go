package rows

import (
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// Checkout is a row of the table checkouts. Its columns are, in groups:
//
//   - the identity, which never changes: provider_code, id, provider_order_id, idempotency_key;
//   - Lookups, on which indexes depend: status, created_ms, search, billing_request_id, consent, mandate_id, mandate_status,
//     mandate_since_ms, setup_completed_ms, ended, attention_ms;
//   - State: revision, request_id, created_by, first_name, last_name, email, course_code, course_name, price_cents, upfront_cents,
//     frequency, number, instalment_cents, final_cents, first_payment, setup_tokens, setup_try, billing_request_status,
//     mandate, authorisation_status, account_holder, account_mask, confirmed_ms, confirmed_by_request_id,
//     agreed_first_payment, agreement_number, document_sha256, erased_ms.
type Checkout struct {
	ProviderCode, ID, OrderID, IdempotencyKey string
	Lookups
	State
}

// Lookups is the columns of a checkout on which indexes depend. They change a few times in its life.
type Lookups struct {
	Status           string
	CreatedMS        int64
	Search           string // by which an operator finds the student
	BillingRequestID string
	Consent          string // JSON; at_ms is its time
	MandateID        string
	MandateStatus    string
	MandateSinceMS   int64
	SetupCompletedMS int64
	Ended            string // JSON
	AttentionMS      int64  // since when it needs attention (checkout.Checkout.Attention); 0 where it needs no attention
}

// State is the columns of a checkout on which no index depends.
type State struct {
	Revision                                 int64
	RequestID, CreatedBy                     string
	FirstName, LastName, Email               string
	CourseCode, CourseName                   string
	PriceCents, UpfrontCents                 int64 // the principal is their difference
	Frequency                                string
	Number, InstalmentCents, FinalCents      int64
	FirstPayment                             string
	SetupTokens                              string // JSON
	SetupTry                                 int64
	BillingRequestStatus                     string
	Mandate                                  string // JSON
	AuthorisationStatus                      string
	AccountHolder, AccountMask               string
	ConfirmedMS                              int64
	ConfirmedByRequestID, AgreedFirstPayment string
	AgreementNumber                          string
	DocumentSHA256                           []byte
	ErasedMS                                 int64
}

// The places of the groups in the columns of a checkout.
const (
	LookupsAt = 4
	StateAt   = LookupsAt + 11
)

// Fields returns pointers to the fields in the order of the columns.
func (r *Checkout) Fields() []any {
	return []any{&r.ProviderCode, &r.ID, &r.OrderID, &r.IdempotencyKey,
		&r.Status, &r.CreatedMS, &r.Search, &r.BillingRequestID, &r.Consent, &r.MandateID, &r.MandateStatus, &r.MandateSinceMS,
		&r.SetupCompletedMS, &r.Ended, &r.AttentionMS,
		&r.Revision, &r.RequestID, &r.CreatedBy, &r.FirstName, &r.LastName, &r.Email, &r.CourseCode, &r.CourseName, &r.PriceCents,
		&r.UpfrontCents, &r.Frequency, &r.Number, &r.InstalmentCents, &r.FinalCents, &r.FirstPayment, &r.SetupTokens, &r.SetupTry,
		&r.BillingRequestStatus, &r.Mandate, &r.AuthorisationStatus, &r.AccountHolder, &r.AccountMask, &r.ConfirmedMS,
		&r.ConfirmedByRequestID, &r.AgreedFirstPayment, &r.AgreementNumber, &r.DocumentSHA256, &r.ErasedMS}
}

// OfCheckout returns the row of a checkout.
func OfCheckout(c checkout.Checkout) Checkout {
	plan, setup, done := c.Intent.Plan, c.Setup, c.Confirmation
	_, attention := c.Attention()
	return Checkout{
		ProviderCode: c.ProviderCode, ID: c.ID, OrderID: c.OrderID, IdempotencyKey: c.IdempotencyKey,
		Lookups: Lookups{
			Status: string(c.Status), CreatedMS: Millis(c.CreatedAt), Search: c.Student.Search(),
			BillingRequestID: setup.BillingRequestID, Consent: jsonText(toConsentWire(setup.Consent)),
			MandateID: setup.MandateID, MandateStatus: string(setup.Mandate), MandateSinceMS: Millis(setup.MandateSince),
			SetupCompletedMS: Millis(setup.CompletedAt), Ended: jsonText(toEndWire(c.End)), AttentionMS: Millis(attention),
		},
		State: State{
			Revision: c.Revision, RequestID: c.RequestID, CreatedBy: string(c.CreatedBy),
			FirstName: c.Student.FirstName, LastName: c.Student.LastName, Email: c.Student.Email,
			CourseCode: c.CourseCode, CourseName: c.Intent.CourseName,
			PriceCents: int64(c.Intent.Pricing.Price), UpfrontCents: int64(c.Intent.Pricing.Upfront),
			Frequency: string(plan.Frequency), Number: int64(plan.Number), InstalmentCents: int64(plan.Regular),
			FinalCents: int64(plan.Final), FirstPayment: dateText(plan.First),
			SetupTokens: listText(toTokenWires(c.Tokens)), SetupTry: int64(setup.Try),
			BillingRequestStatus: string(setup.BillingRequest), Mandate: jsonText(toMandateWire(setup.Observation)),
			AuthorisationStatus: string(setup.Authorisation), AccountHolder: setup.AccountHolder, AccountMask: string(setup.AccountMask),
			ConfirmedMS: Millis(done.At), ConfirmedByRequestID: done.RequestID, AgreedFirstPayment: dateText(done.FirstPayment),
			AgreementNumber: done.AgreementNumber, DocumentSHA256: hashBytes(done.DocumentSHA256), ErasedMS: Millis(c.ErasedAt),
		},
	}
}

// Checkout returns the checkout of the row.
func (r Checkout) Checkout() (checkout.Checkout, error) {
	var p parser
	var tokens []tokenWire
	var consent consentWire
	var mandate mandateWire
	var end endWire
	p.json(r.SetupTokens, &tokens)
	p.json(r.Consent, &consent)
	p.json(r.Mandate, &mandate)
	p.json(r.Ended, &end)
	c := checkout.Checkout{
		Revision: r.Revision, ID: r.ID, ProviderCode: r.ProviderCode, OrderID: r.OrderID, IdempotencyKey: r.IdempotencyKey,
		RequestID: r.RequestID, CreatedBy: checkout.Actor(r.CreatedBy), CreatedAt: Time(r.CreatedMS), Status: checkout.Status(r.Status),
		Student:    checkout.Student{FirstName: r.FirstName, LastName: r.LastName, Email: r.Email},
		CourseCode: r.CourseCode,
		Tokens:     toTokens(tokens),
		Intent: checkout.Intent{
			CourseName: r.CourseName,
			Pricing: money.Pricing{Price: money.Cents(r.PriceCents), Upfront: money.Cents(r.UpfrontCents),
				Principal: money.Cents(r.PriceCents - r.UpfrontCents)},
			Plan: money.Plan{Frequency: money.Frequency(r.Frequency), First: p.date(r.FirstPayment), Instalments: money.Instalments{
				Number: int(r.Number), Regular: money.Cents(r.InstalmentCents), Final: money.Cents(r.FinalCents)}},
		},
		Setup: checkout.Setup{Try: int(r.SetupTry), BillingRequestID: r.BillingRequestID, Consent: consent.toDomain(),
			Observation: checkout.Observation{
				BillingRequest: checkout.BillingRequestStatus(r.BillingRequestStatus), Mandate: checkout.MandateStatus(r.MandateStatus),
				MandateID: r.MandateID, MandateSince: Time(r.MandateSinceMS), MandateReason: mandate.Reason,
				Authorisation: checkout.AuthorisationStatus(r.AuthorisationStatus), AccountHolder: r.AccountHolder,
				AccountMask: agreement.AccountMask(r.AccountMask), CompletedAt: Time(r.SetupCompletedMS),
				FirstCharge: p.date(mandate.FirstCharge),
			}},
		Confirmation: checkout.Confirmation{At: Time(r.ConfirmedMS), RequestID: r.ConfirmedByRequestID,
			FirstPayment: p.date(r.AgreedFirstPayment), AgreementNumber: r.AgreementNumber, DocumentSHA256: p.hash(r.DocumentSHA256)},
		End:      end.toDomain(),
		ErasedAt: Time(r.ErasedMS),
	}
	return c, p.result("checkout", r.ID)
}
