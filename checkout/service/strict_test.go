package service_test

import (
	"errors"
	"strings"
	"testing"

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

// The caller is the embedder's own form, without the JSON API in front of the service: TestCheckIsAsStrictAsTheAPI of package checkout
// has the rules.
func TestDirectCallsAreHeldToTheSameRules(t *testing.T) {
	w := newWorld(t)
	cmd := create("ORDER-1")
	cmd.First, cmd.LastName = checkout.Some(money.Date{Year: 2027, Month: 2, Day: 30}), checkout.Some("Ngata\x00")
	_, err := w.Create(t.Context(), caller, cmd)
	expectFields(t, err, checkout.CodeValidation, []string{"student.last_name", "plan.first_payment_date"})
	if n := len(w.records(t)); n != 0 {
		t.Errorf("%d checkouts on record", n)
	}
	confirm := w.ready(t, "ORDER-1")
	confirm.FirstPayment, confirm.PaymentPlanAccepted = cmd.First, checkout.Some(false)
	_, err = w.confirm(t, confirm)
	expectFields(t, err, checkout.CodeValidation, []string{"payment.first_payment_date", "declarations.payment_plan_accepted"})
	if r := w.records(t)["ORDER-1"]; r.Agreement != nil || w.printer.printed != 0 {
		t.Errorf("an agreement was concluded: %+v", r.Agreement)
	}
}

func TestARequestWithoutAnIDGetsOne(t *testing.T) {
	w := newWorld(t)
	cmd := create("ORDER-1")
	cmd.RequestID = ""
	o, err := w.Create(t.Context(), caller, cmd)
	must(t, err)
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
