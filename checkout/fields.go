package checkout

// The names of the fields of requests as dotted paths (contract, sections 2.1 and 2.4). A refusal names a field by
// its path, and the JSON API reads it from there.
const (
	FieldIdempotencyKey = "Idempotency-Key" // the header

	FieldProviderCode = "provider.provider_code"
	FieldOrderID      = "provider.provider_order_id"

	FieldFirstName = "student.first_name"
	FieldLastName  = "student.last_name"
	FieldEmail     = "student.email"

	FieldCourseCode = "course.course_code"
	FieldCourseName = "course.course_name"

	FieldPrice     = "pricing.course_price"
	FieldPrincipal = "pricing.amount_to_finance"
	FieldUpfront   = "pricing.upfront_payment"

	FieldPaymentType  = "plan.payment_type"
	FieldFrequency    = "plan.payment_frequency"
	FieldNumber       = "plan.number_of_instalments"
	FieldRegular      = "plan.instalment_amount"
	FieldFinal        = "plan.final_instalment_amount"
	FieldFirstPayment = "plan.first_payment_date"

	FieldCheckoutID    = "checkout.checkout_id"
	FieldCheckoutToken = "checkout.checkout_token"
	FieldOpportunityID = "checkout.opportunity_id"
	FieldDDAID         = "checkout.dda_id"

	FieldPaymentMethod      = "payment.payment_method"
	FieldAgreedFirstPayment = "payment.first_payment_date"
	FieldDepositConfirmed   = "payment.deposit_confirmed"

	FieldReason = "reason" // of a cancel

	// Of the lists, in the query.
	FieldAfter   = "after"
	FieldLimit   = "limit"
	FieldOfOrder = "provider_order_id"

	FieldPlanAccepted         = "declarations.payment_plan_accepted"
	FieldInformationConfirmed = "declarations.information_confirmed"
	FieldPrivacyAccepted      = "declarations.privacy_consent_accepted"
)
