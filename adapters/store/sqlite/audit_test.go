package sqlite_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

// An auditor reads the schedule of an agreement with plain SQL.
func TestChargesAreReadBySQL(t *testing.T) {
	path := file(t)
	db := open(t, path, sqlite.Options{})
	c := checkout.Checkout{ID: "KOWHAI-1-a", ProviderCode: "KOWHAI", OrderID: "order-1", IdempotencyKey: "key-1"}
	a := agreement.Agreement{Number: "PPA-2026-000001", CheckoutID: c.ID, Provider: agreement.Party{Code: c.ProviderCode}}
	a.Schedule = []money.Charge{
		{Sequence: 1, Type: money.InitialPayment, Due: money.Date{Year: 2027, Month: 2, Day: 1}, Amount: 200_00},
		{Sequence: 2, Type: money.FinalInstalment, Due: money.Date{Year: 2027, Month: 2, Day: 8}, Amount: 1<<53 + 1},
	}
	change := checkout.Change{Next: c, Agreement: &a}
	if err := db.InsertCheckout(t.Context(), change, checkout.JobEntry{}); err != nil {
		t.Fatalf("InsertCheckout: %v", err)
	}

	var got string
	err := shell(t, path).QueryRow(`
		SELECT group_concat(concat_ws(' ', sequence, type, due_date, amount_cents, typeof(amount_cents)), ', ')
		FROM (SELECT * FROM charges WHERE checkout_id = ? AND agreement_number = ? ORDER BY sequence)`, c.ID, a.Number).Scan(&got)
	want := "1 initial_payment 2027-02-01 20000 integer, 2 final_instalment 2027-02-08 9007199254740993 integer"
	if err != nil || got != want {
		t.Errorf("charges = %s, %v; want %s", got, err, want)
	}
}
