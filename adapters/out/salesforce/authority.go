package salesforce

import (
	"context"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// UpdateAuthority implements ports.CRM: one call finds the authority, and one writes it.
func (c *CRM) UpdateAuthority(ctx context.Context, u checkout.AuthorityUpdate) error {
	_, err := enrol(ctx, c, u.EnrolmentKey, "update the authority "+u.Records.DDAID, func() (any, error) { return nil, c.updateAuthority(ctx, u) })
	return err
}

func (c *CRM) updateAuthority(ctx context.Context, u checkout.AuthorityUpdate) error {
	answers, err := c.read(ctx, query{authority, map[string]string{fieldKey: keyOf(u.EnrolmentKey, "dda")}, []string{fieldMandate, fieldMandateChanged}})
	if err != nil {
		return err
	}
	there, err := c.atMostOne(authority, answers[0])
	switch {
	case err != nil:
		return err
	case there.id == "":
		return refuse(codeNotOpened, authority, "does not exist")
	case there.id != u.Records.DDAID:
		return refuse(codeOtherRecords, authority, "has another id than is on record")
	case there.text(fieldMandate) == "": // it is written when the enrolment completes
		return refuse(codeNoMandate, authority, "has no mandate: the enrolment is not complete")
	case isAfter(there.text(fieldMandateChanged), u.Setup.MandateSince):
		return nil // it comes late
	}
	read := map[string]string{fieldMandateChanged: there.text(fieldMandateChanged)}
	_, err = c.writeAll(ctx, []write{{object: authority, id: there.id, while: read, values: map[string]any{
		"status": string(u.Setup.Authorisation), fieldMandateStatus: string(u.Setup.Mandate),
		"mandate_reason": orEmpty(u.Setup.MandateReason), fieldMandateChanged: orEmpty(instant(u.Setup.MandateSince))}}})
	return err
}

// isAfter reports whether a time that was read is after another, if both are known.
func isAfter(answered string, at time.Time) bool {
	read, err := time.Parse(answeredInstant, answered)
	return err == nil && !at.IsZero() && read.After(at)
}

// orEmpty returns the value with which a field has a text, or is emptied for "".
func orEmpty(text string) any {
	if text == "" {
		return nil
	}
	return text
}
