package conformance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// body is a request's body: the JSON of each field, by its dotted path.
type body map[string]string

// with returns the body with other fields: paths and their JSON in turn, "" for a field that is left out.
func (b body) with(changes ...string) body {
	b = maps.Clone(b)
	for i := 0; i < len(changes); i += 2 {
		if b[changes[i]] = changes[i+1]; changes[i+1] == "" {
			delete(b, changes[i])
		}
	}
	return b
}

// String returns the JSON text of the body.
func (b body) String() string {
	sections := map[string][]string{}
	for _, path := range slices.Sorted(maps.Keys(b)) {
		section, field, _ := strings.Cut(path, ".")
		sections[section] = append(sections[section], strconv.Quote(field)+": "+b[path])
	}
	var members []string
	for _, section := range slices.Sorted(maps.Keys(sections)) {
		members = append(members, fmt.Sprintf("%q: {%s}", section, strings.Join(sections[section], ", ")))
	}
	return "{" + strings.Join(members, ", ") + "}"
}

const studentEmail = "conformance@students.example.ac.nz"

// createBody returns a valid create of an order.
func (r *run) createBody(order string) body {
	b := body{
		"provider.provider_code": strconv.Quote(r.Provider), "provider.provider_order_id": strconv.Quote(order),
		"student.first_name": `"Mere"`, "student.last_name": `"Kōnae"`, "student.email": strconv.Quote(studentEmail),
		"plan.payment_frequency":  strconv.Quote(r.frequency),
		"plan.first_payment_date": strconv.Quote(r.started.AddDate(0, 1, 0).Format(time.DateOnly)),
	}
	if r.Course != "" {
		return b.with("course.course_code", strconv.Quote(r.Course))
	}
	return b.with("course.course_name", `"Certificate of Conformance"`, "pricing.course_price", "1250.00", "pricing.amount_to_finance", "1000.00",
		"pricing.upfront_payment", "250.00", "plan.payment_type", `"interest_free_payment_plan"`, "plan.number_of_instalments", "3",
		"plan.instalment_amount", "333.33", "plan.final_instalment_amount", "333.34")
}

// create sends a create.
func (t *trial) create(b body, headers ...string) answer {
	return t.post(apiclient.CheckoutsPath, b.String(), headers...)
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
func (a answer) confirmBody() body {
	quoted := func(path string) string { return strconv.Quote(a.String(path)) }
	b := body{
		"provider.provider_code": quoted("provider.provider_code"), "provider.provider_order_id": strconv.Quote(a.order()),
		"checkout.checkout_id": quoted("checkout.checkout_id"), "checkout.checkout_token": quoted("direct_debit.token"),
		"checkout.opportunity_id": quoted("records.opportunity_id"), "checkout.dda_id": quoted("direct_debit.dda_id"),
		"payment.payment_method": `"service_payment_plan"`, "payment.first_payment_date": quoted("plan.first_payment_date"),
	}
	for _, declared := range declarations {
		b[declared] = "true"
	}
	return b
}

// confirm sends a confirm of the checkout of a create's answer.
func (t *trial) confirm(created answer, b body) answer {
	return t.post(created.CheckoutPath()+apiclient.ConfirmSuffix, b.String())
}
