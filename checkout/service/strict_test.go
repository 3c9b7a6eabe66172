package service_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// namedBy returns the fields that a refusal names.
func namedBy(err error) (fields []string) {
	refusal, ok := errors.AsType[*checkout.Error](err)
	if !ok {
		return nil
	}
	for _, f := range refusal.Faults {
		fields = append(fields, f.Field)
	}
	return fields
}

// The caller is the embedder's own form, without the JSON API in front of the service.
func TestDirectCallsAreHeldToTheSameRules(t *testing.T) {
	cents := checkout.Some[money.Cents]
	date := func(y, m, d int) checkout.Optional[money.Date] {
		return checkout.Some(money.Date{Year: y, Month: time.Month(m), Day: d})
	}
	for _, tt := range []struct {
		name   string
		send   func(*checkout.Create)
		fields []string
	}{
		{"30 February", func(c *checkout.Create) { c.First = date(2027, 2, 30) }, []string{"plan.first_payment_date"}},
		{"year 12345", func(c *checkout.Create) { c.First = date(12345, 1, 1) }, []string{"plan.first_payment_date"}},
		{"the zero date", func(c *checkout.Create) { c.First = date(0, 0, 0) }, []string{"plan.first_payment_date"}},
		{"a negative instalment", func(c *checkout.Create) {
			c.Number, c.Regular, c.Final = checkout.Some(3), cents(-500_00), cents(3790_00)
		},
			[]string{"plan.instalment_amount"}},
		{"a huge instalment", func(c *checkout.Create) { c.Regular = cents(math.MaxInt64) }, []string{"plan.instalment_amount"}},
		{"5 × 2^62 wraps round", func(c *checkout.Create) {
			c.Number, c.Regular, c.Final = checkout.Some(5), cents(1<<62), cents(2790_00)
		},
			[]string{"plan.instalment_amount"}},
		{"a negative upfront payment", func(c *checkout.Create) { c.Upfront, c.Price = cents(-200_00), cents(2590_00) },
			[]string{"pricing.upfront_payment"}},
		{"a negative price and principal", func(c *checkout.Create) { c.Price, c.Principal = cents(-2590_00), cents(-2790_00) },
			[]string{"pricing.course_price", "pricing.amount_to_finance"}},
		{"a name of nothing", func(c *checkout.Create) { c.FirstName = checkout.Some(" \u200b") }, []string{"student.first_name"}},
		{"a name with U+0000", func(c *checkout.Create) { c.LastName = checkout.Some("Ngata\x00") }, []string{"student.last_name"}},
		{"an order id that is no UTF-8", func(c *checkout.Create) { c.OrderID = checkout.Some("A\xff") }, []string{"provider.provider_order_id"}},
		{"an idempotency key that is too long", func(c *checkout.Create) { c.IdempotencyKey = checkout.Some(strings.Repeat("k", 256)) },
			[]string{"Idempotency-Key"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.configure(t, legacy())
			cmd := legacyCreate("ORDER-1")
			tt.send(&cmd)
			_, err := w.Create(t.Context(), caller, cmd)
			expectFields(t, err, checkout.CodeValidation, tt.fields)
			if n := len(w.records(t)); n != 0 {
				t.Errorf("%d checkouts on record", n)
			}
		})
	}
	for name, d := range map[string]checkout.Optional[money.Date]{"30 February": date(2027, 2, 30), "year 12345": date(12345, 1, 1),
		"the zero date": date(0, 0, 0)} {
		w := newWorld(t)
		cmd := w.ready(t, "ORDER-1")
		cmd.FirstPayment = d
		_, err := w.confirm(t, cmd)
		expectFields(t, err, checkout.CodeValidation, []string{"payment.first_payment_date"})
		if r := w.records(t)["ORDER-1"]; r.Agreement != nil || r.Checkout.Status != checkout.SetupRequired {
			t.Errorf("%s: the checkout is %s", name, r.Checkout.Status)
		}
	}
}

func TestARequestWithoutAnIDGetsOne(t *testing.T) {
	w := newWorld(t)
	cmd := create("ORDER-1")
	cmd.RequestID = ""
	o, err := w.Create(t.Context(), caller, cmd)
	if err != nil {
		t.Fatal(err)
	}
	w.setUp(t, o.Token)
	cnf := confirm(o)
	cnf.RequestID = ""
	w.confirms(t, cnf)
	events := w.records(t)["ORDER-1"].Events()
	created, confirmed := events[0].Event.RequestID, events[1].Event.RequestID
	if !strings.HasPrefix(created, "req_") || len(created) != len("req_")+36 || !strings.HasPrefix(confirmed, "req_") || created == confirmed {
		t.Errorf("request ids %q and %q, want two of req_ and a UUID", created, confirmed)
	}
}
