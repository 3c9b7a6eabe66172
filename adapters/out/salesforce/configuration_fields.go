package salesforce

// Names of the objects that hold the configuration of providers, in a mapping.
const (
	integration = "provider"
	course      = "course"
	coursePlan  = "plan"
)

// configurationObjects lists the objects that the configuration of providers is read from. The fields are called as in a
// provider file; where their place there is another, it is their contract. The objects are never written.
func configurationObjects() []object {
	all := []object{
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
	for _, o := range all {
		for i := range o.fields {
			o.fields[i].readOnly = true
		}
	}
	return all
}
