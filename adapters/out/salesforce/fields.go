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

// typesOf has the types, in the words of a describe, of the fields that can hold a kind.
var typesOf = map[kind][]string{
	kindText:     {"string", "textarea", "email", "url", "phone"},
	kindChoice:   {"picklist", "string"},
	kindAmount:   {"currency", "double"},
	kindWhole:    {"double", "int"},
	kindDate:     {"date"},
	kindTime:     {"datetime"},
	kindTruth:    {"boolean"},
	kindRelation: {"reference", "string"}, // an id may also be kept as a text
	kindLookup:   {"reference"},
	kindFile:     {"base64"},
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
	readOnly bool     // only read
	updated  bool     // written again when the enrolment completes, or it or its mandate ends
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

	integration = "provider"
	course      = "course"
	coursePlan  = "plan"

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

	fieldEndedAt        = "ended_at"
	fieldMandateStatus  = "mandate_status"
	fieldMandateChanged = "mandate_changed_at"
)

// Shorthands for the fields below.

func plainField(name, api string, k kind, contract string) field {
	return field{name: name, api: api, kind: k, contract: contract}
}

func textField(name, api string, length int, contract string) field {
	return field{name: name, api: api, kind: kindText, length: length, contract: contract}
}

func choiceField(name, api, contract string, values ...string) field {
	return field{name: name, api: api, kind: kindChoice, contract: contract, values: values}
}

func keyField(name, api string, length int) field {
	return field{name: name, api: api, kind: kindText, length: length, unique: true, external: true}
}

func updated(f field) field { f.updated = true; return f }

func checkoutKey() field { return keyField(fieldKey, "Provider_Checkout_Key__c", 32) }

func environment() field {
	return choiceField("environment", "Environment__c", "", "sandbox", "production")
}

// figures are the fields of a plan.
func figures() []field {
	return []field{
		textField("course_name", "Course_Name__c", 255, "course.course_name"),
		plainField("course_price", "Course_Price__c", kindAmount, "pricing.course_price"),
		plainField("upfront_payment", "Upfront_Payment__c", kindAmount, "pricing.upfront_payment"),
		plainField("amount_to_finance", "Amount_To_Finance__c", kindAmount, "pricing.amount_to_finance"),
		choiceField("payment_frequency", "Payment_Frequency__c", "plan.payment_frequency", "Weekly", "Fortnightly", "Monthly"),
		plainField("number_of_instalments", "Number_Of_Instalments__c", kindWhole, "plan.number_of_instalments"),
		plainField("instalment_amount", "Instalment_Amount__c", kindAmount, "plan.instalment_amount"),
		plainField("final_instalment_amount", "Final_Instalment_Amount__c", kindAmount, "plan.final_instalment_amount"),
		plainField(fieldFirstPayment, "First_Payment_Date__c", kindDate, "plan.first_payment_date"),
	}
}

// objects lists everything that is written or read, under the names of an organisation that has the metadata.
func objects() []object { return append(enrolmentObjects(), configurationObjects()...) }

// enrolmentObjects lists what an enrolment is made of.
func enrolmentObjects() []object {
	return []object{
		{contact, "Contact", false, []field{
			checkoutKey(), environment(),
			plainField("first_name", "FirstName", kindText, "student.first_name"),
			plainField("last_name", "LastName", kindText, "student.last_name"),
			plainField("email", "Email", kindText, "student.email"),
		}},
		{opportunity, "Opportunity", false, append([]field{
			checkoutKey(), environment(),
			plainField("name", "Name", kindText, ""),
			updated(plainField(fieldStage, "StageName", kindChoice, "")),
			plainField("close_date", "CloseDate", kindDate, ""),
			plainField("amount", "Amount", kindAmount, "pricing.course_price"),
			textField("checkout_id", "Checkout_Id__c", 80, "checkout_id"),
			textField("order_id", "Provider_Order_Id__c", 255, "provider.provider_order_id"),
			textField("provider_code", "Provider_Code__c", 32, "provider.provider_code"),
			textField("course_code", "Course_Code__c", 255, "course.course_code"),
			updated(plainField(fieldEndedAt, "Ended_At__c", kindTime, "")),
			updated(textField("end", "End__c", 40, "")),
		}, figures()...)},
		{role, "OpportunityContactRole", false, []field{
			checkoutKey(),
			plainField(opportunity, "OpportunityId", kindRelation, ""),
			plainField(contact, "ContactId", kindRelation, ""),
			plainField("primary", "IsPrimary", kindTruth, ""),
		}},
		{authority, "Direct_Debit_Authority__c", false, []field{
			checkoutKey(), environment(),
			plainField(contact, "Contact__c", kindRelation, ""),
			plainField(opportunity, "Opportunity__c", kindRelation, ""),
			updated(choiceField("status", "Status__c", "", "Customer In Progress", "Authorised")),
			updated(textField("billing_request_id", "Billing_Request_Id__c", 80, "")),
			updated(textField(fieldMandate, "Mandate_Id__c", 80, "")),
			updated(textField(fieldMandateStatus, "Mandate_Status__c", 40, "")),
			updated(textField("mandate_reason", "Mandate_Reason__c", 80, "")),
			updated(plainField(fieldMandateChanged, "Mandate_Changed_At__c", kindTime, "")),
			updated(textField("account_holder", "Account_Holder__c", 255, "")),
			updated(textField("account", "Account_Mask__c", 40, "")),
			updated(plainField("authorised_at", "Authorised_At__c", kindTime, "")),
			updated(plainField("consent_at", "Consent_Given_At__c", kindTime, "")),
			updated(textField("consent_version", "Consent_Version__c", 40, "")),
			updated(textField("consent_text", "Consent_Text__c", 32768, "")),
		}},
		{agreed, "Payment_Plan_Agreement__c", false, append([]field{
			keyField(fieldNumber, "Agreement_Number__c", 40),
			checkoutKey(), environment(),
			plainField(opportunity, "Opportunity__c", kindLookup, ""),
			plainField(contact, "Contact__c", kindRelation, ""),
			plainField(authority, "Direct_Debit_Authority__c", kindRelation, ""),
			textField("version", "Template_Version__c", 40, ""),
			plainField(fieldAcceptedAt, "Accepted_At__c", kindTime, ""),
			textField("declarations", "Declarations__c", 32768, ""),
			plainField("notice_days", "Notice_Days__c", kindWhole, ""),
			plainField("collect_from", "Collect_From__c", kindDate, ""),
			updated(textField(fieldDigest, "PDF_SHA256__c", 64, "")),
			updated(textField(fieldPDF, "PDF_Content_Document_Id__c", 18, "")),
		}, figures()...)},
		{document, "ContentVersion", false, []field{
			{name: fieldKey, api: "Provider_Checkout_Key__c", kind: kindText, length: 32, unique: true},
			{name: fieldDigest, api: "PDF_SHA256__c", kind: kindText, length: 64, unique: true},
			plainField("title", "Title", kindText, ""),
			plainField("path", "PathOnClient", kindText, ""),
			plainField("content", "VersionData", kindFile, ""),
			plainField(fieldLocation, "FirstPublishLocationId", kindRelation, ""),
			{name: fieldContent, api: "ContentDocumentId", kind: kindRelation, readOnly: true},
		}},
	}
}

// configurationObjects lists the objects that the configuration of providers is read from. The fields are called as in a
// provider file; where their place there is another, it is their contract. The objects are never written.
func configurationObjects() []object {
	return []object{
		{integration, "Provider_Integration__c", true, []field{
			plainField("provider_code", "Provider_Code__c", kindText, ""),
			plainField("name", "Name", kindText, ""),
			plainField("account_id", "Account__c", kindRelation, ""),
			plainField("environment", "Environment__c", kindChoice, ""),
			plainField("active", "Active__c", kindTruth, ""),
			plainField("api_enabled", "API_Enabled__c", kindTruth, ""),
			plainField("pricing_mode", "Pricing_Mode__c", kindChoice, "courses"),
			plainField("enrolment_origins", "Enrolment_Origins__c", kindText, ""),
			plainField("success_url", "Success_URL__c", kindText, ""),
			plainField("cancel_url", "Cancel_URL__c", kindText, ""),
			plainField("display_name", "Display_Name__c", kindText, "branding.display_name"),
			plainField("primary_colour", "Primary_Colour__c", kindText, "branding.primary_colour"),
			plainField("logo_url", "Logo_URL__c", kindText, "branding.logo_url"),
			plainField("support_email", "Support_Email__c", kindText, "branding.support_email"),
			plainField("notice_days", "Notice_Days__c", kindWhole, ""),
		}},
		{course, "Course__c", true, []field{
			plainField(integration, "Provider_Integration__c", kindRelation, ""),
			plainField("course_code", "Course_Code__c", kindText, ""),
			plainField("course_name", "Course_Name__c", kindText, ""),
			plainField("course_price", "Price__c", kindAmount, ""),
			plainField("upfront_payment", "Upfront_Payment__c", kindAmount, ""),
			plainField("active", "Active__c", kindTruth, ""),
			plainField("environment", "Environment__c", kindChoice, ""),
		}},
		{coursePlan, "Course_Plan__c", true, []field{
			plainField(course, "Course__c", kindRelation, ""),
			plainField("payment_frequency", "Payment_Frequency__c", kindChoice, ""),
			plainField("number_of_instalments", "Number_Of_Instalments__c", kindWhole, ""),
			plainField("instalment_amount", "Instalment_Amount__c", kindAmount, ""),
		}},
	}
}
