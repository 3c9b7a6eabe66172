package salesforce

import (
	"cmp"
	"context"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// codeComplete is the code of the refusal to cancel an enrolment that is complete.
const codeComplete = "ENROLMENT_COMPLETE"

// End implements ports.CRM: one call finds the opportunity and its authority, and one writes the end of the opportunity with its
// stage. An opportunity that has an end stays as it is, for the organisation may have moved on from that stage.
func (c *CRM) End(ctx context.Context, e checkout.Ending) error {
	_, err := enrol(ctx, c, e.EnrolmentKey, "end "+e.Records.OpportunityID, func() (any, error) { return nil, c.end(ctx, e) })
	return err
}

func (c *CRM) end(ctx context.Context, e checkout.Ending) error {
	answers, err := c.read(ctx,
		query{opportunity, map[string]string{fieldKey: keyOf(e.EnrolmentKey, "opportunity")}, []string{fieldEndedAt}},
		query{authority, map[string]string{fieldKey: keyOf(e.EnrolmentKey, "dda")}, []string{fieldMandate}})
	if err != nil {
		return err
	}
	there, err := c.atMostOne(opportunity, answers[0])
	debit, failed := c.atMostOne(authority, answers[1])
	complete := debit.text(fieldMandate) != ""
	switch err := cmp.Or(err, failed); {
	case err != nil:
		return err
	case there.id == "":
		return refuse(codeNotOpened, opportunity, "does not exist")
	case there.id != e.Records.OpportunityID, debit.id != e.Records.DDAID:
		return refuse(codeOtherRecords, opportunity, "or its authority has another id than is on record")
	case e.Withdrawn && !complete:
		return refuse(codeNoMandate, authority, "has no mandate: the enrolment is not complete")
	case !e.Withdrawn && complete:
		return refuse(codeComplete, authority, "has a mandate: the enrolment is complete")
	case there.text(fieldEndedAt) != "":
		return nil
	}
	stage, end := stageCancelled, "cancelled by "+string(e.End.By)
	if e.Withdrawn {
		stage, end = stageWithdrawn, "withdrawn: "+string(e.End.Ground)
	}
	read := map[string]string{fieldEndedAt: ""}
	_, err = c.writeAll(ctx, []write{{object: opportunity, id: there.id, while: read, values: map[string]any{
		fieldStage: c.mapping.names[stage], fieldEndedAt: instant(e.End.At), "end": end}}})
	return err
}
