package salesforce

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// kind is the kind of values that a field holds: the types of fields, in the words of a describe, that can hold them.
type kind string

const (
	text     kind = "string textarea email url phone"
	label    kind = "textarea string email url phone" // a longer text is shortened
	choice   kind = "picklist string"
	decimal  kind = "currency double"
	whole    kind = "double int"
	date     kind = "date"
	dateTime kind = "datetime"
	truth    kind = "boolean"
	relation kind = "reference string" // an id may also be kept as a text
	file     kind = "base64"
)

type field struct {
	name     string
	kind     kind
	length   int    // of a text: the most characters that it holds
	contract string // the contract's name of its value, or its place in a provider file
}

type object struct {
	name     string
	readOnly bool
	fields   []field
}

// Names that the code has more than once.
const (
	key       = "Provider_Checkout_Key__c"
	authority = "Direct_Debit_Authority__c"
	agreed    = "Payment_Plan_Agreement__c"
)

// ours are the fields of every object that belongs to a checkout, and figures the figures of a plan.
var (
	ours = []field{
		{key, text, 32, ""}, {"Environment__c", choice, 0, ""},
	}
	figures = []field{
		{"Course_Name__c", label, 255, checkout.FieldCourseName}, {"Course_Price__c", decimal, 0, checkout.FieldPrice},
		{"Upfront_Payment__c", decimal, 0, checkout.FieldUpfront}, {"Amount_To_Finance__c", decimal, 0, checkout.FieldPrincipal},
		{"Payment_Frequency__c", choice, 0, checkout.FieldFrequency}, {"Number_Of_Instalments__c", whole, 0, checkout.FieldNumber},
		{"Instalment_Amount__c", decimal, 0, checkout.FieldRegular}, {"Final_Instalment_Amount__c", decimal, 0, checkout.FieldFinal},
		{"First_Payment_Date__c", date, 0, checkout.FieldFirstPayment},
	}
)

// objects lists everything that is written or read, by the names in an organisation that has the metadata.
var objects = []object{
	{"Contact", false, slices.Concat(ours, []field{
		{"FirstName", text, 40, checkout.FieldFirstName}, {"LastName", text, 80, checkout.FieldLastName},
		{"Email", text, 80, checkout.FieldEmail},
	})},
	{"Opportunity", false, slices.Concat(ours, figures, []field{
		{"Name", label, 120, ""}, {"StageName", choice, 0, ""}, {"CloseDate", date, 0, ""}, {"Amount", decimal, 0, checkout.FieldPrice},
		{"Checkout_Id__c", text, 80, ""}, {"Provider_Order_Id__c", text, 255, checkout.FieldOrderID},
		{"Provider_Code__c", text, 32, checkout.FieldProviderCode}, {"Course_Code__c", label, 255, checkout.FieldCourseCode},
		{"Ended_At__c", dateTime, 0, ""}, {"End__c", label, 40, ""},
	})},
	{"OpportunityContactRole", false, []field{
		{"OpportunityId", relation, 0, ""}, {"ContactId", relation, 0, ""}, {"IsPrimary", truth, 0, ""},
	}},
	{authority, false, slices.Concat(ours, []field{
		{"Contact__c", relation, 0, ""}, {"Opportunity__c", relation, 0, ""}, {"Revision__c", whole, 0, ""},
		{"Enrolment_Stage__c", choice, 0, ""}, {"Agreement_Number__c", text, 40, ""}, {"Status__c", choice, 0, ""},
		{"Billing_Request_Id__c", text, 80, ""}, {"Mandate_Id__c", text, 80, ""}, {"Mandate_Status__c", label, 40, ""},
		{"Mandate_Reason__c", label, 80, ""}, {"Mandate_Changed_At__c", dateTime, 0, ""}, {"Account_Holder__c", label, 255, ""},
		{"Account_Mask__c", label, 40, ""}, {"Authorised_At__c", dateTime, 0, ""}, {"Consent_Given_At__c", dateTime, 0, ""},
		{"Consent_Version__c", label, 40, ""},
	})},
	{agreed, false, slices.Concat(ours, figures, []field{
		{"Agreement_Number__c", text, 40, ""}, {"Opportunity__c", relation, 0, ""}, {"Contact__c", relation, 0, ""},
		{"Direct_Debit_Authority__c", relation, 0, ""}, {"Template_Version__c", label, 40, ""}, {"Accepted_At__c", dateTime, 0, ""},
		{"Declarations__c", text, 32768, ""}, {"PDF_SHA256__c", text, 64, ""}, {"Facts__c", text, 131072, ""},
	})},
	{"ContentVersion", false, []field{
		ours[0], {"PDF_SHA256__c", text, 64, ""}, {"Title", label, 255, ""}, {"PathOnClient", label, 255, ""},
		{"FirstPublishLocationId", relation, 0, ""}, {"VersionData", file, 0, ""},
	}},
	{"Provider_Integration__c", true, []field{
		{"Provider_Code__c", text, 0, "provider_code"}, {"Name", text, 0, "name"}, {"Account__c", relation, 0, "account_id"},
		{"Environment__c", choice, 0, "environment"}, {"Active__c", truth, 0, "active"}, {"API_Enabled__c", truth, 0, "api_enabled"},
		{"Pricing_Mode__c", choice, 0, "courses"}, {"Enrolment_Origins__c", text, 0, "enrolment_origins"},
		{"Success_URL__c", text, 0, "success_url"}, {"Cancel_URL__c", text, 0, "cancel_url"},
		{"Display_Name__c", text, 0, "branding.display_name"}, {"Primary_Colour__c", text, 0, "branding.primary_colour"},
		{"Logo_URL__c", text, 0, "branding.logo_url"}, {"Support_Email__c", text, 0, "branding.support_email"},
	}},
	{"Course__c", true, []field{
		{"Provider_Integration__c", relation, 0, "provider"}, {"Course_Code__c", text, 0, "course_code"},
		{"Course_Name__c", text, 0, "course_name"}, {"Price__c", decimal, 0, "course_price"},
		{"Upfront_Payment__c", decimal, 0, "upfront_payment"}, {"Active__c", truth, 0, "active"},
		{"Environment__c", choice, 0, "environment"},
	}},
	{"Course_Plan__c", true, []field{
		{"Course__c", relation, 0, "course"}, {"Payment_Frequency__c", choice, 0, "payment_frequency"},
		{"Number_Of_Instalments__c", whole, 0, "number_of_instalments"}, {"Instalment_Amount__c", decimal, 0, "instalment_amount"},
	}},
}

// configuration are the objects that are only read.
var configuration = objects[len(objects)-3:]

// Mapping has the names of objects, fields and stages of an organisation where they are others than in the metadata.
type Mapping map[string]string

// stageNames are the stages of an opportunity, unless a mapping has others.
var stageNames = map[string]string{"stages.open": "Prospecting", "stages.complete": "Closed Won", "stages.cancelled": "Closed Lost",
	"stages.withdrawn": "Closed Lost"}

// namePattern matches the names that Salesforce allows for objects and fields, and stagePattern the values of a picklist that no
// composite request takes for a reference.
var (
	namePattern  = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]{0,79}$`)
	stagePattern = regexp.MustCompile(`^[^\s@](?:[^@]{0,253}[^\s@])?$`)
)

// ParseMapping reads a mapping from JSON: an object with the names that the metadata and the organisation use, and its stages.
// The error names everything that is wrong.
func ParseMapping(data []byte) (Mapping, error) {
	v, err := strictjson.Parse(data, 1)
	if err != nil {
		return nil, err
	}
	m, faults := Mapping{}, []error{}
	if v.Kind != strictjson.Object {
		faults = append(faults, errors.New("the mapping must be an object"))
	}
	for _, member := range v.Members {
		pattern := namePattern
		if stageNames[member.Name] != "" {
			pattern = stagePattern
		}
		object, field, dotted := strings.Cut(member.Name, ".")
		if pattern == namePattern && (fieldsOf(object) == nil || dotted && fieldOf(object, field) == nil) {
			faults = append(faults, fmt.Errorf("%s is not known", member.Name))
		} else if m[member.Name] = member.Value.Text; !pattern.MatchString(member.Value.Text) {
			faults = append(faults, fmt.Errorf("%s must be the API name of an object or field, or a stage", member.Name))
		}
	}
	for _, other := range []string{open, cancelled, withdrawn} {
		if m.stage(other) == m.stage(complete) {
			faults = append(faults, fmt.Errorf("stages.%s must not be the stage of a complete enrolment", other))
		}
	}
	return m, errors.Join(faults...)
}

func (m Mapping) object(name string) string        { return cmp.Or(m[name], name) }
func (m Mapping) field(object, name string) string { return cmp.Or(m[object+"."+name], name) }
func (m Mapping) stage(name string) string {
	return cmp.Or(m["stages."+name], stageNames["stages."+name])
}

func fieldsOf(name string) []field {
	for _, o := range objects {
		if o.name == name {
			return o.fields
		}
	}
	return nil
}

func fieldOf(object, name string) *field {
	for _, f := range fieldsOf(object) {
		if f.name == name {
			return &f
		}
	}
	return nil
}

// contract returns the contract's name of what a field of the organisation holds, or else the field's own.
func (m Mapping) contract(object, api string) string {
	for _, f := range fieldsOf(object) {
		if f.contract != "" && strings.EqualFold(m.field(object, f.name), api) {
			return f.contract
		}
	}
	return m.object(object) + "." + api
}

// Check implements ports.CRM by the lengths that Salesforce and the metadata give fields.
func (c *CRM) Check(e checkout.Enrolment) (faults []checkout.Fault) {
	v := contactValues(e)
	maps.Copy(v, enrolmentValues(e))
	for _, f := range slices.Concat(fieldsOf("Contact"), fieldsOf("Opportunity")) {
		fault := func(message string) { faults = append(faults, checkout.Fault{Field: f.contract, Message: message}) }
		switch sent, _ := v[f.name].(string); {
		case f.kind != text || f.contract == "":
		case units(sent) > f.length:
			fault(fmt.Sprintf("must have at most %d characters", f.length))
		case strings.Contains(sent, referenceMark):
			fault("must not contain " + referenceMark)
		case f.contract == checkout.FieldEmail && strings.HasPrefix(sent, "."):
			fault("must not begin with a dot")
		}
	}
	return faults
}

func units(text string) int { return len(utf16.Encode([]rune(text))) }

// text returns a text as the field takes it, or nil to empty the field.
func (f field) text(sent string) any {
	if sent == "" {
		return nil
	}
	if f.kind == label && units(sent) > f.length {
		for units(sent) >= f.length {
			_, last := utf8.DecodeLastRuneInString(sent)
			sent = sent[:len(sent)-last]
		}
		sent += "…"
	}
	return strings.ReplaceAll(sent, referenceMark, "@ {")
}

// body returns values by the names of their fields in the organisation.
func (m Mapping) body(object string, v values) map[string]any {
	body := map[string]any{}
	for name, value := range v {
		switch is := value.(type) {
		case reference:
			value = is.String()
		case string:
			value = fieldOf(object, name).text(is)
		}
		body[m.field(object, name)] = value
	}
	return body
}

func contactValues(e checkout.Enrolment) values {
	s := e.Checkout.Student
	return values{"Environment__c": string(e.Environment), "FirstName": s.FirstName, "LastName": s.LastName, "Email": s.Email}
}

// enrolmentValues are the values of an opportunity but for its key, its stage and its end.
func enrolmentValues(e checkout.Enrolment) values {
	c := e.Checkout
	plan := c.Intent.Plan
	plan.First = c.FirstPayment()
	v := figureValues(c.Intent.CourseName, c.Intent.Pricing, plan)
	v["Environment__c"], v["Name"] = string(e.Environment), c.Intent.CourseName+", "+c.Student.Name()
	v["CloseDate"], v["Amount"] = c.Intent.Plan.First.String(), amount(c.Intent.Pricing.Price)
	v["Checkout_Id__c"], v["Provider_Order_Id__c"], v["Provider_Code__c"], v["Course_Code__c"] = c.ID, c.OrderID, c.ProviderCode, c.CourseCode
	return v
}

func figureValues(course string, p money.Pricing, plan money.Plan) values {
	return values{"Course_Name__c": course,
		"Course_Price__c": amount(p.Price), "Upfront_Payment__c": amount(p.Upfront), "Amount_To_Finance__c": amount(p.Principal),
		"Payment_Frequency__c": string(plan.Frequency), "Number_Of_Instalments__c": plan.Number, "Instalment_Amount__c": amount(plan.Regular),
		"Final_Instalment_Amount__c": amount(plan.Final), "First_Payment_Date__c": plan.First.String()}
}

// debitValues are the values of an authority, with the revision and the state of its enrolment.
func debitValues(e checkout.Enrolment, s state) values {
	d := e.Checkout.Setup
	return values{"Revision__c": e.Checkout.Revision, "Enrolment_Stage__c": s.stage, "Agreement_Number__c": s.number,
		"Environment__c": string(e.Environment), "Status__c": string(d.Authorisation), "Billing_Request_Id__c": d.BillingRequestID,
		"Mandate_Id__c": d.MandateID, "Mandate_Status__c": string(d.Mandate), "Mandate_Reason__c": d.MandateReason,
		"Mandate_Changed_At__c": instant(d.MandateSince), "Account_Holder__c": d.AccountHolder, "Account_Mask__c": string(d.AccountMask),
		"Authorised_At__c": instant(d.CompletedAt), "Consent_Given_At__c": instant(d.Consent.At), "Consent_Version__c": d.Consent.Terms}
}

func amount(c money.Cents) json.Number { return json.Number(c.String()) }

// instant formats a time; the zero time is "".
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
