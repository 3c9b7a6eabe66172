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
	a := agreement.Agreement{Number: "PPA-2026-000001", CheckoutID: c.ID, Provider: agreement.Party{Code: c.ProviderCode}, Schedule: []money.Charge{
		{Sequence: 1, Type: money.InitialPayment, Due: money.Date{Year: 2027, Month: 2, Day: 1}, Amount: 200_00},
		{Sequence: 2, Type: money.FinalInstalment, Due: money.Date{Year: 2027, Month: 2, Day: 8}, Amount: 1<<53 + 1},
	}}
	change := checkout.Change{Next: c, Agreement: &a}
	if err := db.InsertCheckout(t.Context(), change, checkout.Enqueue{}); err != nil {
		t.Fatalf("InsertCheckout: %v", err)
	}

	rows, err := shell(t, path).Query(`SELECT sequence, type, due_date, amount_cents, typeof(amount_cents)
		FROM charges WHERE checkout_id = ? AND agreement_number = ? ORDER BY sequence`, c.ID, a.Number)
	if err != nil {
		t.Fatalf("read charges: %v", err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var got money.Charge
		var due, kind string
		if err := rows.Scan(&got.Sequence, &got.Type, &due, &got.Amount, &kind); err != nil {
			t.Fatalf("read charge: %v", err)
		}
		if got.Due, err = money.ParseDate(due); err != nil || got != a.Schedule[n] || kind != "integer" {
			t.Errorf("charge = %+v, %v, its amount %s; want %+v, an integer", got, err, kind, a.Schedule[n])
		}
	}
	if err := rows.Err(); err != nil || n != len(a.Schedule) {
		t.Errorf("read %d charges, %v; want %d", n, err, len(a.Schedule))
	}
}
