package rows

import (
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// Agreement is a row of the table agreements. The facts are the agreement as JSON.
type Agreement struct{ ProviderCode, CheckoutID, Number, Facts string }

// Fields returns the columns provider_code, checkout_id, number, facts.
func (r *Agreement) Fields() []any { return []any{&r.ProviderCode, &r.CheckoutID, &r.Number, &r.Facts} }

// OfAgreement returns the row of the agreement of a checkout. Its times are as they come back.
func OfAgreement(provider, checkoutID string, a agreement.Agreement) Agreement {
	debit := &a.DirectDebit
	for _, t := range []*time.Time{&a.AcceptedAt, &debit.AuthorisedAt, &debit.Consent.At} {
		*t = t.UTC().Truncate(time.Millisecond)
	}
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

// Fields returns the columns provider_code, checkout_id, sha256, bytes.
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
