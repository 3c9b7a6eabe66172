package agreement

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

const factsFormat = 1

// instantForm is a time in JSON, in UTC to the millisecond.
const instantForm = "2006-01-02T15:04:05.000Z"

// object is the names and values of a JSON object in their order. Each value is a pointer, or an object or a list of pointers, so that the
// same object is written and read. An amount is a number of dollars with its cents; a date or a time that is zero is "".
type object []struct {
	name  string
	value any
}

func (o object) MarshalJSON() ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	before := '{'
	for _, f := range o {
		switch v := f.value.(type) {
		case *money.Cents:
			f.value = json.RawMessage(v.String())
		case *money.Date:
			f.value = writeZero(v.IsZero(), v.String())
		case *time.Time:
			f.value = writeZero(v.IsZero(), v.UTC().Format(instantForm))
		}
		fmt.Fprintf(&text, "%c%q:", before, f.name)
		if err := e.Encode(f.value); err != nil {
			return nil, err
		}
		before = ','
	}
	text.WriteByte('}')
	return text.Bytes(), nil
}

func writeZero(zero bool, text string) string {
	if zero {
		return ""
	}
	return text
}

func (o object) UnmarshalJSON(text []byte) error {
	var values map[string]json.RawMessage
	err := json.Unmarshal(text, &values)
	for _, f := range o {
		value, given := values[f.name]
		delete(values, f.name)
		if given && err == nil {
			err = read(value, f.value)
		}
	}
	if err == nil && len(values) > 0 {
		err = fmt.Errorf("unknown fields %q", slices.Sorted(maps.Keys(values)))
	}
	return err
}

func read(text []byte, value any) (err error) {
	switch v := value.(type) {
	case *money.Cents:
		*v, err = money.Parse(string(text))
	case *money.Date:
		var at time.Time
		at, err = readTime(text, time.DateOnly) // of a long plan, later than any date that is agreed
		if *v = (money.Date{}); !at.IsZero() {
			*v = money.DateOf(at)
		}
	case *time.Time:
		*v, err = readTime(text, instantForm)
	case json.Unmarshaler:
		err = v.UnmarshalJSON(text)
	default:
		err = json.Unmarshal(text, v)
	}
	return err
}

func readTime(text []byte, form string) (at time.Time, err error) {
	var s string
	if err = json.Unmarshal(text, &s); err == nil && s != "" {
		at, err = time.Parse(form, s)
	}
	return at, err
}

// list is the objects of a list in JSON; null for a nil list.
type list[T any] struct {
	items  *[]T
	object func(*T) object
}

func (l list[T]) MarshalJSON() ([]byte, error) {
	if *l.items == nil {
		return []byte("null"), nil
	}
	objects := make([]object, len(*l.items))
	for i := range objects {
		objects[i] = l.object(&(*l.items)[i])
	}
	return json.Marshal(objects)
}

func (l list[T]) UnmarshalJSON(text []byte) error {
	var values []json.RawMessage
	err := json.Unmarshal(text, &values)
	for _, value := range values {
		var item T
		err = cmp.Or(err, l.object(&item).UnmarshalJSON(value))
		*l.items = append(*l.items, item)
	}
	return err
}

// feeList is a list of fees in JSON; null where it is not stated.
type feeList FeeList

func (l *feeList) MarshalJSON() ([]byte, error) {
	if l.Stated && l.Fees == nil {
		return []byte("[]"), nil
	}
	return l.list().MarshalJSON()
}

func (l *feeList) UnmarshalJSON(text []byte) error {
	l.Stated = string(text) != "null"
	return l.list().UnmarshalJSON(text)
}

func (l *feeList) list() list[Fee] {
	return list[Fee]{&l.Fees, func(f *Fee) object { return object{{"name", &f.Name}, {"amount", &f.Amount}, {"when", &f.When}} }}
}

// chargeFacts is a charge with the day before which it may not be collected, and the day of its collection.
type chargeFacts struct {
	money.Charge
	notBefore, taken money.Date
}

func (c *chargeFacts) object() object {
	return object{{"sequence", &c.Sequence}, {"type", &c.Type}, {"due_date", &c.Due}, {"not_before", &c.notBefore},
		{"collection_date", &c.taken}, {"amount", &c.Amount}}
}

// object returns the facts of the agreement, as they are attached to its document and kept on record.
func (a *Agreement) object(format *int, schedule *[]chargeFacts) object {
	d, consent := &a.DirectDebit, &a.DirectDebit.Consent
	return object{
		{"format", format},
		{"agreement_number", &a.Number},
		{"agreement_version", &a.Version},
		{"sandbox", &a.Sandbox},
		{"checkout_id", &a.CheckoutID},
		{"provider_order_id", &a.OrderID},
		{"accepted_at", &a.AcceptedAt},
		{"signed_by", &a.SignedBy},
		{"request_ids", object{{"create", &a.Requests.Create}, {"confirm", &a.Requests.Confirm}}},
		{"provider", object{{"provider_code", &a.Provider.Code}, {"name", &a.Provider.Name}, {"support_email", &a.Provider.SupportEmail},
			{"primary_colour", &a.Provider.Colour}}},
		{"student", object{{"first_name", &a.Student.FirstName}, {"last_name", &a.Student.LastName}, {"email", &a.Student.Email}}},
		{"course", object{{"course_code", &a.Course.Code}, {"course_name", &a.Course.Name}}},
		{"pricing", object{{"course_price", &a.Pricing.Price}, {"upfront_payment", &a.Pricing.Upfront},
			{"amount_to_finance", &a.Pricing.Principal}}},
		{"plan", object{{"payment_frequency", &a.Plan.Frequency}, {"number_of_instalments", &a.Plan.Number},
			{"instalment_amount", &a.Plan.Regular}, {"final_instalment_amount", &a.Plan.Final},
			{"first_payment_date", &a.Plan.First}}},
		{"schedule", list[chargeFacts]{schedule, (*chargeFacts).object}},
		{"direct_debit", object{{"dda_id", &d.AuthorityID}, {"mandate_id", &d.MandateID}, {"account_holder_name", &d.AccountHolder},
			{"account_mask", &d.AccountMask}, {"authorised_at", &d.AuthorisedAt},
			{"consent", object{{"given_at", &consent.At}, {"from", &consent.From}, {"terms", &consent.Terms},
				{"notice", consent.Period.object()}, {"disclosed_sha256", &consent.Disclosed.SHA256}, {"page", &consent.Disclosed.Page}}}}},
		{"notice", append(a.Notice.Period.object(), object{{"not_before", &a.Notice.NotBefore}}...)},
		{"terms", a.Terms.object()},
		{"cancel_until", &a.CancelUntil},
	}
}

func (p *NoticePeriod) object() object {
	return object{{"days", &p.Days}, {"business_days", &p.Business}}
}

func (t *Terms) object() object {
	debits := &t.Authority
	return object{
		{"lender", object{{"name", &t.Lender.Name}, {"address", &t.Lender.Address}, {"registration", &t.Lender.Registration},
			{"email", &t.Lender.Email}}},
		{"dispute_resolution", object{{"scheme", &t.Disputes.Name}, {"contact", &t.Disputes.Contact}}},
		{"cancellation", object{{"working_days", &t.Cancellation.WorkingDays}, {"how", &t.Cancellation.How},
			{"pay_within_working_days", &t.Cancellation.PayWithin}}},
		{"hardship", &t.Hardship},
		{"notice_days", &t.NoticeDays},
		{"frequent_notice_business_days", &t.FrequentNotice},
		{"default_fees", (*feeList)(&t.DefaultFees)},
		{"who_debits", object{{"initiator", &debits.Initiator}, {"authorisation_code", &debits.AuthorisationCode},
			{"statement", &debits.Statement}, {"form", &debits.Form}, {"collection_days", &debits.Calendar},
			{"conditions", list[Block]{&debits.Conditions, (*Block).object}}}},
		{"terms", list[Block]{&t.Blocks, (*Block).object}},
	}
}

func (b *Block) object() object { return object{{"title", &b.Title}, {"text", &b.Text}} }

// facts returns the object of the agreement, with its schedule.
func (a Agreement) facts() object {
	format, schedule := factsFormat, []chargeFacts(nil)
	for i, p := range a.Payments() {
		schedule = append(schedule, chargeFacts{a.Schedule[i], p.Due, p.Taken})
	}
	return a.object(&format, &schedule)
}

// Facts returns the facts of the agreement as JSON, an object in one line. The same agreement has the same bytes.
func (a Agreement) Facts() []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(a.facts()) // no value can fail
	return text.Bytes()
}

// ParseFacts returns the agreement whose facts these are.
func ParseFacts(text []byte) (a Agreement, err error) {
	var format int
	var schedule []chargeFacts
	if err := a.object(&format, &schedule).UnmarshalJSON(text); err != nil {
		return Agreement{}, fmt.Errorf("read the facts of an agreement: %w", err)
	}
	if format != factsFormat {
		return Agreement{}, fmt.Errorf("the facts of an agreement have the form %d, not %d", format, factsFormat)
	}
	for _, c := range schedule {
		a.Schedule = append(a.Schedule, c.Charge)
	}
	return a, nil
}

// Differences returns the names of the facts that two agreements state in different ways, such as "student.last_name", in their order.
func (a Agreement) Differences(b Agreement) []string {
	return slices.Sorted(slices.Values(a.facts().differences(b.facts(), "")))
}

func (o object) differences(other object, within string) (names []string) {
	for i, f := range o {
		if one, ok := f.value.(object); ok {
			names = append(names, one.differences(other[i].value.(object), within+f.name+".")...)
			continue
		}
		is, _ := object{f}.MarshalJSON()
		was, _ := object{other[i]}.MarshalJSON()
		if !bytes.Equal(is, was) {
			names = append(names, within+f.name)
		}
	}
	return names
}
