package gocardlesstest

// requestDetails returns the details of a billing request's event.
func requestDetails(action, origin string) details {
	descriptions := map[string]string{
		"created":                  "This billing request has been created.",
		"flow_created":             "A billing request flow has been created against this billing request.",
		"flow_visited":             "The billing request flow has been visited.",
		"flow_exited":              "The billing request flow has been exited by the payer.",
		"collect_customer_details": "Customer details have been collected for this billing request.",
		"collect_bank_account":     "Bank account details have been collected for this billing request.",
		"payer_details_confirmed":  "Payer has confirmed all their details for this billing request.",
		"payer_geo_blocked":        "Payer blocked for 24 hours for attempting to pay from an unsupported location.",
		"fulfilled":                "This billing request has been fulfilled and the resources have been created.",
		"cancelled":                "This billing request has been cancelled none of the resources have been created.",
		"failed":                   "This billing request has failed.",
	}
	name := "billing_request_" + action
	if action == "payer_geo_blocked" {
		name = action
	}
	return details{origin: origin, cause: name, description: descriptions[action]}
}

// reasons has the codes of the BECS NZ scheme with the cause and description that events give for them.
var reasons = map[string]details{
	"DISHONOUR-AC05":                {cause: "invalid_bank_details", description: "The bank account specified does not exist."},
	"NEGATIVE_ACKNOWLEDGEMENT-AC05": {cause: "invalid_bank_details", description: "The bank account specified does not exist."},
	"DISHONOUR-AC04":                {cause: "bank_account_closed", description: "The customer's account was closed at their bank."},
	"DISHONOUR-AC03":                {cause: "invalid_bank_details", description: "The customer's bank account was transferred to a different bank."},
	"DISHONOUR-AG01":                {cause: "mandate_cancelled", description: "This mandate was cancelled by the customer or their bank."},
	"DISHONOUR-BE05":                {cause: "authorisation_disputed", description: "The customer disputes having authorised a mandate."},
	"DISHONOUR-AM04":                {cause: "refer_to_payer", description: "This mandate has been cancelled because a payment under it failed."},
	"DISHONOUR-MS01":                {cause: "refer_to_payer", description: "This mandate has been cancelled because a payment under it failed."},
}

// mandateAction is an action of a mandate's events: the status that it leads to ("" if the status stays), and the usual details.
type mandateAction struct{ status, origin, cause, description string }

// mandateActions has the actions of mandates' events.
var mandateActions = map[string]mandateAction{
	"created":   {"pending_submission", byAPI, "mandate_created", "Mandate created via the API."},
	"submitted": {"submitted", byGoCardless, "mandate_submitted", "The mandate has been submitted to the banks."},
	"active": {"active", byGoCardless, "mandate_activated",
		"The time window after submission for the banks to refuse a mandate has ended."},
	"failed":    {"failed", byBank, "invalid_bank_details", "The bank account specified does not exist."},
	"cancelled": {"cancelled", byAPI, "mandate_cancelled", "The mandate was cancelled at your request."},
	"expired":   {"expired", byGoCardless, "mandate_expired", "The mandate expired without being used."},
	"consumed":  {"consumed", byGoCardless, "mandate_consumed", "The mandate has been used to create a payment."},
	"blocked":   {"blocked", byGoCardless, "mandate_blocked", "The customer's details matched an entry in the blocklist."},
	"suspended_by_payer": {"suspended_by_payer", "payer", "mandate_suspended_by_payer",
		"The payer has suspended the mandate."},
	"reinstated":  {"pending_submission", byAPI, "mandate_reinstated", "The mandate has been reinstated."},
	"replaced":    {"cancelled", byGoCardless, "scheme_identifier_changed", "The mandate has been replaced by a new one."},
	"transferred": {"", byBank, "bank_account_transferred", "The customer's bank account was transferred to a different bank."},
}

// because returns the details of an event of the action. A reason code is the bank's.
func (a mandateAction) because(reason string) details {
	why := details{origin: a.origin, cause: a.cause, description: a.description}
	if code, ok := reasons[reason]; ok {
		why = details{byBank, code.cause, code.description, "", reason}
	}
	if why.origin == byBank {
		why.scheme = scheme
	}
	return why
}
