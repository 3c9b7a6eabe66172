package upgrade_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

func TestPollAnswersWhatIsOnRecord(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		for order, was := range s.was.orders {
			t.Run(order, func(t *testing.T) {
				agrees(t, s.get(t, order), http.StatusOK, was.poll())
			})
		}
	})
}

// The processor of the earlier version kept no records of its own.
func TestSetupsOfTheEarlierVersionMakeProgress(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		s.Clock.Forward(time.Hour)
		for order, mandate := range map[string]any{"SETUP-1": "active", "CONFIRMED-1": "active", "LEGACY-CONFIRMED": "active",
			"DEAD-1": "failed", "OPEN-1": nil, "BEGUN-1": nil} {
			t.Run(order, func(t *testing.T) {
				active := mandate == "active"
				agrees(t, s.get(t, order), http.StatusOK, map[string]any{"direct_debit.setup_complete": active,
					"direct_debit.authorised": active, "direct_debit.mandate_status": mandate})
			})
		}
	})
}

func TestCreateIsAReplay(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		for _, tt := range []struct{ name, order, key, answered string }{
			{"an open order", "OPEN-1", "", "KOWHAI:OPEN-1"},
			{"under its default key", "OPEN-1", "KOWHAI:OPEN-1", "KOWHAI:OPEN-1"},
			{"under a key that it did not have", "OPEN-1", "a-new-key", "a-new-key"},
			{"an open order without a catalogue", "LEGACY-OPEN", "", "TUI:LEGACY-OPEN"},
			{"an order under its key", "OPEN-KEY", "key-of-open", "key-of-open"},
			{"and without it", "OPEN-KEY", "", "KOWHAI:OPEN-KEY"},
			{"a setup that was begun", "BEGUN-1", "", "KOWHAI:BEGUN-1"},
			{"a setup that is complete", "SETUP-1", "", "KOWHAI:SETUP-1"},
			{"a setup whose mandate failed", "DEAD-1", "", "KOWHAI:DEAD-1"},
			{"a confirmed order", "CONFIRMED-1", "", "KOWHAI:CONFIRMED-1"},
			{"a confirmed order under its key", "LEGACY-CONFIRMED", "legacy-key", "legacy-key"},
			{"and without it", "LEGACY-CONFIRMED", "", "TUI:LEGACY-CONFIRMED"},
			{"an order whose event failed", "FAILED-EVENT", "", "RATA:FAILED-EVENT"},
			{"an order whose default key another has", "SHADOW-A", "", "KOWHAI:SHADOW-A"},
			{"and spelled out", "SHADOW-A", "KOWHAI:SHADOW-A", "KOWHAI:SHADOW-A"},
			{"the order that has the key of another", "SHADOW-B", "KOWHAI:SHADOW-A", "KOWHAI:SHADOW-A"},
			{"and without it", "SHADOW-B", "", "KOWHAI:SHADOW-B"},
			{"and under its default key", "SHADOW-B", "KOWHAI:SHADOW-B", "KOWHAI:SHADOW-B"},
		} {
			t.Run(tt.name+", "+tt.order, func(t *testing.T) {
				was := s.was.orders[tt.order]
				opened := was["checkout"]
				want := map[string]any{
					"idempotent_replay":           true,
					"idempotency_key":             tt.answered,
					"provider.provider_order_id":  tt.order,
					"records.contact_id":          opened.At("contact_id"),
					"records.opportunity_id":      opened.At("opportunity_id"),
					"records.dda_id":              opened.At("dda_id"),
					"checkout.checkout_id":        was.id(),
					"checkout.status":             opened.At("status"),
					"direct_debit.setup_complete": was["dda"].At("setup_complete"),
					"direct_debit.dda_id":         opened.At("dda_id"),
					"direct_debit.token":          s.was.tokens[tt.order],
					"direct_debit.setup_url":      s.link(tt.order),
					"pricing":                     opened.At("pricing"),
					"plan":                        opened.At("plan"),
				}
				if was.confirmed() { // there is nothing left to set up
					want["direct_debit.token"], want["direct_debit.setup_url"] = nil, nil
				}
				agrees(t, s.create(t, was.create(t), tt.key), http.StatusOK, want)
			})
		}
		s.keepsItsOrders(t)
		s.delivered(t)
	})
}

// keepsItsOrders checks that the store has the checkouts of the earlier version, and no other.
func (s suite) keepsItsOrders(t *testing.T) {
	t.Helper()
	var got, want []string
	for _, r := range s.Records(t) {
		got = append(got, r.Checkout.ID)
	}
	for _, line := range s.was.export {
		if line.Text("kind") == "checkout" {
			want = append(want, line.Text("checkout_id"))
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("on record are %q, want %q", got, want)
	}
}

func TestAnotherIntentIsAConflict(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		for order, was := range s.was.orders {
			t.Run(order, func(t *testing.T) {
				other := sandbox.Set(t, was.create(t), "plan.first_payment_date", `"2027-02-02"`)
				refused(t, s.create(t, other, was["checkout"].Text("idempotency_key")),
					"IDEMPOTENCY_CONFLICT", "plan.first_payment_date")
			})
		}
		for _, tt := range []struct{ order, path, raw string }{
			{"LEGACY-OPEN", "course.course_name", `"Carpentry, Level 5"`},
			{"OPEN-KEY", "plan.payment_frequency", `"Weekly"`},
		} {
			t.Run(tt.order+" with another "+tt.path, func(t *testing.T) {
				r := s.create(t, sandbox.Set(t, s.was.orders[tt.order].create(t), tt.path, tt.raw), "")
				if r.Status != http.StatusConflict || r.String("error.code") != "IDEMPOTENCY_CONFLICT" {
					t.Errorf("answer %d %s, want 409 IDEMPOTENCY_CONFLICT", r.Status, r.Body)
				}
			})
		}
		s.keepsItsOrders(t)
	})
}

func TestKeyOfAnOrderIsNoOtherOrders(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		for _, tt := range []struct{ name, order, like, key string }{
			{"a header's key with an order on record", "OPEN-1", "OPEN-1", "key-of-open"},
			{"with an order that has a key", "SHADOW-B", "SHADOW-B", "key-of-open"},
			{"with a confirmed order", "CONFIRMED-1", "CONFIRMED-1", "key-of-open"},
			{"with a new order", "NEW-1", "OPEN-1", "key-of-open"},
			{"of a provider without a catalogue", "LEGACY-OPEN", "LEGACY-OPEN", "legacy-key"},
			{"a default key, which the earlier version did not keep", "NEW-1", "OPEN-1", "KOWHAI:OPEN-1"},
			{"a key that two orders share", "NEW-1", "OPEN-1", "KOWHAI:SHADOW-A"},
			{"with a third order", "OPEN-1", "OPEN-1", "KOWHAI:SHADOW-A"},
		} {
			t.Run(tt.name+", "+tt.order, func(t *testing.T) {
				refused(t, s.create(t, s.like(t, tt.like, tt.order), tt.key),
					"IDEMPOTENCY_CONFLICT", "Idempotency-Key", "provider.provider_order_id")
			})
		}
		s.keepsItsOrders(t)
	})
}

func TestNewOrdersAreOpened(t *testing.T) {
	upgraded(t, func(t *testing.T, s suite) {
		for _, tt := range []struct{ name, order, like, key string }{
			{"without a key", "NEW-1", "OPEN-1", ""},
			{"under a key that another provider has", "NEW-2", "LEGACY-OPEN", "key-of-open"},
			{"where an event failed before", "NEW-3", "FAILED-EVENT", ""},
		} {
			t.Run(tt.name, func(t *testing.T) {
				body := s.like(t, tt.like, tt.order)
				opened := s.create(t, body, tt.key)
				agrees(t, opened, http.StatusCreated, map[string]any{"idempotent_replay": false, "provider.provider_order_id": tt.order})
				agrees(t, s.create(t, body, tt.key), http.StatusOK,
					map[string]any{"idempotent_replay": true, "checkout.checkout_id": opened.At("checkout.checkout_id")})
			})
		}
		s.delivered(t, "checkout.created NEW-1", "checkout.created NEW-3") // TUI has no destination
	})
}

// like returns the create of an order on record for the order with this id.
func (s suite) like(t *testing.T, order, id string) string {
	t.Helper()
	return sandbox.Set(t, s.was.orders[order].create(t), "provider.provider_order_id", `"`+id+`"`)
}
