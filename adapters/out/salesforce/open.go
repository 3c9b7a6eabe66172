package salesforce

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// kinds are the names of the records in their natural keys, in the order in which they are made.
func kinds() []struct{ object, kind string } {
	return []struct{ object, kind string }{
		{contact, "contact"}, {opportunity, "opportunity"}, {role, "contact role"}, {authority, "dda"}}
}

func keyOf(k checkout.EnrolmentKey, kind string) string {
	return checkout.NaturalKey(k.Environment, k.ProviderCode, k.OrderID, kind)
}

// Open implements ports.CRM.
func (c *CRM) Open(ctx context.Context, e checkout.Enrolment) (checkout.Records, error) {
	if err := c.spare(ctx); err != nil {
		return checkout.Records{}, fmt.Errorf("open %s in Salesforce: %w", e.CheckoutID, err)
	}
	made := 0
	records, err := enrol(ctx, c, e.EnrolmentKey, "open "+e.CheckoutID, func() (checkout.Records, error) {
		ids, err := c.open(ctx, e)
		made = max(made, len(ids))
		return checkout.Records{ContactID: ids[contact], OpportunityID: ids[opportunity], DDAID: ids[authority]}, err
	})
	if refusal, ok := errors.AsType[*checkout.CRMRefusal](err); ok {
		refusal.Made = made > 0 || refusal.Code == codeSeveral
	}
	return records, err
}

// enrol does something for an enrolment, as often as it is to be tried.
func enrol[T any](ctx context.Context, c *CRM, k checkout.EnrolmentKey, what string, do func() (T, error)) (done T, err error) {
	if k.Environment != c.options.Environment {
		return done, fmt.Errorf("the environment of the enrolment is %q, that of the CRM %q", k.Environment, c.options.Environment)
	}
	result, err := repeatedly(ctx, c, do)
	if err != nil {
		return done, fmt.Errorf("%s in Salesforce: %w", what, c.outcome(err))
	}
	return result, nil
}

// open finds the records of an enrolment, makes the missing records, and returns the ids of all by their object. With an
// error it still returns the ids of the records that it found or made.
func (c *CRM) open(ctx context.Context, e checkout.Enrolment) (map[string]string, error) {
	names := map[string][]string{opportunity: intentFields()}
	there, err := c.read(ctx, byKeys(e.EnrolmentKey, names)...)
	if err != nil {
		return nil, err
	}
	ids, missing := map[string]string{}, []write{}
	for i, k := range kinds() {
		one, err := c.atMostOne(k.object, there[i])
		switch {
		case err != nil:
			return ids, err
		case one.id == "":
			missing = append(missing, c.opening(e, k.object, keyOf(e.EnrolmentKey, k.kind), ids))
			continue
		}
		ids[k.object] = one.id
		if k.object == opportunity {
			if err := sameIntent(one, e); err != nil {
				return ids, err
			}
		}
	}
	if len(missing) == 0 {
		return ids, nil
	}
	made, err := c.writeAll(ctx, missing)
	for object, id := range made {
		ids[object] = id
	}
	return ids, err
}

// byKeys are the queries for the records with which an enrolment is opened. names has the fields that are read of an object.
func byKeys(k checkout.EnrolmentKey, names map[string][]string) (queries []query) {
	for _, of := range kinds() {
		queries = append(queries, query{of.object, map[string]string{fieldKey: keyOf(k, of.kind)}, names[of.object]})
	}
	return queries
}

// atMostOne returns the record that has a key; its id is empty if no record has it. A record may have been copied with its key.
func (c *CRM) atMostOne(object string, all []record) (record, error) {
	switch len(all) {
	case 0:
		return record{}, nil
	case 1:
		return all[0], nil
	}
	return record{}, refuse(codeSeveral, c.mapping.object(object), "is refused")
}

// opening is the write of one record of an enrolment that is opened. known has the ids of the records that exist.
func (c *CRM) opening(e checkout.Enrolment, object, key string, known map[string]string) write {
	id := func(of string) any {
		if id, ok := known[of]; ok {
			return id
		}
		return idOf(of)
	}
	w := write{object: object, values: map[string]any{fieldKey: key}}
	if object != role {
		w.values["environment"] = string(e.Environment)
	}
	switch object {
	case contact:
		w.values["first_name"], w.values["last_name"], w.values["email"] = e.Student.FirstName, e.Student.LastName, e.Student.Email
	case opportunity:
		w.values["name"] = opportunityName(e)
		w.values[fieldStage] = c.mapping.names[stageOpen]
		w.values["close_date"] = e.Intent.Plan.First.String()
		w.values["amount"] = amount(e.Intent.Pricing.Price)
		w.values["checkout_id"], w.values["order_id"] = e.CheckoutID, e.OrderID
		w.values["provider_code"], w.values["course_code"] = e.ProviderCode, e.CourseCode
		addFigures(w.values, e.Intent.CourseName, e.Intent.Pricing, e.Intent.Plan)
	case role:
		w.values[contact], w.values[opportunity], w.values["primary"] = id(contact), id(opportunity), true
	case authority:
		w.values[contact], w.values[opportunity] = id(contact), id(opportunity)
		w.values["status"] = string(checkout.CustomerInProgress)
	}
	return w
}

// maxOpportunityName is the length of Salesforce's own field. What is cut off stands in full in other fields.
const maxOpportunityName = 120

// opportunityName is by which people find an enrolment.
func opportunityName(e checkout.Enrolment) string {
	name := []rune(e.Intent.CourseName + ", " + strings.TrimSpace(e.Student.FirstName+" "+e.Student.LastName))
	if len(name) > maxOpportunityName {
		name = append(name[:maxOpportunityName-1], '…')
	}
	return string(name)
}

// addFigures adds the figures of a plan to values.
func addFigures(values map[string]any, course string, p money.Pricing, plan money.Plan) {
	values["course_name"] = course
	values["course_price"], values["upfront_payment"], values["amount_to_finance"] = amount(p.Price), amount(p.Upfront), amount(p.Principal)
	values["payment_frequency"], values["number_of_instalments"] = string(plan.Frequency), plan.Number
	values["instalment_amount"], values["final_instalment_amount"] = amount(plan.Regular), amount(plan.Final)
	values[fieldFirstPayment] = plan.First.String()
}

// amount is a number of dollars with its cents.
func amount(c money.Cents) json.Number { return json.Number(c.String()) }

// codeOtherIntent is a refusal of our own.
const codeOtherIntent = "OTHER_INTENT"

// intentFields are the fields of an opportunity that hold the intent of its enrolment.
func intentFields() (names []string) {
	for _, f := range figures() {
		names = append(names, f.name)
	}
	return names
}

// sameIntent refuses an enrolment whose opportunity is on record with another intent.
func sameIntent(there record, e checkout.Enrolment) error {
	var differing []checkout.Fault
	wanted := map[string]any{}
	addFigures(wanted, e.Intent.CourseName, e.Intent.Pricing, e.Intent.Plan)
	for _, f := range figures() {
		if want := fmt.Sprint(wanted[f.name]); !sameValue(there.text(f.name), want) {
			differing = append(differing, checkout.Fault{Field: f.contract,
				Message: fmt.Sprintf("is %s in the CRM, not %s; an order cannot be changed", there.text(f.name), want)})
		}
	}
	if len(differing) > 0 {
		return &checkout.CRMRefusal{Code: codeOtherIntent, OtherIntent: true, Faults: differing}
	}
	return nil
}

// sameValue compares what was read with what would be written: numbers by what they are, and texts as Salesforce keeps them,
// without white space around them.
func sameValue(read, written string) bool {
	if number, err := strconv.Atoi(written); err == nil {
		written = money.Cents(100 * number).String() // a whole number may be read as 52.0
	}
	if want, err := money.Parse(written); err == nil {
		got, err := money.Parse(read)
		return err == nil && got == want
	}
	return strings.TrimSpace(read) == strings.TrimSpace(written)
}
