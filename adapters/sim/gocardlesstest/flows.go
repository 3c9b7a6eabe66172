package gocardlesstest

import (
	"net/http"
	"time"

	"github.com/provider-checkout/provider-checkout/money/text"
)

// flowLife is the time for which a flow can be used.
const flowLife = 7 * 24 * time.Hour

func createFlow(s *state, c *call) (answer, *apiError) {
	f := c.form()
	fl := &flow{created: c.now, expires: c.now.Add(flowLife), redirectURI: f.uri("redirect_uri"), exitURI: f.uri("exit_uri"),
		language: f.text("language", 10), autoFulfil: f.flag("auto_fulfil", true), lockCurrency: f.flag("lock_currency", false),
		lockCustomer: f.flag("lock_customer_details", false), lockAccount: f.flag("lock_bank_account", false),
		showButtons: f.flag("show_redirect_buttons", false), successButton: f.flag("show_success_redirect_button", false),
		skipSuccess: f.flag("skip_success_screen", false), prefilled: readPrefilled(f)}
	f.skip("customer_details_captured", "prefilled_bank_account")
	links, _ := f.object("links")
	fl.request = links.required("billing_request", text.Max)
	links.closed()
	f.closed()
	if fl.lockCustomer && (fl.prefilled["given_name"] == "" || fl.prefilled["family_name"] == "" || fl.prefilled["email"] == "") {
		f.fault("lock_customer_details", "needs a prefilled_customer with given_name, family_name and email")
	}
	if err := f.err(); err != nil {
		return answer{}, err
	}
	b, ok := s.requests[fl.request]
	if !ok {
		return answer{}, notFound()
	}
	if b.over() || b.status == requestFulfilling {
		return answer{}, wrongState("billing_request_not_pending", "The billing request is "+b.status+" and takes no more flows")
	}
	fl.id = s.newID("BRF")
	fl.url = c.base + flowPath + fl.id
	s.flows[fl.id] = fl
	s.happened(c.now, b, "flow_created", cause{origin: byAPI, flow: fl.id})
	return answer{http.StatusCreated, "billing_request_flows", fl.toWire(), fl.id}, nil
}

// prefillable lists the fields of a customer that a flow may come with.
var prefillable = []string{"given_name", "family_name", "company_name", "address_line1", "address_line2", "address_line3", "city",
	"postal_code", "region", "country_code"}

// readPrefilled reads what the hosted page is to know already of the customer.
func readPrefilled(f form) map[string]string {
	person, ok := f.object("prefilled_customer")
	if !ok {
		return nil
	}
	values := map[string]string{"email": person.email("email")}
	for _, name := range prefillable {
		values[name] = person.text(name, text.Max)
	}
	person.skip("danish_identity_number", "swedish_identity_number", "bank_code")
	person.closed()
	return withoutEmpty(values)
}
