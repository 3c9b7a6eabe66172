package salesforcetest

import (
	"slices"
	"strconv"
	"strings"
)

// Field is one field of an object.
type Field struct {
	Name       string
	Type       string // in the words of a describe
	Length     int    // most characters of a text
	Scale      int    // digits of a number after the point
	Required   bool   // a record without it is refused
	Unique     bool   // two records must not have the same value, whatever the letter case
	ExternalID bool   // records can be upserted by it
	CreateOnly bool   // cannot be changed
	ReadOnly   bool   // is Salesforce's to set
	Restricted bool   // other values than Values are refused
	Values     []string
	To         string // of a reference: the object; "" for any
}

// isText reports whether the value is a text of limited length.
func (f *Field) isText() bool {
	return slices.Contains([]string{"string", "textarea", "email", "url", "picklist"}, f.Type)
}

// isNumber reports whether the value is a number.
func (f *Field) isNumber() bool {
	return slices.Contains([]string{"double", "currency"}, f.Type)
}

// Object is one object of an organisation: a kind of records. Every object also has Id and CreatedDate.
type Object struct {
	Name     string
	Prefix   string // three characters with which its ids begin
	ReadOnly bool   // its records are Salesforce's to make
	Fields   []*Field
}

// Schema is the objects of an organisation.
type Schema []*Object

// Field returns a field by its path: "Contact.FirstName". It panics if there is no such field.
func (s Schema) Field(path string) *Field {
	object, name, _ := strings.Cut(path, ".")
	fields := s[slices.IndexFunc(s, func(o *Object) bool { return o.Name == object })].Fields
	return fields[slices.IndexFunc(fields, func(f *Field) bool { return f.Name == name })]
}

// DefaultSchema returns an organisation with the metadata of package salesforce, and with Salesforce's own objects that it uses
// or refers to. Nobody may write to Organization.
func DefaultSchema() (s Schema) {
	for line := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(schema, "\n\t", " ")), "\n") {
		head, list, _ := strings.Cut(line, ":")
		names := strings.Fields(head)
		o := &Object{Name: names[0], Prefix: names[1], ReadOnly: len(names) > 2}
		for text := range strings.SplitSeq(strings.ReplaceAll(list, "FIGURES", figures), ",") {
			o.Fields = append(o.Fields, parseField(strings.TrimSpace(text)))
		}
		s = append(s, o)
	}
	return s
}

// parseField reads a field: its name, its type with what limits it, and words that say more.
func parseField(text string) *Field {
	words := strings.Split(text, " ")
	kind, limit, _ := strings.Cut(strings.TrimSuffix(words[1], ")"), "(")
	f := &Field{Name: words[0], Type: kind}
	number, _ := strconv.Atoi(limit)
	switch kind {
	case "text", "key":
		f.Type, f.Length, f.Unique = "string", number, kind == "key"
	case "textarea", "url", "email":
		f.Length = number
	case "picklist", "restricted":
		f.Type, f.Length, f.Values, f.Restricted = "picklist", 255, strings.Split(strings.ReplaceAll(limit, "_", " "), "|"), kind == "restricted"
	case "currency":
		f.Scale = 2
	case "number":
		f.Type = "double"
	case "reference":
		f.Length, f.To = 18, limit
	}
	f.Required, f.CreateOnly = slices.Contains(words, "required"), slices.Contains(words, "once")
	f.ExternalID = f.Unique || slices.Contains(words, "external")
	return f
}

// figures are the figures of a payment plan.
const figures = `Course_Name__c text(255), Course_Price__c currency, Upfront_Payment__c currency, Amount_To_Finance__c currency,
	Payment_Frequency__c restricted(Weekly|Fortnightly|Monthly), Number_Of_Instalments__c number(4), Instalment_Amount__c currency,
	Final_Instalment_Amount__c currency, First_Payment_Date__c date`

// schema has an object a line: its name, the prefix of its ids, and its fields.
const schema = `
Account 001: Name text(255) required, AccountNumber text(40)
Contact 003: FirstName text(40), LastName text(80) required, Email email(80),
	AccountId reference(Account), Provider_Checkout_Key__c key(32), Environment__c restricted(sandbox|production)
Opportunity 006: Name text(120) required, CloseDate date required, Amount currency, AccountId reference(Account),
	StageName picklist(Prospecting|Qualification|Negotiation/Review|Closed_Won|Closed_Lost) required,
	Provider_Checkout_Key__c key(32), Environment__c restricted(sandbox|production), Checkout_Id__c text(80), Provider_Order_Id__c text(255),
	Provider_Code__c text(32), Course_Code__c text(255), Ended_At__c datetime, End__c text(40), FIGURES
OpportunityContactRole 00K: OpportunityId reference(Opportunity) required once, ContactId reference(Contact) required, IsPrimary boolean
Organization 00D readonly: Name text(80), IsSandbox boolean, OrganizationType text(40)
ContentVersion 068: Title text(255), PathOnClient text(500) required once, VersionData base64 required once,
	FirstPublishLocationId reference once, PDF_SHA256__c text(64), Provider_Checkout_Key__c key(32)
Direct_Debit_Authority__c a00: Provider_Checkout_Key__c key(32), Environment__c restricted(sandbox|production),
	Contact__c reference(Contact), Opportunity__c reference(Opportunity), Revision__c number(18),
	Enrolment_Stage__c restricted(open|complete|cancelled|withdrawn), Agreement_Number__c text(40),
	Status__c restricted(Customer_In_Progress|Authorised), Billing_Request_Id__c text(80), Mandate_Id__c text(80), Mandate_Status__c text(40),
	Mandate_Reason__c text(80), Mandate_Changed_At__c datetime, Account_Holder__c text(255), Account_Mask__c text(40),
	Authorised_At__c datetime, Consent_Given_At__c datetime, Consent_Version__c text(40)
Payment_Plan_Agreement__c a01: Agreement_Number__c key(40) required, Provider_Checkout_Key__c key(32),
	Environment__c restricted(sandbox|production), Opportunity__c reference(Opportunity), Contact__c reference(Contact),
	Direct_Debit_Authority__c reference(Direct_Debit_Authority__c), Template_Version__c text(40), Accepted_At__c datetime,
	Declarations__c textarea(32768), PDF_SHA256__c text(64), Facts__c textarea(131072), FIGURES
Provider_Integration__c a02: Name text(80) required, Provider_Code__c key(32) required, Account__c reference(Account), Active__c boolean,
	API_Enabled__c boolean, Environment__c restricted(sandbox|production), Pricing_Mode__c restricted(catalogue|legacy),
	Enrolment_Origins__c textarea(32768), Success_URL__c url(255), Cancel_URL__c url(255), Display_Name__c text(255),
	Primary_Colour__c text(7), Logo_URL__c textarea(32768), Support_Email__c email(80)
Course__c a03: Name text(80) required, Course_Code__c text(255) required external, Course_Name__c text(255),
	Provider_Integration__c reference(Provider_Integration__c) required, Price__c currency, Upfront_Payment__c currency, Active__c boolean,
	Environment__c restricted(sandbox|production)
Course_Plan__c a04: Course__c reference(Course__c) required, Payment_Frequency__c restricted(Weekly|Fortnightly|Monthly),
	Number_Of_Instalments__c number(4), Instalment_Amount__c currency
`
