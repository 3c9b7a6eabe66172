package salesforce

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// The stage is the progress of an enrolment. The authority remembers it, for the organisation moves the opportunity's own stage on.
// It moves from open to complete, to cancelled or to withdrawn, and from complete to withdrawn.
const (
	open      = "open"
	complete  = "complete"
	cancelled = "cancelled"
	withdrawn = "withdrawn"
)

// state is the stage of an enrolment, and the number of its agreement; "" before there is one.
type state struct{ stage, number string }

// stateOf returns the state of a checkout, or, without its end, the state before that.
func stateOf(c checkout.Checkout, ended bool) state {
	stage := map[bool]string{false: open, true: complete}
	if ended {
		stage = map[bool]string{false: cancelled, true: withdrawn}
	}
	return state{stage[c.Status == checkout.Confirmed], c.Confirmation.AgreementNumber}
}

// supposed returns the state that the organisation most likely has, by the revision that was written last.
func supposed(e checkout.Enrolment) state {
	wrote := func(at time.Time) bool { return !at.IsZero() && at.UnixMilli() <= e.Written }
	if c := e.Checkout; wrote(c.Confirmation.At) || wrote(c.End.At) {
		return stateOf(c, wrote(c.End.At))
	}
	return state{stage: open}
}

type writing struct {
	*CRM
	checkout.Enrolment
	ids checkout.Records
	to  state
}

// Sync implements ports.CRM. The first call for an enrolment creates its records, by one call; a confirm takes three calls, any other
// change one, and one more for each look at what is there where it is not what was supposed.
func (c *CRM) Sync(ctx context.Context, e checkout.Enrolment) error {
	w := writing{c, e, e.Checkout.Records(e.Environment), stateOf(e.Checkout, e.Checkout.Ended())}
	err := errors.New("the enrolment is of another environment, or its agreement is missing")
	if e.Environment == c.options.Environment && (w.to.number == "" || e.Agreement != nil) {
		err = c.mapping.refusal(w.sync(ctx))
	}
	if err != nil {
		return fmt.Errorf("write %s to Salesforce: %w", e.Checkout.ID, err)
	}
	return nil
}

func (w writing) sync(ctx context.Context) (err error) {
	at, openedBefore := supposed(w.Enrolment), false
	if w.Written == 0 {
		err = w.open(ctx)
		openedBefore = is(err, codeDuplicateValue)
		if err != nil && !openedBefore || err == nil && w.to == at {
			return err
		}
	}
	for looks := 0; ; looks++ {
		err = w.write(ctx, at, openedBefore)
		if looks == 3 || !is(err, codeHalted, codeNotFound, "ENTITY_IS_DELETED", codeDuplicateValue) {
			return err
		}
		if at, err = w.look(ctx); err != nil {
			return err
		}
	}
}

func (w writing) open(ctx context.Context) error {
	student, enrolment, debit := contactValues(w.Enrolment), enrolmentValues(w.Enrolment), debitValues(w.Enrolment, state{stage: open})
	student[key], enrolment[key], debit[key] = w.ids.ContactID, w.ids.OpportunityID, w.ids.DDAID
	enrolment["StageName"] = w.mapping.stage(open)
	debit["Contact__c"], debit["Opportunity__c"] = reference("Contact.id"), reference("Opportunity.id")
	role := values{"ContactId": debit["Contact__c"], "OpportunityId": debit["Opportunity__c"], "IsPrimary": true}
	_, err := w.composite(ctx, w.part("Contact", "", student), w.part("Opportunity", "", enrolment),
		w.part("OpportunityContactRole", "", role), w.part(authority, "", debit))
	return err
}

// write brings an enrolment from a state up to date. The details of an open enrolment are written where it was opened before, by a store
// that may have been restored since.
func (w writing) write(ctx context.Context, at state, openedBefore bool) error {
	var last []part
	enrolment := values{}
	if w.to.number != at.number {
		if w.Document != nil {
			if err := w.conclude(ctx, at); err != nil {
				return err
			}
		} else {
			last = append(last, w.agreement())
		}
	}
	if openedBefore && at.stage == open {
		last = append(last, w.part("Contact", w.ids.ContactID+updateOnly, contactValues(w.Enrolment)))
		enrolment = enrolmentValues(w.Enrolment)
	}
	if at.stage != w.to.stage {
		enrolment["StageName"], enrolment["First_Payment_Date__c"] = w.mapping.stage(w.to.stage), w.Checkout.FirstPayment().String()
		if end := w.Checkout.End; w.Checkout.Ended() {
			enrolment["Ended_At__c"] = instant(end.At)
			enrolment["End__c"] = strings.TrimSuffix(fmt.Sprintf("%s by %s: %s", w.to.stage, end.By, end.Ground), ": ")
		}
	}
	if len(enrolment) > 0 { // the last write, for payments begin with it
		last = append(last, w.part("Opportunity", w.ids.OpportunityID+updateOnly, enrolment))
	}
	_, err := w.guarded(ctx, at, w.to, last...)
	return err
}

// agreement returns the part that writes the agreement, after the parts of guarded. A confirm that lacks a declaration is refused before there
// is an agreement; their words are in the PDF.
func (w writing) agreement() part {
	a := w.Agreement
	v := figureValues(a.Course.Name, a.Pricing, a.Plan)
	found := func(api string) reference { return reference("found.records[0]." + api) }
	v[authority], v["Contact__c"] = found("Id"), found(w.mapping.field(authority, "Contact__c"))
	v["Opportunity__c"] = found(w.mapping.field(authority, "Opportunity__c"))
	v["Environment__c"], v["Agreement_Number__c"], v["Template_Version__c"] = string(w.Environment), a.Number, a.Version
	v["Accepted_At__c"], v["Facts__c"] = instant(a.AcceptedAt), string(a.Facts())
	v["Declarations__c"] = strings.Join([]string{checkout.FieldPlanAccepted, checkout.FieldInformationConfirmed, checkout.FieldPrivacyAccepted,
		checkout.FieldDepositConfirmed, "accepted at "}, ": true\n") + instant(a.AcceptedAt)
	if w.Document != nil {
		v["PDF_SHA256__c"] = hex.EncodeToString(w.Document.SHA256[:])
	}
	return w.part(agreed, w.Checkout.AgreementID(w.Environment, w.to.number), v)
}

// conclude writes the agreement, and its PDF unless it is there.
func (w writing) conclude(ctx context.Context, at state) error {
	id := w.Checkout.DocumentID(w.Environment, w.to.number)
	answers, err := w.guarded(ctx, at, at, w.agreement(), w.find("pdf", "ContentVersion", "SELECT Id FROM {} WHERE {"+key+"} = "+word(id)))
	if err != nil {
		return err
	}
	var pdfs recordsWire
	var written, stored struct{ ID string }
	if err := errors.Join(decode(answers["pdf"], &pdfs), decode(answers[agreed], &written)); err != nil || len(pdfs.Records) > 0 {
		return err
	}
	lost := &outbound.Lost{Cause: errors.New("the answer has no id of the record")}
	if !idPattern.MatchString(written.ID) {
		return lost
	}
	pdf := w.mapping.body("ContentVersion", values{key: id, "PDF_SHA256__c": hex.EncodeToString(w.Document.SHA256[:]),
		"Title": w.Agreement.Title(), "PathOnClient": w.to.number + ".pdf", "FirstPublishLocationId": written.ID,
		"VersionData": w.Document.Bytes})
	err = w.call(ctx, http.MethodPost, "/sobjects/"+w.mapping.object("ContentVersion"), pdf, &stored)
	e, ok := errors.AsType[*apiError](err)
	switch {
	case ok && e.code == codeDuplicateValue: // an earlier call whose answer was lost
		return nil
	case ok:
		e.object = "ContentVersion"
	case err == nil && !idPattern.MatchString(stored.ID):
		return lost
	}
	return err
}

// guarded writes the authority and other parts, all or nothing, if it has a state and no newer revision. The first part locks the
// authority against other writers until the last part is done; the second part finds it.
func (w writing) guarded(ctx context.Context, at, to state, parts ...part) (map[string]json.RawMessage, error) {
	lock := w.part(authority, w.ids.DDAID+updateOnly, values{"Environment__c": string(w.Environment)})
	found := w.find("found", authority, fmt.Sprintf("SELECT Id, {Contact__c}, {Opportunity__c} FROM {} WHERE {%s} = %s AND "+
		"{Enrolment_Stage__c} = %s AND {Agreement_Number__c} = %s AND ({Revision__c} = null OR {Revision__c} <= %d)",
		key, word(w.ids.DDAID), word(at.stage), word(at.number), w.Checkout.Revision))
	debit := w.part(authority, "", debitValues(w.Enrolment, to))
	debit.Method, debit.URL, debit.ID = http.MethodPatch, debit.URL+"/"+reference("found.records[0].Id").String(), "debit"
	return w.composite(ctx, append([]part{lock, found, debit}, parts...)...)
}

// look returns the state of the enrolment in the organisation. The error is a refusal if the organisation knows more than the store.
func (w writing) look(ctx context.Context) (at state, err error) {
	all, err := w.read(ctx, authority, fieldsOf(authority), "WHERE {"+key+"} = "+word(w.ids.DDAID))
	refuse := func(code, field, format string, args ...any) (state, error) {
		return at, &checkout.CRMRefusal{Code: code, Faults: []checkout.Fault{{Field: field, Message: fmt.Sprintf(format, args...)}}}
	}
	if err != nil {
		return at, err
	}
	if len(all) == 0 || all[0].text("Contact__c") == "" || all[0].text("Opportunity__c") == "" {
		return refuse(checkout.CRMMissing, w.mapping.object(authority), "or a record that belongs to it was deleted, or the user may not see it")
	}
	revision, _ := strconv.ParseFloat(all[0].text("Revision__c"), 64) // exact up to 2⁵³
	at = state{outbound.Word(all[0].text("Enrolment_Stage__c")), outbound.Word(all[0].text("Agreement_Number__c"))}
	switch {
	case int64(revision) > w.Checkout.Revision:
		return refuse(checkout.CRMAhead, "revision", "is %.0f in the CRM and %d in the store", revision, w.Checkout.Revision)
	case at.number != "" && at.number != w.to.number:
		return refuse(checkout.CRMOtherAgreement, agreed, "is %s in the CRM and %q in the store", at.number, w.to.number)
	case at.stage != w.to.stage && at.stage != open && (at.stage != complete || w.to.stage != withdrawn):
		return refuse(checkout.CRMAhead, "stage", "is %s in the CRM and %s in the store", at.stage, w.to.stage)
	}
	return at, nil
}

// values are the values of a record's fields, by the names of the mapping. "" empties a field.
type values map[string]any

// reference stands for a value in the answer to an earlier part of a composite request.
type reference string

func (r reference) String() string { return referenceMark + string(r) + "}" }

const (
	referenceMark = "@{"               // begins what is replaced by a value of an earlier part, in any text
	updateOnly    = "?updateOnly=true" // after a key: the record is not created
)

// part returns the part that creates a record, or, with a key, the part that creates or changes the record with that key.
func (c *CRM) part(object, of string, v values) part {
	p := part{Method: http.MethodPost, URL: dataPath + "/sobjects/" + c.mapping.object(object), ID: object, object: object,
		Headers: map[string]string{"Sforce-Duplicate-Rule-Header": "allowSave=true"}, Body: c.mapping.body(object, v)}
	if of != "" {
		p.Method, p.URL = http.MethodPatch, p.URL+"/"+c.mapping.field(object, key)+"/"+of
	}
	return p
}

// find returns the part that makes a query: see Mapping.query.
func (c *CRM) find(id, object, soql string) part {
	return part{Method: http.MethodGet, URL: dataPath + c.mapping.query(object, soql), ID: id, object: object}
}

// composite sends parts as one transaction, and returns their answers by their ids; three times at most while another client has locked
// a record. The error is that of the part that failed; where a part refers to nothing, for a query found nothing, it has codeHalted.
func (c *CRM) composite(ctx context.Context, parts ...part) (answers map[string]json.RawMessage, err error) {
	for n := range 3 {
		if answers, err = c.transact(ctx, parts); !is(err, codeLockedRow) || !outbound.Pause(ctx, 100*time.Millisecond<<n) {
			break
		}
	}
	return answers, err
}

func (c *CRM) transact(ctx context.Context, parts []part) (answers map[string]json.RawMessage, err error) {
	var answer compositeWire
	request := map[string]any{"allOrNone": true, "compositeRequest": parts}
	if err := c.call(ctx, http.MethodPost, "/composite", request, &answer); err != nil {
		return nil, err
	}
	answers = map[string]json.RawMessage{}
	for i, p := range answer.Parts {
		answers[p.ID] = p.Body
		if (p.Status < 200 || p.Status > 299) && i < len(parts) && (err == nil || is(err, codeHalted)) {
			err = newAPIError(p.Status, p.Body, parts[i].object)
		}
	}
	if err == nil && slices.ContainsFunc(parts, func(p part) bool { return answers[p.ID] == nil }) {
		err = &outbound.Lost{Cause: errors.New("the answer does not have a result for each part")}
	}
	return answers, err
}

// word returns a word, or "", as a query compares a field with it.
func word(text string) string { return strings.Replace("'"+outbound.Word(text)+"'", "''", "null", 1) }
