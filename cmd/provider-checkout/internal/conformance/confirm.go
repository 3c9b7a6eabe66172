package conformance

import (
	"net/http"
	"slices"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// ofConfirm checks confirms that are refused, and the payer's setup (sections 2.4 and 3).
func ofConfirm() []check {
	return []check{
		{"7", "409 DIRECT_DEBIT_SETUP_INCOMPLETE: confirm before setup_complete is true.", opened, func(t *trial) {
			t.confirm(t.first, t.first.confirmBody()).refused("DIRECT_DEBIT_SETUP_INCOMPLETE")
			t.get(t.first.CheckoutPath()).has("checkout.status", open)
		}},
		{"7", "409 CONFLICT: confirm identifiers do not match the stored checkout.", opened, func(t *trial) {
			for _, field := range identifiers {
				t.confirm(t.first, t.first.confirmBody().with(field, `"conformance"`)).refused("CONFLICT")
			}
		}},
		{"2.4", "deposit_confirmed and the three declarations must be true.", opened, func(t *trial) {
			for _, field := range declarations {
				t.refusesConfirm(field, "false", "", `"true"`, "1")
			}
		}},
		{"2.4", "Confirm's identifiers, payment_method and first_payment_date are required.", opened, func(t *trial) {
			for _, field := range append(identifiers, "payment.payment_method", "payment.first_payment_date") {
				t.refusesConfirm(field, "")
			}
			t.refusesConfirm("payment.payment_method", `"cash"`)
			t.refusesConfirm("payment.first_payment_date", `"2027-02-30"`)
			t.post(unknown+apiclient.ConfirmSuffix, string(t.first.confirmBody().with("checkout.dda_id", ""))).invalid("checkout.dda_id")
		}},
		{"3", "Payer completes bank setup: setup_complete is true; the status is still direct_debit_setup_required.", opened, setsUp},
	}
}

// refusesConfirm wants confirms refused for each wrong value of a field.
func (t *trial) refusesConfirm(field string, wrong ...string) {
	for _, value := range wrong {
		t.confirm(t.first, t.first.confirmBody().with(field, value)).invalid(field)
	}
}

const noScenarios = "it needs a payer, and this deployment has no scenarios (/sandbox/v1) to play one"

// play has a scenario of the sandbox happen to the checkout of a create's answer.
func (t *trial) play(created answer, scenario string) answer {
	return t.post("/sandbox/v1/checkouts/"+created.String("checkout.checkout_id")+"/scenarios", `{"scenario": "`+scenario+`"}`)
}

// setsUp has a payer set up a checkout, and polls it.
func setsUp(t *trial) {
	created := t.another()
	if created.String("checkout.checkout_id") == "" {
		return
	}
	played := t.play(created, "setup_succeeds")
	if played.Status == http.StatusNotFound && played.String("error.code") != "CHECKOUT_NOT_FOUND" {
		t.noPayer = noScenarios
		t.skip(noScenarios)
		return
	}
	played.is(http.StatusOK)
	a := t.get(created.CheckoutPath())
	if a.SetupComplete() {
		t.ready = created
	}
	a.has("direct_debit.setup_complete", true).has("checkout.status", open).has("direct_debit.billing_request_status", "fulfilled")
	a.hasMandate()
	a.has("direct_debit.authorised", a.String("direct_debit.authorisation_status") == "Authorised")
}

// loses has the mandate of a checkout fail before its confirm and after it.
func loses(t *trial) {
	created := t.another()
	for _, status := range []string{"failed", "cancelled", "suspended_by_payer"} {
		t.play(created, "mandate_"+status).is(http.StatusOK)
		t.get(created.CheckoutPath()).has("checkout.status", open).has("direct_debit.mandate_status", status)
		t.confirm(created, created.confirmBody()).refused("DIRECT_DEBIT_SETUP_INCOMPLETE")
	}
	t.play(created, "mandate_active").is(http.StatusOK)
	t.confirm(created, created.confirmBody()).is(http.StatusOK).has("already_confirmed", false)
	t.play(created, "mandate_failed").is(http.StatusOK)
	t.get(created.CheckoutPath()).has("checkout.status", "confirmed").has("direct_debit.mandate_status", "failed")
	t.confirm(created, created.confirmBody()).is(http.StatusOK).has("already_confirmed", true)
}

// hasMandate wants the status of a mandate with which a confirm is taken.
func (a answer) hasMandate() {
	a.want(slices.Contains([]string{"pending_submission", "submitted", "active"}, a.String("direct_debit.mandate_status")),
		"direct_debit.mandate_status is pending_submission, submitted or active")
}

// ofAgreement checks a confirm and its repeats (section 2.5).
func ofAgreement() []check {
	return []check{
		{"3", "POST confirm, setup_complete, identifiers match, all declarations true: confirmed; enrolment complete.", setup, func(t *trial) {
			a := t.confirm(t.ready, t.ready.confirmBody()).is(http.StatusOK)
			if a.Status == http.StatusOK {
				t.confirmed = a
			}
			a.has("success", true).has("checkout.status", "confirmed").has("checkout.id", t.ready.String("checkout.checkout_id"))
			a.has("enrolment.status", "complete").has("direct_debit.setup_complete", true).has("already_confirmed", false).hasMandate()
			a.texts("agreement.id", "agreement.number")
		}},
		{"4", "When already confirmed, return 200 with already_confirmed true and the existing agreement references.", agreement, func(t *trial) {
			repeat := t.ready.confirmBody()
			changed := repeat.with("checkout.checkout_token", `"confirmed"`, "payment.first_payment_date", `"2199-12-31"`)
			for _, b := range []body{repeat, changed} { // neither the token nor the date of a repeat is looked at
				a := t.confirm(t.ready, b).is(http.StatusOK).has("already_confirmed", true)
				for _, path := range []string{"checkout.status", "checkout.id", "enrolment.status", "agreement.id", "agreement.number",
					"agreement.pdf_generated"} {
					a.has(path, t.confirmed.String(path))
				}
			}
			for _, id := range identifiers[:4] {
				t.confirm(t.ready, repeat.with(id, `"conformance"`)).refused("CONFLICT")
			}
		}},
		{"3", "A confirmed checkout stays confirmed: GET answers it, and a replay of its create creates nothing.", agreement, func(t *trial) {
			t.get(t.ready.CheckoutPath()).has("checkout.status", "confirmed").has("direct_debit.setup_complete", true)
			a := t.create(t.createBody(t.ready.order())).is(http.StatusOK).has("idempotent_replay", true)
			a.has("checkout.checkout_id", t.ready.String("checkout.checkout_id")).has("checkout.status", "confirmed")
			a.want(a.String("direct_debit.setup_url")+a.String("direct_debit.token") == "", "no setup_url and no token")
			t.counts(t.ready.order(), 1)
		}},
		{"2.3", "direct_debit.authorised: true once authorisation_status is Authorised.", setup, func(t *trial) {
			created := t.another()
			t.play(created, "mandate_active").is(http.StatusOK)
			a := t.get(created.CheckoutPath()).has("direct_debit.mandate_status", "active")
			a.has("direct_debit.authorisation_status", "Authorised").has("direct_debit.authorised", true)
		}},
		{docs, "A confirm needs mandate_status pending_submission, submitted or active; a later one does not undo it.", setup, loses},
		{docs, "agreement.receipt is a signed receipt of the agreement, the same in the confirm, its repeats and every get.", agreement, receipt},
	}
}

// receipt checks the receipt of the agreement under the deployment's public key.
func receipt(t *trial) {
	text := t.confirmed.String("agreement.receipt")
	public := t.send(http.MethodGet, "/.well-known/provider-checkout/evidence/key", "")
	if text == "" && public.Status == http.StatusNotFound {
		t.skip("this deployment signs no receipts")
		return
	}
	keys, err := evidence.ParseKeys(public.Body)
	public.is(http.StatusOK).want(err == nil, "the public key of the evidence log")
	about, err := keys.OpenReceipt(text)
	t.confirmed.want(err == nil && about.Number == t.confirmed.String("agreement.number"), "a receipt of this agreement, signed by that key")
	t.confirm(t.ready, t.ready.confirmBody()).has("agreement.receipt", text)
	t.get(t.ready.CheckoutPath()).has("agreement.receipt", text)
}

const because = `{"reason": "conformance"}`

// cancel sends a cancel of the checkout of a create's answer.
func (t *trial) cancel(created answer, body string) answer {
	return t.post(created.CheckoutPath()+"/cancel", body)
}

// ofCancel checks cancels (documentation).
func ofCancel() []check {
	return []check{
		{docs, "A checkout is cancelled with a reason of 1 to 255 characters; a repeat has the same answer.", opened, func(t *trial) {
			created := t.another()
			for _, wrong := range []string{`{}`, `{"reason": ""}`, `{"reason": ` + long + `}`} {
				t.cancel(created, wrong).invalid("reason")
			}
			a := t.cancel(created, because).is(http.StatusOK).has("checkout.checkout_id", created.String("checkout.checkout_id"))
			a.has("checkout.status", "cancelled").has("checkout.cancelled_by", "provider")
			again := t.cancel(created, `{"reason": "another"}`).is(http.StatusOK)
			again.want(again.Body == a.Body, "the answer of the first cancel: %s", a.Body)
			t.get(created.CheckoutPath()).has("checkout.status", "cancelled")
		}},
		{docs, "409 CHECKOUT_CANCELLED: cancelled before the confirm; the order id stays taken.", opened, func(t *trial) {
			created := t.another()
			t.cancel(created, because)
			t.confirm(created, created.confirmBody()).refused("CHECKOUT_CANCELLED")
			t.create(t.createBody(created.order())).refused("CHECKOUT_CANCELLED")
			t.counts(created.order(), 1)
		}},
		{docs, "A confirmed checkout is not cancelled: 409 CONFLICT.", agreement, func(t *trial) {
			t.cancel(t.ready, because).refused("CONFLICT")
			t.get(t.ready.CheckoutPath()).has("checkout.status", "confirmed")
		}},
	}
}
