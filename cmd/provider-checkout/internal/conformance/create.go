package conformance

import (
	"cmp"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/money"
)

const open = "direct_debit_setup_required"

// ofCreate checks a first create (sections 2.1 and 2.2).
func ofCreate() []check {
	return []check{
		{"3", "POST create, valid request: direct_debit_setup_required; records created; setup URL and token issued.", sandbox, opens},
		{"2.2", "checkout_id has the shape <provider_code>-<digits>-<suffix>; dda_id is the same as records.dda_id.", opened, func(t *trial) {
			shape := regexp.MustCompile("^" + regexp.QuoteMeta(t.Provider) + `-\d+-[^-]+$`)
			t.first.want(shape.MatchString(t.first.String("checkout.checkout_id")), "such a checkout_id")
			t.first.has("direct_debit.dda_id", t.first.String("records.dda_id"))
		}},
		{"2.2", "setup_url has the shape {base_url}/api/dd-setup?token=<setup_token>, opened in the payer's browser.", opened, func(t *trial) {
			base := strings.TrimSuffix(t.send(http.MethodGet, apiclient.EnvironmentPath, "").String("api_base_url"), "/")
			t.first.has("direct_debit.setup_url", base+"/api/dd-setup?token="+t.first.String("direct_debit.token"))
			page := t.send(http.MethodGet, strings.TrimPrefix(t.first.SetupURL(), base), "", "Accept", "text/html").is(http.StatusOK)
			page.want(strings.HasPrefix(page.Header.Get("Content-Type"), "text/html"), "a page in HTML")
		}},
		{"2.2", "plan is the echo of the validated values, pricing that of the resolved ones.", opened, func(t *trial) {
			t.first.has("plan.payment_type", "interest_free_payment_plan").has("plan.payment_frequency", t.frequency)
			t.first.has("plan.first_payment_date", t.started.AddDate(0, 1, 0).Format(time.DateOnly))
			for field, sent := range map[string]any{"pricing.course_price": "1250.00", "pricing.amount_to_finance": "1000.00",
				"pricing.upfront_payment": "250.00", "plan.number_of_instalments": 3, "plan.instalment_amount": "333.33",
				"plan.final_instalment_amount": "333.34"} {
				t.first.want(t.Course != "" || t.first.String(field) == fmt.Sprint(sent), "%s is %v", field, sent)
			}
		}},
		{"2.1", "Regular instalments plus the final instalment sum exactly to the financed principal.", opened, sums},
		{docs, "A first create answers 201 with the Location of the checkout.", opened, func(t *trial) {
			t.first.is(http.StatusCreated)
			path := t.first.CheckoutPath()
			t.first.want(strings.HasSuffix(t.first.Header.Get("Location"), path), "Location: …%s", path)
		}},
		{docs, "direct_debit.expires_at: until when the link opens; next_poll_after: when to poll again.", opened, func(t *trial) {
			for _, a := range []answer{t.first, t.get(t.first.CheckoutPath())} {
				a.times("direct_debit.expires_at")
				seconds, err := strconv.Atoi(a.String("direct_debit.next_poll_after"))
				a.want(err == nil && seconds > 0, "direct_debit.next_poll_after is a number of seconds")
			}
		}},
		{"7", "400 VALIDATION_ERROR: missing or invalid fields.", opened, func(t *trial) {
			for _, field := range []string{"provider.provider_order_id", "student.first_name", "student.last_name", "student.email"} {
				t.refuses(field, "", "null", "7", `"a\nb"`, long)
			}
			t.refuses("student.email", `"mere"`, `"mere@example"`)
			t.refuses("plan.payment_type", `"interest_bearing"`)
			t.refuses("plan.payment_frequency", "", `"Daily"`)
			t.refuses("plan.first_payment_date", "", `"2027-02-30"`, `"01-02-2027"`, `"1999-12-31"`, `"2200-01-01"`)
		}},
		{docs, "In a request a null counts as an absent field and unknown fields are ignored.", opened, func(t *trial) {
			b := t.createBody(t.first.order())
			t.create(b.with("student.nickname", `"M"`, "conformance.unknown", "[1]", "course.nothing", "null")).is(http.StatusOK)
		}},
	}
}

// ofCatalogue checks creates of a provider with a catalogue (section 2.1).
func ofCatalogue() []check {
	return []check{
		{"2.1, rule 2", "course_price, instalment_amount and number_of_instalments must equal the resolved value.", opened, func(t *trial) {
			t.resolves("pricing.course_price", "plan.instalment_amount", "plan.number_of_instalments")
		}},
		{"2.1, rule 5", "A provider cannot override the catalogue: any other of its values must equal the resolved one too.", opened, func(t *trial) {
			t.resolves("pricing.amount_to_finance", "pricing.upfront_payment", "plan.final_instalment_amount")
			t.refuses("course.course_name", `"Conformance"`)
		}},
		{"2.1, rule 3", "An unknown, inactive, other-provider or wrong-environment course_code is refused.", opened, func(t *trial) {
			t.refuses("course.course_code", "", `"CONFORMANCE-UNKNOWN"`, strconv.Quote(" "+t.Course))
		}},
	}
}

// resolves wants creates refused for another value of a field than the resolved one, which is taken.
func (t *trial) resolves(fields ...string) {
	for _, field := range fields {
		resolved := cmp.Or(t.first.String(field), t.first.String("plan.instalment_amount")) // of a plan without a residual
		t.refuses(field, "1"+resolved)
		t.create(t.createBody(t.first.order()).with(field, resolved)).is(http.StatusOK)
	}
}

// ofFigures checks creates of a provider without a catalogue (section 2.1).
func ofFigures() []check {
	return []check{
		{"2.1, rule 4", "Invalid maths fails with 400 VALIDATION_ERROR before any financial record is created.", opened, func(t *trial) {
			for field, wrong := range map[string]string{"plan.final_instalment_amount": "333.35", "plan.instalment_amount": "333.34",
				"plan.number_of_instalments": "4", "pricing.course_price": "1250.01", "pricing.amount_to_finance": "999.99"} {
				order := t.order()
				a := t.create(t.createBody(order).with(field, wrong)).invalid()
				a.want(a.named() != "", "details that name a field")
				t.counts(order, 0)
			}
		}},
		{"2.1, rule 4", "Legacy providers omit course_code and send course_name, pricing.*, plan.*.", opened, func(t *trial) {
			t.refuses("course.course_code", `"CONFORMANCE"`)
			for _, field := range []string{"course.course_name", "pricing.course_price", "pricing.amount_to_finance", "pricing.upfront_payment",
				"plan.payment_type", "plan.number_of_instalments", "plan.instalment_amount"} {
				t.refuses(field, "")
			}
		}},
		{"8", "Amounts are JSON numbers in NZD, whole cents, up to 9,999,999.99.", opened, func(t *trial) {
			t.refuses("pricing.course_price", `"1250.00"`, "1250.001", "-1250", "10000000")
			t.replays(t.create(t.createBody(t.first.order()).with("pricing.course_price", "1.25e3")), t.Provider+":"+t.first.order())
		}},
	}
}

// long is a text of 256 characters in JSON.
var long = `"` + strings.Repeat("a", 256) + `"`

// opens makes the first checkout, at the first frequency that is offered.
func opens(t *trial) {
	order := t.order()
	var a answer
	for _, t.frequency = range []string{"Weekly", "Fortnightly", "Monthly"} {
		if a = t.create(t.createBody(order)); a.named() != "plan.payment_frequency" {
			break
		}
	}
	if a.named() == "course.course_code" {
		t.noCourse = true
		a.want(false, "a new checkout: give a course of the provider's catalogue as --course. The checks end here")
		return
	}
	if !a.want(a.String("checkout.checkout_id") != "", "a new checkout (--course is for a provider with a catalogue alone)") {
		return
	}
	t.first = a
	a.has("success", true).has("idempotent_replay", false)
	a.has("provider.provider_code", t.Provider).has("provider.provider_order_id", order)
	a.want(a.At("idempotency_key") == nil, "no idempotency_key, which is of replays")
	a.texts("records.contact_id", "records.opportunity_id", "records.dda_id", "direct_debit.setup_url", "direct_debit.token")
	a.has("checkout.status", open).has("checkout.requires_direct_debit", true).has("direct_debit.setup_complete", false)
}

// sums checks the maths of the first create's answer.
func sums(t *trial) {
	a := t.first
	cents := func(path string) money.Cents {
		amount, err := money.Parse(a.String(path))
		a.want(err == nil && amount.String() == a.String(path), "%s has two decimals", path)
		return amount
	}
	n, _ := strconv.Atoi(a.String("plan.number_of_instalments"))
	regular, financed := cents("plan.instalment_amount"), cents("pricing.amount_to_finance")
	last := regular
	if a.At("plan.final_instalment_amount") != nil {
		last = cents("plan.final_instalment_amount")
	}
	a.want(money.Cents(n-1)*regular+last == financed, "(n - 1) x instalment_amount + final_instalment_amount = amount_to_finance")
	a.want(financed+cents("pricing.upfront_payment") == cents("pricing.course_price"), "upfront_payment + amount_to_finance = course_price")
}

// refuses wants creates refused for each wrong value of a field; "" leaves the field out.
func (t *trial) refuses(field string, wrong ...string) {
	for _, value := range wrong {
		t.create(t.createBody(t.order()).with(field, value)).invalid(field)
	}
}

// counts wants a number of enrolments of an order.
func (t *trial) counts(order string, n int) {
	a := t.get(enrolments + "?provider_order_id=" + order).is(http.StatusOK)
	a.want(len(a.list("enrolments")) == n, "%d enrolments of the order", n)
}
