package salesforcetest

// Names of the objects that behave in a way of their own.
const (
	objectContact         = "Contact"
	objectContentVersion  = "ContentVersion"
	objectContentDocument = "ContentDocument"
	objectContentLink     = "ContentDocumentLink"
)

// Shorthands for the fields below.

func text(name string, length int) Field { return Field{Name: name, Type: TypeString, Length: length} }

func long(name string, length int) Field {
	return Field{Name: name, Type: TypeTextArea, Length: length}
}

func plain(name string, kind FieldType) Field { return Field{Name: name, Type: kind} }

func email(name string) Field { return Field{Name: name, Type: TypeEmail, Length: 80} }

func link(name string) Field { return Field{Name: name, Type: TypeURL, Length: 255} }

func amount(name string) Field { return Field{Name: name, Type: TypeCurrency, Precision: 18, Scale: 2} }

func whole(name string, digits int) Field {
	return Field{Name: name, Type: TypeDouble, Precision: digits}
}

func picklist(name string, values ...string) Field {
	return Field{Name: name, Type: TypePicklist, Length: 255, Values: values}
}

func restricted(name string, values ...string) Field {
	f := picklist(name, values...)
	f.Restricted = true
	return f
}

func reference(name string, to ...string) Field {
	return Field{Name: name, Type: TypeReference, Length: 18, ReferenceTo: to}
}

func externalID(f Field) Field { f.ExternalID = true; return f }

func key(name string, length int) Field {
	f := externalID(text(name, length))
	f.Unique = true
	return f
}

func required(f Field) Field { f.Required = true; return f }

func createOnly(f Field) Field { f.CreateOnly = true; return f }

func readOnly(f Field) Field { f.ReadOnly = true; return f }

// checkoutKey is the field by which a record that belongs to a checkout is upserted.
func checkoutKey() Field { return key("Provider_Checkout_Key__c", 64) }

func environment() Field { return restricted("Environment__c", "sandbox", "production") }

// planFields are the figures of a payment plan.
func planFields() []Field {
	return []Field{
		text("Course_Name__c", 255), amount("Course_Price__c"), amount("Upfront_Payment__c"), amount("Amount_To_Finance__c"),
		restricted("Payment_Frequency__c", "Weekly", "Fortnightly", "Monthly"), whole("Number_Of_Instalments__c", 4),
		amount("Instalment_Amount__c"), amount("Final_Instalment_Amount__c"), plain("First_Payment_Date__c", TypeDate),
	}
}

// DefaultSchema returns an organisation with the metadata of package salesforce, and with Salesforce's own objects that it uses
// or refers to. Nobody may write to Organization, and a ContentDocument is made with its ContentVersion.
func DefaultSchema() Schema {
	return Schema{append(standardObjects(), append(contentObjects(), customObjects()...)...)}
}

func standardObjects() []Object {
	return []Object{
		{Name: "Account", Prefix: "001", Fields: []Field{
			required(text("Name", 255)), text("AccountNumber", 40), link("Website"), {Name: "Phone", Type: TypePhone, Length: 40},
			long("Description", 32000)}},
		{Name: objectContact, Prefix: "003", Fields: []Field{
			text("FirstName", 40), required(text("LastName", 80)), readOnly(text("Name", 121)), email("Email"),
			{Name: "Phone", Type: TypePhone, Length: 40}, reference("AccountId", "Account"), long("Description", 32000),
			checkoutKey(), environment()}},
		{Name: "Opportunity", Prefix: "006", Fields: append([]Field{
			required(text("Name", 120)),
			required(picklist("StageName", "Prospecting", "Qualification", "Needs Analysis", "Value Proposition", "Id. Decision Makers",
				"Perception Analysis", "Proposal/Price Quote", "Negotiation/Review", "Closed Won", "Closed Lost")),
			required(plain("CloseDate", TypeDate)), amount("Amount"), reference("AccountId", "Account"),
			long("Description", 32000), checkoutKey(), environment(), text("Checkout_Id__c", 80), text("Provider_Order_Id__c", 255),
			plain("Ended_At__c", TypeDateTime), text("End__c", 40),
			text("Provider_Code__c", 32), text("Course_Code__c", 255),
			reference("Provider_Integration__c", "Provider_Integration__c"), reference("Course__c", "Course__c")}, planFields()...)},
		{Name: "OpportunityContactRole", Prefix: "00K", Fields: []Field{
			required(createOnly(reference("OpportunityId", "Opportunity"))), required(reference("ContactId", objectContact)),
			plain("IsPrimary", TypeBoolean), checkoutKey()}},
		{Name: "Organization", Prefix: "00D", ReadOnly: true, Fields: []Field{
			text("Name", 80), plain("IsSandbox", TypeBoolean), text("OrganizationType", 40)}},
	}
}

func contentObjects() []Object {
	digest, owned := text("PDF_SHA256__c", 64), text("Provider_Checkout_Key__c", 64)
	digest.Unique, owned.Unique = true, true
	return []Object{
		{Name: objectContentVersion, Prefix: "068", Fields: []Field{
			text("Title", 255), required(createOnly(text("PathOnClient", 500))), required(createOnly(plain("VersionData", TypeBase64))),
			createOnly(reference("FirstPublishLocationId")), readOnly(reference("ContentDocumentId", objectContentDocument)),
			readOnly(plain("IsLatest", TypeBoolean)), readOnly(text("VersionNumber", 20)),
			readOnly(plain("ContentSize", TypeInt)), readOnly(text("FileType", 20)), readOnly(text("FileExtension", 40)),
			readOnly(text("Checksum", 50)), digest, owned}},
		{Name: objectContentDocument, Prefix: "069", Fields: []Field{
			readOnly(text("Title", 255)), readOnly(reference("LatestPublishedVersionId", objectContentVersion)),
			readOnly(plain("ContentSize", TypeInt)), readOnly(text("FileType", 20)), readOnly(text("FileExtension", 40))}},
		{Name: objectContentLink, Prefix: "06A", Fields: []Field{
			required(createOnly(reference("ContentDocumentId", objectContentDocument))), required(createOnly(reference("LinkedEntityId"))),
			restricted("ShareType", "V", "C", "I"), restricted("Visibility", "AllUsers", "InternalUsers", "SharedUsers")}},
	}
}

func customObjects() []Object {
	number := required(key("Agreement_Number__c", 40))
	return []Object{
		{Name: "Direct_Debit_Authority__c", Prefix: "a00", Fields: []Field{
			checkoutKey(), environment(), reference("Contact__c", objectContact),
			reference("Opportunity__c", "Opportunity"),
			restricted("Status__c", "Customer In Progress", "Authorised", "Failed", "Cancelled"), text("Billing_Request_Id__c", 80),
			text("Mandate_Id__c", 80), text("Mandate_Status__c", 40), text("Mandate_Reason__c", 80),
			plain("Mandate_Changed_At__c", TypeDateTime), text("Account_Holder__c", 255), text("Account_Mask__c", 40),
			plain("Authorised_At__c", TypeDateTime), plain("Consent_Given_At__c", TypeDateTime), text("Consent_Version__c", 40),
			long("Consent_Text__c", 32768)}},
		{Name: "Payment_Plan_Agreement__c", Prefix: "a01", Fields: append([]Field{
			number, checkoutKey(), environment(), reference("Opportunity__c", "Opportunity"),
			reference("Contact__c", objectContact), reference("Direct_Debit_Authority__c", "Direct_Debit_Authority__c"),
			text("Template_Version__c", 40), plain("Accepted_At__c", TypeDateTime), long("Declarations__c", 32768),
			whole("Notice_Days__c", 4), plain("Collect_From__c", TypeDate),
			text("PDF_SHA256__c", 64), text("PDF_Content_Document_Id__c", 18)}, planFields()...)},
		{Name: "Provider_Integration__c", Prefix: "a02", Fields: []Field{
			required(text("Name", 80)), required(key("Provider_Code__c", 32)), reference("Account__c", "Account"),
			plain("Active__c", TypeBoolean), plain("API_Enabled__c", TypeBoolean), environment(),
			restricted("Pricing_Mode__c", "catalogue", "legacy"), long("Enrolment_Origins__c", 32768), link("Success_URL__c"),
			link("Cancel_URL__c"), text("Display_Name__c", 255), text("Primary_Colour__c", 7), long("Logo_URL__c", 32768),
			email("Support_Email__c"), whole("Notice_Days__c", 3)}},
		{Name: "Course__c", Prefix: "a03", Fields: []Field{
			required(text("Name", 80)), required(externalID(text("Course_Code__c", 255))), text("Course_Name__c", 255),
			required(reference("Provider_Integration__c", "Provider_Integration__c")), amount("Price__c"), amount("Upfront_Payment__c"),
			plain("Active__c", TypeBoolean), environment()}},
		{Name: "Course_Plan__c", Prefix: "a04", Fields: []Field{
			required(reference("Course__c", "Course__c")),
			restricted("Payment_Frequency__c", "Weekly", "Fortnightly", "Monthly"), whole("Number_Of_Instalments__c", 4),
			amount("Instalment_Amount__c")}},
	}
}
