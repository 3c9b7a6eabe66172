package postgres_test

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/money"
)

// An auditor reads the schedule of an agreement with plain SQL.
func TestChargesAreReadBySQL(t *testing.T) {
	url := postgrestest.URL(t)
	change := opened(1)
	a := agreement.Agreement{Number: "PPA-2026-000001", CheckoutID: change.Next.ID, Provider: agreement.Party{Code: change.Next.ProviderCode}, Schedule: []money.Charge{
		{Sequence: 1, Type: money.InitialPayment, Due: money.Date{Year: 2027, Month: 2, Day: 1}, Amount: 200_00},
		{Sequence: 2, Type: money.FinalInstalment, Due: money.Date{Year: 2027, Month: 2, Day: 8}, Amount: 1<<53 + 1},
	}}
	change.Agreement = &a
	if err := open(t, url, postgres.Options{}).InsertCheckout(t.Context(), change, pending()); err != nil {
		t.Fatalf("InsertCheckout: %v", err)
	}

	rows, err := connect(t, url).Query(t.Context(), `SELECT sequence, type, due_date, amount_cents
		FROM charges WHERE checkout_id = $1 AND agreement_number = $2 ORDER BY sequence`, change.Next.ID, a.Number)
	if err != nil {
		t.Fatalf("read charges: %v", err)
	}
	defer rows.Close()
	n := 0
	for ; rows.Next(); n++ {
		var got money.Charge
		var due string
		if err := rows.Scan(&got.Sequence, &got.Type, &due, &got.Amount); err != nil {
			t.Fatalf("read charge: %v", err)
		}
		if got.Due, err = money.ParseDate(due); err != nil || got != a.Schedule[n] {
			t.Errorf("charge = %+v, %v; want %+v", got, err, a.Schedule[n])
		}
	}
	if err := rows.Err(); err != nil || n != len(a.Schedule) {
		t.Errorf("read %d charges, %v; want %d", n, err, len(a.Schedule))
	}
}
