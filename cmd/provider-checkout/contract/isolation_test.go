package contract_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// Providers are isolated: what belongs to another provider is answered as if it did not exist.

// neighbours is the sandbox's configuration with MOA beside KOWHAI, which has a catalogue of its own.
var neighbours = strings.Replace(providers, `{"providers": [`, `{"providers": [{
	"provider_code": "MOA", "name": "Moa College", "account_id": "acc-moa", "environment": "sandbox",
	"active": true, "api_enabled": true, "webhook": {"url": "HOOKS/MOA", "signing_secret": "whsec_moa_0123456789abcdefgh"},
	"courses": [{"course_code": "MOADIP", "course_name": "Diploma of Moa", "course_price": 500.00, "upfront_payment": 0,
		"active": true, "environment": "sandbox", "plans": [{"payment_frequency": "Weekly", "number_of_instalments": 5}]}]},`, 1)

// createAt returns the create of an order at one of the neighbours.
func createAt(provider, id string) string {
	if provider == "TUI" {
		return order(legacyCreate, id)
	}
	body := strings.ReplaceAll(order(catalogueCreate, id), "KOWHAI", provider)
	return strings.ReplaceAll(body, "NZDIP", map[string]string{"KOWHAI": "NZDIP", "MOA": "MOADIP"}[provider])
}

// among opens a ready checkout at each of three neighbours, all under the same order id and Idempotency-Key.
func among(t *testing.T, test func(t *testing.T, s *suite, ready map[string]response)) {
	contract(t, func(t *testing.T, s *suite) {
		s.Configure(t, neighbours)
		s.Keys["MOA"] = sandbox.IssueKey(t, s.Store, "MOA", catalogue.Sandbox)
		ready := make(map[string]response)
		for _, code := range []string{"KOWHAI", "MOA", "TUI"} {
			created := s.Post(t, code, "/v1/provider-checkouts", createAt(code, "SAME"), "Idempotency-Key", "same")
			if created.Status != http.StatusCreated {
				t.Fatalf("%s: create answers %d %s", code, created.Status, created.Body)
			}
			s.SetUp(t, created)
			ready[code] = created
		}
		test(t, s, ready)
	})
}

// pairs calls f for every pair of different providers.
func pairs(t *testing.T, ready map[string]response, f func(t *testing.T, me, other string)) {
	for me := range ready {
		for other := range ready {
			if me != other {
				t.Run(me+" with what is "+other+"'s", func(t *testing.T) { f(t, me, other) })
			}
		}
	}
}

// anonymous returns an answer without its request id.
func anonymous(r response) string {
	return fmt.Sprint(r.Status, " ", strings.ReplaceAll(r.Body, r.Header.Get("X-Request-Id"), "req_…"))
}

// alike checks that two requests get the same refusal.
func alike(t *testing.T, what string, got, want response) {
	t.Helper()
	if got.Status < 400 || anonymous(got) != anonymous(want) {
		t.Errorf("%s: answer %s\nwant the same as for one that does not exist: %s", what, anonymous(got), anonymous(want))
	}
}

func TestContract5AnotherProvidersCheckoutIsAnsweredAsAnUnknownOne(t *testing.T) {
	among(t, func(t *testing.T, s *suite, ready map[string]response) {
		before := s.Records(t)
		pairs(t, ready, func(t *testing.T, me, other string) {
			theirs := ready[other]
			nowhere := func(provider string) string { return "/v1/provider-checkouts/" + provider + "-1-aaaaaaaaaaaaaaaa" }

			alike(t, "get", s.Get(t, me, theirs.CheckoutPath()), s.Get(t, me, nowhere(other)))
			refused(t, s.Get(t, me, theirs.CheckoutPath()), http.StatusNotFound, "CHECKOUT_NOT_FOUND")

			asMe := set(t, theirs.ConfirmBody(), "provider.provider_code", fmt.Sprintf("%q", me))
			for name, body := range map[string]string{"with their ids": asMe, "with my ids": ready[me].ConfirmBody()} {
				got := s.Post(t, me, theirs.CheckoutPath()+"/confirm", body)
				alike(t, "confirm "+name, got, s.Post(t, me, nowhere(other)+"/confirm", body))
				refused(t, got, http.StatusNotFound, "CHECKOUT_NOT_FOUND")
			}
			refused(t, s.Post(t, me, theirs.CheckoutPath()+"/confirm", theirs.ConfirmBody()),
				http.StatusForbidden, "PROVIDER_KEY_MISMATCH", "provider.provider_code")

			for field, answered := range map[string]string{"checkout.checkout_id": "checkout.checkout_id", "checkout.checkout_token": "direct_debit.token",
				"checkout.opportunity_id": "records.opportunity_id", "checkout.dda_id": "direct_debit.dda_id"} {
				confirm := func(value string) response {
					return s.Post(t, me, ready[me].CheckoutPath()+"/confirm", set(t, ready[me].ConfirmBody(), field, fmt.Sprintf("%q", value)))
				}
				alike(t, field, confirm(theirs.String(answered)), confirm("unknown"))
			}
		})
		unchanged(t, s, before)
	})
}

func TestContract4TheSameOrderAndKeyAtTwoProvidersNeverMeet(t *testing.T) {
	among(t, func(t *testing.T, s *suite, ready map[string]response) {
		pairs(t, ready, func(t *testing.T, me, other string) {
			for _, path := range []string{"checkout.checkout_id", "records.contact_id", "records.opportunity_id",
				"records.dda_id", "direct_debit.token", "direct_debit.setup_url"} {
				if mine := ready[me].String(path); mine == "" || mine == ready[other].String(path) {
					t.Errorf("%s is %q at both", path, mine)
				}
			}
		})
		for me := range ready {
			confirmed := s.Confirm(t, ready[me])
			if confirmed.Status != http.StatusOK || confirmed.At("already_confirmed") != false {
				t.Errorf("%s: confirm answers %d %s", me, confirmed.Status, confirmed.Body)
			}
			replayed := s.Post(t, me, "/v1/provider-checkouts", createAt(me, "SAME"), "Idempotency-Key", "same")
			if replayed.Status != http.StatusOK || replayed.At("checkout.checkout_id") != ready[me].At("checkout.checkout_id") {
				t.Errorf("%s: a replay answers %d %s", me, replayed.Status, replayed.Body)
			}
		}
		for _, hook := range s.Receiver.Deliveries() {
			if code := hook.JSON.Text("data.provider_code"); code != hook.Provider ||
				hook.JSON.Text("data.checkout_id") != ready[code].String("checkout.checkout_id") {
				t.Errorf("%s was sent %s", hook.Provider, hook.Body)
			}
		}
		if got := len(s.Receiver.Deliveries()); got != 3*len(ready) {
			t.Errorf("%d events were sent, want %d", got, 3*len(ready))
		}
	})
}
