package salesforce

// kind is the kind of values that a field can hold, whatever its type in an organisation.
type kind string

const (
	kindText     kind = "text"
	kindChoice   kind = "choice" // a picklist, or a text
	kindAmount   kind = "amount"
	kindWhole    kind = "whole number"
	kindDate     kind = "date"
	kindTime     kind = "date and time"
	kindTruth    kind = "checkbox"
	kindRelation kind = "reference"
	kindLookup   kind = "lookup" // a reference that a query follows
	kindFile     kind = "file"
)

// types returns the types, in the words of a describe, of the fields that can hold a kind.
func (k kind) types() []string {
	switch k {
	case kindText:
		return []string{"string", "textarea", "email", "url", "phone"}
	case kindChoice:
		return []string{"picklist", "string"}
	case kindAmount:
		return []string{"currency", "double"}
	case kindWhole:
		return []string{"double", "int"}
	case kindDate:
		return []string{"date"}
	case kindTime:
		return []string{"datetime"}
	case kindTruth:
		return []string{"boolean"}
	case kindRelation:
		// An id may also be kept as a text.
		return []string{"reference", "string"}
	case kindLookup:
		return []string{"reference"}
	}
	return []string{"base64"}
}

// field is one field that is written or read.
type field struct {
	name     string // in the mapping's file
	api      string // in an organisation that names it as we do
	kind     kind
	contract string // the contract's name of what it holds, if it has one
	length   int    // of a text: what a checkout may need at most; 0 where the organisation decides, and refuses what is longer
	unique   bool
	external bool     // records are found by it
	values   []string // of a choice: what is written
	ours     bool     // not Salesforce's own: the metadata have it
	readOnly bool     // only read
	updated  bool     // written again when the enrolment completes
}

// object is one object whose records are written, or only read.
type object struct {
	name     string // in the mapping's file
	api      string
	readOnly bool
	fields   []field
}

// Names of the objects in a mapping, and of the fields that the code names more than once.
const (
	contact     = "contact"
	opportunity = "opportunity"
	role        = "contact_role"
	authority   = "authority"
	agreed      = "agreement"
	document    = "document"

	fieldKey          = "key"
	fieldStage        = "stage"
	fieldNumber       = "number"
	fieldAcceptedAt   = "accepted_at"
	fieldFirstPayment = "first_payment_date"
	fieldDigest       = "pdf_sha256"
	fieldPDF          = "pdf_document_id"
	fieldLocation     = "location"
	fieldContent      = "content_document"
	fieldMandate      = "mandate_id"
)

// Shorthands for the fields below.

func standard(name, api string, k kind, contract string) field {
	return field{name: name, api: api, kind: k, contract: contract}
}

func ours(name, api string, k kind, contract string) field {
	return field{name: name, api: api, kind: k, contract: contract, ours: true}
}

func oursText(name, api string, length int, contract string) field {
	f := ours(name, api, kindText, contract)
	f.length = length
	return f
}

func oursChoice(name, api, contract string, values ...string) field {
	f := ours(name, api, kindChoice, contract)
	f.values = values
	return f
}

func ourKey(name, api string, length int) field {
	f := oursText(name, api, length, "")
	f.unique, f.external = true, true
	return f
}

func updated(f field) field { f.updated = true; return f }

func checkoutKey() field { return ourKey(fieldKey, "Provider_Checkout_Key__c", 32) }

func environment() field {
	return oursChoice("environment", "Environment__c", "", "sandbox", "production")
}

// figures are the fields of a plan.
func figures() []field {
	return []field{
		oursText("course_name", "Course_Name__c", 255, "course.course_name"),
		ours("course_price", "Course_Price__c", kindAmount, "pricing.course_price"),
		ours("upfront_payment", "Upfront_Payment__c", kindAmount, "pricing.upfront_payment"),
		ours("amount_to_finance", "Amount_To_Finance__c", kindAmount, "pricing.amount_to_finance"),
		oursChoice("payment_frequency", "Payment_Frequency__c", "plan.payment_frequency", "Weekly", "Fortnightly", "Monthly"),
		ours("number_of_instalments", "Number_Of_Instalments__c", kindWhole, "plan.number_of_instalments"),
		ours("instalment_amount", "Instalment_Amount__c", kindAmount, "plan.instalment_amount"),
		ours("final_instalment_amount", "Final_Instalment_Amount__c", kindAmount, "plan.final_instalment_amount"),
		ours(fieldFirstPayment, "First_Payment_Date__c", kindDate, "plan.first_payment_date"),
	}
}

// objects lists everything that is written or read, under the names of an organisation that has the metadata.
func objects() []object { return append(enrolmentObjects(), configurationObjects()...) }

// enrolmentObjects lists what an enrolment is made of.
func enrolmentObjects() []object {
	return []object{
		{contact, "Contact", false, []field{
			checkoutKey(), environment(),
			standard("first_name", "FirstName", kindText, "student.first_name"),
			standard("last_name", "LastName", kindText, "student.last_name"),
			standard("email", "Email", kindText, "student.email"),
		}},
		{opportunity, "Opportunity", false, append([]field{
			checkoutKey(), environment(),
			standard("name", "Name", kindText, ""),
			updated(standard(fieldStage, "StageName", kindChoice, "")),
			standard("close_date", "CloseDate", kindDate, ""),
			standard("amount", "Amount", kindAmount, "pricing.course_price"),
			oursText("checkout_id", "Checkout_Id__c", 80, "checkout_id"),
			oursText("order_id", "Provider_Order_Id__c", 255, "provider.provider_order_id"),
			oursText("provider_code", "Provider_Code__c", 32, "provider.provider_code"),
			oursText("course_code", "Course_Code__c", 255, "course.course_code"),
		}, figures()...)},
		{role, "OpportunityContactRole", false, []field{
			checkoutKey(),
			standard(opportunity, "OpportunityId", kindRelation, ""),
			standard(contact, "ContactId", kindRelation, ""),
			standard("primary", "IsPrimary", kindTruth, ""),
		}},
		{authority, "Direct_Debit_Authority__c", false, []field{
			checkoutKey(), environment(),
			ours(contact, "Contact__c", kindRelation, ""),
			ours(opportunity, "Opportunity__c", kindRelation, ""),
			updated(oursChoice("status", "Status__c", "", "Customer In Progress", "Authorised")),
			updated(oursText("billing_request_id", "Billing_Request_Id__c", 80, "")),
			updated(oursText(fieldMandate, "Mandate_Id__c", 80, "")),
			updated(oursText("mandate_status", "Mandate_Status__c", 40, "")),
			updated(oursText("account_holder", "Account_Holder__c", 255, "")),
			updated(oursText("account", "Account_Mask__c", 40, "")),
			updated(ours("authorised_at", "Authorised_At__c", kindTime, "")),
			updated(ours("consent_at", "Consent_Given_At__c", kindTime, "")),
			updated(oursText("consent_version", "Consent_Version__c", 40, "")),
			updated(oursText("consent_text", "Consent_Text__c", 32768, "")),
		}},
		{agreed, "Payment_Plan_Agreement__c", false, append([]field{
			ourKey(fieldNumber, "Agreement_Number__c", 40),
			checkoutKey(), environment(),
			ours(opportunity, "Opportunity__c", kindLookup, ""),
			ours(contact, "Contact__c", kindRelation, ""),
			ours(authority, "Direct_Debit_Authority__c", kindRelation, ""),
			oursText("version", "Template_Version__c", 40, ""),
			ours(fieldAcceptedAt, "Accepted_At__c", kindTime, ""),
			oursText("declarations", "Declarations__c", 32768, ""),
			ours("notice_days", "Notice_Days__c", kindWhole, ""),
			ours("collect_from", "Collect_From__c", kindDate, ""),
			updated(oursText(fieldDigest, "PDF_SHA256__c", 64, "")),
			updated(oursText(fieldPDF, "PDF_Content_Document_Id__c", 18, "")),
		}, figures()...)},
		{document, "ContentVersion", false, []field{
			{name: fieldKey, api: "Provider_Checkout_Key__c", kind: kindText, length: 32, unique: true, ours: true},
			{name: fieldDigest, api: "PDF_SHA256__c", kind: kindText, length: 64, unique: true, ours: true},
			standard("title", "Title", kindText, ""),
			standard("path", "PathOnClient", kindText, ""),
			standard("content", "VersionData", kindFile, ""),
			standard(fieldLocation, "FirstPublishLocationId", kindRelation, ""),
			{name: fieldContent, api: "ContentDocumentId", kind: kindRelation, readOnly: true},
		}},
	}
}
