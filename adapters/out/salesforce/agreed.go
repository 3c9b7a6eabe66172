package salesforce

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Agreed implements ports.CRM by one call. Complete finds an agreement in the same ways, so that it is not refused for one
// of the enrolment that Agreed does not see.
func (c *CRM) Agreed(ctx context.Context, k checkout.EnrolmentKey) (checkout.Agreed, error) {
	return enrol(ctx, c, k, "look for the agreement", func() (checkout.Agreed, error) { return c.agreed(ctx, k) })
}

func (c *CRM) agreed(ctx context.Context, k checkout.EnrolmentKey) (checkout.Agreed, error) {
	answers, err := c.read(ctx,
		query{agreed, agreementOf(k), []string{fieldNumber, fieldAcceptedAt, fieldFirstPayment, fieldPDF}},
		query{authority, map[string]string{fieldKey: keyOf(k, "dda")}, []string{fieldMandate}},
		query{document, map[string]string{fieldKey: keyOf(k, document)}, nil})
	if err != nil {
		return checkout.Agreed{}, err
	}
	all := answers[0]
	switch len(all) {
	case 0:
		return checkout.Agreed{}, ports.ErrNotFound
	case 1:
	default:
		return checkout.Agreed{}, refuse(codeOtherAgreement, "agreement", "is on record more than once")
	}
	on := checkout.Agreed{Number: all[0].text(fieldNumber),
		Complete: slices.ContainsFunc(answers[1], func(r record) bool { return r.text(fieldMandate) != "" })}
	on.Document = all[0].text(fieldPDF) != "" || !on.Complete && len(answers[2]) > 0
	if on.AcceptedAt, err = time.Parse(answeredInstant, all[0].text(fieldAcceptedAt)); err == nil {
		on.AcceptedAt = on.AcceptedAt.UTC()
		on.FirstPayment, err = money.ParseDate(all[0].text(fieldFirstPayment))
	}
	if err != nil || outbound.Word(on.Number) == "" || agreement.Mistyped(on.Number) {
		return checkout.Agreed{}, errors.New("the agreement on record lacks its number, its time or the date of the first payment")
	}
	return on, nil
}

// agreementOf is the condition of a query for the agreement of an enrolment: it has the enrolment's key, or belongs to the
// opportunity that has one.
func agreementOf(k checkout.EnrolmentKey) map[string]string {
	return map[string]string{fieldKey: keyOf(k, agreed), opportunity + "." + fieldKey: keyOf(k, opportunity)}
}

// answeredInstant is the form of the times in answers.
const answeredInstant = "2006-01-02T15:04:05.000Z0700"

// path returns the name of a field in a query about an object: one of the object itself, or, after the field that refers
// to another object and is called like it, one of that.
func (m Mapping) path(object, name string) string {
	if parent, of, ok := strings.Cut(name, "."); ok {
		return relationship(m.field(object, parent)) + "." + m.field(parent, of)
	}
	return m.field(object, name)
}

// relationship returns the name by which a query reaches the record that a lookup field names: Opportunity__r for
// Opportunity__c, and Account for AccountId.
func relationship(field string) string {
	if custom, ok := strings.CutSuffix(field, "__c"); ok {
		return custom + "__r"
	}
	return strings.TrimSuffix(field, "Id")
}
