package desk

import (
	"bytes"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

// agreementFile is the last part of the address of an agreement's PDF.
const agreementFile = "agreement.pdf"

// agreement answers with the PDF of a checkout's agreement while the personal data is shown, for which a reason was given that is
// on record. Otherwise it leads to the checkout, where the reason is asked for.
func (v *visit) agreement() error {
	c, err := v.Store.Checkout(v.r.Context(), v.id())
	switch {
	case err != nil:
		return err
	case c.Erased():
		return checkout.ErrErased
	case !v.revealed(c.ID):
		return v.lead(v.here(), nil)
	}
	number := c.Confirmation.AgreementNumber
	document, err := v.Agreements.Document(v.r.Context(), agreement.Agreement{Number: number})
	switch {
	case err != nil:
		return err
	case document == nil:
		return ports.ErrNotFound
	}
	v.site.File(v.w, number+".pdf", "application/pdf", document.Bytes)
	return nil
}

// proof answers with the proof that a checkout's agreement is in the evidence log. It has no personal data.
func (v *visit) proof() error {
	c, err := v.Store.Checkout(v.r.Context(), v.id())
	if err != nil {
		return err
	}
	number := c.Confirmation.AgreementNumber
	proof, err := v.Agreements.Proof(v.r.Context(), agreement.Agreement{Number: number})
	switch {
	case err != nil:
		return err
	case proof == nil:
		return errNotSealed
	}
	v.site.File(v.w, "agreement-"+number+".proof.json", "application/json", proof.Text())
	return nil
}

// export answers with everything that is on record about a checkout's student, and records the look.
func (v *visit) export() error {
	s, err := v.studentOf(v.r.Context(), v.operator, v.id())
	if err == nil {
		err = v.operator.Looked(v.r.Context(), string(operate.ActExport), s.Subject())
	}
	var file bytes.Buffer
	if err == nil {
		err = v.Export(&file, s)
	}
	if err == nil {
		v.site.File(v.w, v.id()+".jsonl", "application/jsonl", file.Bytes())
	}
	return err
}
