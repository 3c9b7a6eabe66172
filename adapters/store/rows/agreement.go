package rows

import (
	"fmt"

	"github.com/provider-checkout/provider-checkout/agreement"
)

// Agreement is a row of the table agreements. Its columns are provider_code, checkout_id, number, facts. The facts are the
// agreement as JSON.
type Agreement struct{ ProviderCode, CheckoutID, Number, Facts string }

// Fields returns pointers to the fields in the order of the columns.
func (r *Agreement) Fields() []any { return []any{&r.ProviderCode, &r.CheckoutID, &r.Number, &r.Facts} }

// OfAgreement returns the row of the agreement of a checkout.
func OfAgreement(provider, checkoutID string, a agreement.Agreement) Agreement {
	debit := &a.DirectDebit
	a.AcceptedAt, debit.AuthorisedAt, debit.Consent.At = stored(a.AcceptedAt), stored(debit.AuthorisedAt), stored(debit.Consent.At)
	return Agreement{ProviderCode: provider, CheckoutID: checkoutID, Number: a.Number, Facts: string(a.Facts())}
}

// Agreement returns the agreement of the row.
func (r Agreement) Agreement() (a agreement.Agreement, err error) {
	if a, err = agreement.ParseFacts([]byte(r.Facts)); err != nil {
		return a, fmt.Errorf("agreement %s: %w", r.Number, err)
	}
	return a, nil
}

// Document is a row of the table documents. Its columns are provider_code, checkout_id, sha256, bytes.
type Document struct {
	ProviderCode, CheckoutID string
	SHA256, Bytes            []byte
}

// Fields returns pointers to the fields in the order of the columns.
func (r *Document) Fields() []any { return []any{&r.ProviderCode, &r.CheckoutID, &r.SHA256, &r.Bytes} }

// OfDocument returns the row of the document of a checkout's agreement.
func OfDocument(provider, checkoutID string, d agreement.Document) Document {
	return Document{ProviderCode: provider, CheckoutID: checkoutID, SHA256: hashBytes(d.SHA256), Bytes: filled(d.Bytes)}
}

// Document returns the document of the row.
func (r Document) Document() (agreement.Document, error) {
	var p parser
	d := agreement.Document{SHA256: p.hash(r.SHA256), Bytes: bare(r.Bytes)}
	return d, p.result("document of checkout", r.CheckoutID)
}
