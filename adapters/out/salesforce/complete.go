package salesforce

import (
	"context"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Codes of refusals of our own.
const (
	codeNotOpened      = "ENROLMENT_NOT_OPENED"
	codeOtherRecords   = "OTHER_RECORDS"
	codeOtherAgreement = "OTHER_AGREEMENT"
	codeNoMandate      = "NO_MANDATE"
)

// Complete implements ports.CRM. An attempt begins with a look at what there is, so that one whose predecessor's answer
// was lost does not complete the enrolment a second time.
func (c *CRM) Complete(ctx context.Context, done checkout.Completion) (checkout.Completed, error) {
	return enrol(ctx, c, done.EnrolmentKey, "complete "+done.Agreement.CheckoutID, func() (checkout.Completed, error) {
		if done.Setup.MandateID == "" {
			return checkout.Completed{}, refuse(codeNoMandate, "setup", "has no mandate")
		}
		return c.complete(ctx, done)
	})
}

// complete does what is still to be done for an enrolment. The last request writes all or nothing, and nothing once the enrolment is
// complete: it may come late, when another has completed the enrolment and that has ended, and charges would begin again.
func (c *CRM) complete(ctx context.Context, done checkout.Completion) (checkout.Completed, error) {
	stored, isComplete, err := c.lookup(ctx, done)
	if err != nil {
		return checkout.Completed{}, err
	}
	completed := checkout.Completed{AgreementID: stored.id, DocumentID: stored.text(fieldPDF)}
	if isComplete {
		if stored.id == "" {
			return completed, refuse(codeOtherAgreement, "agreement", "is missing, though the enrolment is complete")
		}
		return completed, nil
	}
	if completed.AgreementID == "" {
		made, err := c.writeAll(ctx, []write{c.agreementWrite(done)})
		if err != nil {
			return completed, err
		}
		completed.AgreementID = made[agreed]
	}
	var last []write
	if completed.DocumentID == "" {
		pdf, err := c.document(ctx, completed.AgreementID, stored.id == "", done)
		if err != nil {
			return completed, err
		}
		if completed.DocumentID = pdf.text(fieldContent); completed.DocumentID != "" {
			last = append(last, write{object: agreed, id: completed.AgreementID,
				values: map[string]any{fieldPDF: completed.DocumentID, fieldDigest: pdf.text(fieldDigest)}})
		}
	}
	last = append(last,
		write{object: authority, id: done.Records.DDAID, values: authorityValues(done)}, // from here on no other request changes it
		write{object: authority, id: done.Records.DDAID, while: map[string]string{fieldMandate: ""},
			values: map[string]any{fieldMandate: done.Setup.MandateID, fieldMandateStatus: string(done.Setup.Mandate)}},
		write{object: opportunity, id: done.Records.OpportunityID, values: map[string]any{fieldStage: c.mapping.names[stageComplete]}})
	_, err = c.writeAll(ctx, last)
	return completed, err
}

// lookup finds the records of an enrolment in one call: the records that it was opened with, which must be the records that
// the completion names, and the agreement. It reports whether the enrolment is complete: the mandate is written together with the
// stage. The stage itself does not tell, for the organisation may have moved on from it.
func (c *CRM) lookup(ctx context.Context, done checkout.Completion) (stored record, isComplete bool, err error) {
	want := map[string]string{contact: done.Records.ContactID, opportunity: done.Records.OpportunityID, authority: done.Records.DDAID}
	agreements := query{agreed, agreementOf(done.EnrolmentKey), []string{fieldNumber, opportunity, fieldPDF}}
	agreements.where[fieldNumber] = done.Agreement.Number
	queries := append(byKeys(done.EnrolmentKey, map[string][]string{authority: {fieldMandate}}), agreements)
	answers, err := c.read(ctx, queries...)
	if err != nil {
		return record{}, false, err
	}
	for i, k := range kinds() {
		if k.object == role {
			continue
		}
		there, err := c.atMostOne(k.object, answers[i])
		switch {
		case err != nil:
			return record{}, false, err
		case there.id == "":
			return record{}, false, refuse(codeNotOpened, k.object, "does not exist")
		case there.id != want[k.object]:
			return record{}, false, refuse(codeOtherRecords, k.object, "has another id than is on record")
		}
		isComplete = isComplete || there.text(fieldMandate) != ""
	}
	stored, err = oneAgreement(answers[len(answers)-1], done)
	return stored, isComplete, err
}

// oneAgreement returns the agreement of an enrolment; its id is empty if the CRM has no agreement. A number that another enrolment
// has, and an enrolment that has another number, are refused. Of two numbers at once the unique key lets one be stored.
func oneAgreement(all []record, done checkout.Completion) (record, error) {
	if len(all) == 0 {
		return record{}, nil
	}
	one := all[0]
	if len(all) > 1 || one.text(fieldNumber) != done.Agreement.Number || one.text(opportunity) != done.Records.OpportunityID {
		return record{}, refuse(codeOtherAgreement, "agreement "+outbound.Word(done.Agreement.Number), "is not the one on record there")
	}
	return one, nil
}

func (c *CRM) agreementWrite(done checkout.Completion) write {
	a := done.Agreement
	values := map[string]any{
		fieldNumber: a.Number, fieldKey: keyOf(done.EnrolmentKey, agreed), "environment": string(done.Environment),
		contact: done.Records.ContactID, opportunity: done.Records.OpportunityID, authority: done.Records.DDAID,
		"version": a.Version, fieldAcceptedAt: instant(a.AcceptedAt), "declarations": declarations(a),
		"notice_days": a.Notice.Days,
	}
	if payments := a.Payments(); len(payments) > 0 {
		values["collect_from"] = payments[0].Taken.String()
	}
	addFigures(values, a.Course.Name, a.Pricing, a.Plan)
	return write{object: agreed, values: values}
}

// declarations says what was declared and when, by the contract's names; the words are in the PDF. That all are true is
// no guess: a confirm that lacks one is refused before there is an agreement. Under which request they came is kept with
// the checkout, and not in a Completion.
func declarations(a agreement.Agreement) string {
	var lines []string
	for _, field := range []string{checkout.FieldPlanAccepted, checkout.FieldInformationConfirmed, checkout.FieldPrivacyAccepted,
		checkout.FieldDepositConfirmed} {
		lines = append(lines, field+": true")
	}
	return strings.Join(append(lines, "accepted at "+instant(a.AcceptedAt)), "\n")
}

// document finds the PDF of an agreement, or stores it; without one to store it only looks. Of an agreement that was just
// made there is no PDF to be found, unless another client is quicker: then the key is taken, and the next attempt finds it.
func (c *CRM) document(ctx context.Context, agreementID string, justMade bool, done checkout.Completion) (record, error) {
	if !justMade {
		pdf, err := c.findDocument(ctx, agreementID, done)
		if err != nil || pdf.id != "" {
			return pdf, err
		}
	}
	if done.Document == nil {
		return record{}, nil
	}
	if err := c.upload(ctx, agreementID, done); err != nil {
		return record{}, err
	}
	pdf, err := c.findDocument(ctx, agreementID, done)
	if err == nil && pdf.id == "" {
		err = &outbound.Lost{Cause: errors.New("the document that was stored is not found")}
	}
	return pdf, err
}

// findDocument finds the PDF of an agreement, whichever rendering it is: a later rendering does not replace it. The id
// is empty if the CRM has no PDF. A document whose key or content another record has is refused.
func (c *CRM) findDocument(ctx context.Context, agreementID string, done checkout.Completion) (record, error) {
	where := map[string]string{fieldLocation: agreementID, fieldKey: keyOf(done.EnrolmentKey, document)}
	if done.Document != nil {
		where[fieldDigest] = digest(done.Document)
	}
	answers, err := c.read(ctx, query{document, where, []string{fieldLocation, fieldDigest, fieldContent}})
	if err != nil || len(answers[0]) == 0 {
		return record{}, err
	}
	all := answers[0]
	at := slices.IndexFunc(all, func(r record) bool { return r.text(fieldLocation) == agreementID })
	switch {
	case at < 0:
		return record{}, refuse(codeOtherAgreement, "document", "belongs to another record")
	case !idPattern.MatchString(all[at].text(fieldContent)):
		return record{}, &outbound.Lost{Cause: errNoID}
	}
	return all[at], nil
}

func digest(d *agreement.Document) string { return hex.EncodeToString(d.SHA256[:]) }

// upload stores the PDF. Its key is unique, so that a repeat, or another rendering at the same time, does not store a second.
func (c *CRM) upload(ctx context.Context, agreementID string, done checkout.Completion) error {
	name := done.Agreement.Number + ".pdf"
	_, err := c.writeEach(ctx, []write{{object: document, values: map[string]any{"title": done.Agreement.Title(), "path": name, fieldLocation: agreementID,
		fieldKey: keyOf(done.EnrolmentKey, document), fieldDigest: digest(done.Document), "content": done.Document.Bytes}}})
	return err
}

// authorityValues returns the outcome of the direct debit as values of the authority's fields, but for the mandate.
func authorityValues(done checkout.Completion) map[string]any {
	s, consent := done.Setup, done.Setup.Consent
	values := map[string]any{
		"status": string(s.Authorisation), "billing_request_id": s.BillingRequestID,
		"account_holder": s.AccountHolder, "account": string(s.AccountMask), "authorised_at": instant(s.CompletedAt),
		"consent_at": instant(consent.At), "consent_version": consent.Terms,
	}
	// The payer saw these words only if their fingerprint says so.
	terms := agreement.DebitTerms{Version: consent.Version(), NoticeDays: consent.NoticeDays,
		Provider: done.Agreement.Provider.Name, Lender: done.Agreement.Terms.Lender,
		Authority: done.Agreement.Terms.Authority}
	if consent.Terms != "" && terms.Name() == consent.Terms {
		var text []string
		for _, r := range terms.Rows() {
			text = append(text, r.Label+": "+r.Value)
		}
		values["consent_text"] = strings.Join(text, "\n")
	}
	return values
}

// instant formats a time; the zero time is "".
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
