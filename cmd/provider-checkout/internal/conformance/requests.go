package conformance

import (
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// body is the JSON text of a request's body.
type body string

// with returns the body with other fields: dotted paths and their JSON in turn, "" for a field that is left out.
func (b body) with(changes ...string) body { return body(apiclient.With(string(b), changes...)) }

const studentEmail = "conformance@students.example.ac.nz"

// createBody returns a valid create of an order.
func (t *trial) createBody(order string) body {
	return body(apiclient.CreateRequest{ProviderCode: t.Provider, OrderID: order, FirstName: "Mere", LastName: "Kōnae",
		Email: studentEmail, CourseCode: t.Course, Frequency: t.frequency,
		FirstPayment: t.started.AddDate(0, 1, 0).Format(time.DateOnly)}.String())
}

// create sends a create.
func (t *trial) create(b body, headers ...string) answer {
	return t.post(apiclient.CheckoutsPath, string(b), headers...)
}

// another opens a further checkout.
func (t *trial) another(headers ...string) answer {
	a := t.create(t.createBody(t.order()), headers...)
	a.want(a.String("checkout.checkout_id") != "", "a new checkout")
	return a
}

// order returns the order id of a create's answer.
func (a answer) order() string { return a.String("provider.provider_order_id") }

// The fields of a confirm that must match the checkout, and the fields that must be true.
var (
	identifiers = []string{"provider.provider_order_id", "checkout.checkout_id", "checkout.opportunity_id", "checkout.dda_id",
		"checkout.checkout_token"}

	declarations = []string{"payment.deposit_confirmed", "declarations.payment_plan_accepted", "declarations.information_confirmed",
		"declarations.privacy_consent_accepted"}
)

// confirmBody returns the valid confirm of a create's answer.
func (a answer) confirmBody() body { return body(a.ConfirmBody()) }

// confirm sends a confirm of the checkout of a create's answer.
func (t *trial) confirm(created answer, b body) answer {
	return t.post(created.CheckoutPath()+apiclient.ConfirmSuffix, string(b))
}
