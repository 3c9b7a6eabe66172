package gocardlesstest

import (
	"time"

	"github.com/provider-checkout/provider-checkout/money/text"
)

// flowLife is the time for which a flow can be used.
const flowLife = 7 * 24 * time.Hour

// Flags of a flow that change something here.
const (
	autoFulfil   = "auto_fulfil"
	lockCustomer = "lock_customer_details"
)

func createFlow(s *state, c *call) (answer, *apiError) {
	f := c.form()
	fl := &flow{created: c.now, expires: c.now.Add(flowLife), redirectURI: f.uri("redirect_uri"), exitURI: f.uri("exit_uri"),
		language: f.text("language", 10), prefilled: readPrefilled(f), flags: map[string]bool{}}
	for _, name := range []string{autoFulfil, lockCustomer, "lock_currency", "lock_bank_account", "show_redirect_buttons",
		"show_success_redirect_button", "skip_success_screen"} {
		fl.flags[name] = f.flag(name, name == autoFulfil)
	}
	f.skip("customer_details_captured", "prefilled_bank_account")
	links, _ := f.object("links")
	fl.request = links.required("billing_request", text.Max)
	links.close()
	if fl.flags[lockCustomer] && (fl.prefilled["given_name"] == "" || fl.prefilled["family_name"] == "" || fl.prefilled["email"] == "") {
		f.fault(lockCustomer, "needs a prefilled_customer with given_name, family_name and email")
	}
	if err := f.err(); err != nil {
		return answer{}, err
	}
	b, ok := s.requests[fl.request]
	if !ok {
		return answer{}, notFound()
	}
	if err := b.notPast("billing_request_not_pending"); err != nil {
		return answer{}, err
	}
	fl.id = s.newID("BRF")
	fl.url = c.base + flowPath + fl.id
	s.flows[fl.id] = fl
	s.happened(c.now, b, "flow_created", cause{origin: byAPI, flow: fl.id})
	return answer{id: fl.id, body: fl.toWire()}, nil
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
	person.close()
	return withoutEmpty(values)
}
