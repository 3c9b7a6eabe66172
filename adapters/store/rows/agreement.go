package rows

import (
	"fmt"

	"github.com/provider-checkout/provider-checkout/agreement"
)

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
