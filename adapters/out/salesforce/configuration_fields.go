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
			ours("provider_code", "Provider_Code__c", kindText, ""),
			standard("name", "Name", kindText, ""),
			ours("account_id", "Account__c", kindRelation, ""),
			ours("environment", "Environment__c", kindChoice, ""),
			ours("active", "Active__c", kindTruth, ""),
			ours("api_enabled", "API_Enabled__c", kindTruth, ""),
			ours("pricing_mode", "Pricing_Mode__c", kindChoice, "courses"),
			ours("enrolment_origins", "Enrolment_Origins__c", kindText, ""),
			ours("success_url", "Success_URL__c", kindText, ""),
			ours("cancel_url", "Cancel_URL__c", kindText, ""),
			ours("display_name", "Display_Name__c", kindText, "branding.display_name"),
			ours("primary_colour", "Primary_Colour__c", kindText, "branding.primary_colour"),
			ours("logo_url", "Logo_URL__c", kindText, "branding.logo_url"),
			ours("support_email", "Support_Email__c", kindText, "branding.support_email"),
			ours("notice_days", "Notice_Days__c", kindWhole, ""),
		}},
		{course, "Course__c", true, []field{
			ours(integration, "Provider_Integration__c", kindRelation, ""),
			ours("course_code", "Course_Code__c", kindText, ""),
			ours("course_name", "Course_Name__c", kindText, ""),
			ours("course_price", "Price__c", kindAmount, ""),
			ours("upfront_payment", "Upfront_Payment__c", kindAmount, ""),
			ours("active", "Active__c", kindTruth, ""),
			ours("environment", "Environment__c", kindChoice, ""),
		}},
		{coursePlan, "Course_Plan__c", true, []field{
			ours(course, "Course__c", kindRelation, ""),
			ours("payment_frequency", "Payment_Frequency__c", kindChoice, ""),
			ours("number_of_instalments", "Number_Of_Instalments__c", kindWhole, ""),
			ours("instalment_amount", "Instalment_Amount__c", kindAmount, ""),
		}},
	}
	for _, o := range all {
		for i := range o.fields {
			o.fields[i].readOnly = true
		}
	}
	return all
}
