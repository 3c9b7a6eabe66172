package conformance

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// ofIntent checks replays and conflicts (section 4, idempotency rules for create).
func ofIntent() []check {
	return []check{
		{"4, rule 2", "Intent unchanged: 200 with idempotent_replay and idempotency_key; no additional records are created.", opened, func(t *trial) {
			t.replays(t.create(t.createBody(t.first.order())), t.Provider+":"+t.first.order())
			t.counts(t.first.order(), 1)
		}},
		{"4, rule 1", "The key is the Idempotency-Key header when present; otherwise <provider_code>:<provider_order_id>.", opened, func(t *trial) {
			key := t.order()
			created := t.another("Idempotency-Key", key)
			t.create(t.createBody(created.order()), "Idempotency-Key", key).is(http.StatusOK).has("idempotency_key", key)
			for _, bound := range []string{key, t.Provider + ":" + t.first.order()} {
				t.create(t.createBody(t.order()), "Idempotency-Key", bound).refused("IDEMPOTENCY_CONFLICT")
			}
		}},
		{docs, "The same order under another key is a replay, and binds nothing.", opened, func(t *trial) {
			key := t.order()
			t.replays(t.create(t.createBody(t.first.order()), "Idempotency-Key", key), key)
			t.another("Idempotency-Key", key)
		}},
		{"8", "Idempotency-Key header length: max 255 characters.", opened, func(t *trial) {
			b, key := t.createBody(t.first.order()), strings.Repeat("k", 255)
			t.create(b, "Idempotency-Key", key).is(http.StatusOK).has("idempotency_key", key)
			for _, wrong := range []string{key + "k", "", "a b"} {
				t.create(b, "Idempotency-Key", wrong).invalid("Idempotency-Key")
			}
		}},
		{"4, rule 4", "Canonical intent is compared field by field, not by JSON ordering; the student is not compared.", opened, func(t *trial) {
			text := string(t.createBody(t.first.order()).with("student.first_name", `"Ana"`))
			before, student, _ := strings.Cut(strings.Trim(text, "{"), `,"student"`)
			t.replays(t.post(apiclient.CheckoutsPath, "{\n\t\"student\""+strings.TrimSuffix(student, "}")+",\n"+before+"}"), t.Provider+":"+t.first.order())
		}},
		{"4, rule 5", "A materially different intent returns 409 IDEMPOTENCY_CONFLICT and creates or replaces nothing.", opened, conflicts},
		{"4, rule 3", "A replay may return a fresh setup_url and token; the latest pair is the one to use.", opened, func(t *trial) {
			a := t.create(t.createBody(t.first.order())).is(http.StatusOK)
			a.texts("direct_debit.setup_url", "direct_debit.token")
			a.want(strings.HasSuffix(a.SetupURL(), "token="+a.String("direct_debit.token")), "a setup_url with the token beside it")
		}},
	}
}

// replays wants an answer to be a replay of the first create, under an idempotency key.
func (t *trial) replays(a answer, key string) {
	a.is(http.StatusOK).has("success", true).has("idempotent_replay", true).has("idempotency_key", key)
	for _, id := range []string{"checkout.checkout_id", "records.contact_id", "records.opportunity_id", "records.dda_id",
		"provider", "pricing", "plan"} {
		a.has(id, t.first.String(id))
	}
}

// conflicts sends other intents for the order of the first create.
func conflicts(t *trial) {
	b := t.createBody(t.first.order())
	others := [][]string{{"plan.first_payment_date", strconv.Quote(t.started.AddDate(0, 2, 0).Format(time.DateOnly))}}
	if t.Course == "" {
		others = append(others, []string{"course.course_name", `"Another course"`}, []string{"plan.payment_frequency", `"Monthly"`},
			[]string{"pricing.course_price", "1260.00", "pricing.upfront_payment", "260.00"},
			[]string{"plan.number_of_instalments", "2", "plan.instalment_amount", "500.00", "plan.final_instalment_amount", ""})
	}
	for _, other := range others {
		a := t.create(b.with(other...)).refused("IDEMPOTENCY_CONFLICT")
		a.want(strings.Contains(a.named(), other[0]), "details that name %s", other[0])
	}
	t.create(b).is(http.StatusOK).has("plan.first_payment_date", t.first.String("plan.first_payment_date"))
	t.counts(t.first.order(), 1)
}

// ofGet checks polls before the setup (section 2.3).
func ofGet() []check {
	return []check{
		{"2.3", "GET: checkout_id, status, setup_complete, billing_request_status, authorisation_status, authorised, dda_id.", opened, func(t *trial) {
			a := t.get(t.first.CheckoutPath()).is(http.StatusOK).has("success", true)
			a.has("checkout.checkout_id", t.first.String("checkout.checkout_id")).has("checkout.status", open)
			a.has("direct_debit.setup_complete", false).has("direct_debit.authorised", false)
			a.has("direct_debit.dda_id", t.first.String("direct_debit.dda_id"))
			a.has("direct_debit.billing_request_status", "pending").has("direct_debit.authorisation_status", "Customer In Progress")
			a.want(a.At("direct_debit.mandate_status") == nil, "no direct_debit.mandate_status")
		}},
		{"7", "404 CHECKOUT_NOT_FOUND: unknown checkout.", opened, func(t *trial) {
			others := apiclient.CheckoutsPath + "/NOBODY" + strings.TrimPrefix(t.first.String("checkout.checkout_id"), t.Provider)
			for _, path := range []string{unknown, t.first.CheckoutPath() + "x", others} {
				t.get(path).refused("CHECKOUT_NOT_FOUND")
				t.post(path+apiclient.ConfirmSuffix, t.first.ConfirmBody()).refused("CHECKOUT_NOT_FOUND")
				t.post(path+"/cancel", because).refused("CHECKOUT_NOT_FOUND")
			}
		}},
	}
}
