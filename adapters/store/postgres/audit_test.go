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
	a := agreement.Agreement{Number: "PPA-2026-000001", CheckoutID: change.Next.ID, Provider: agreement.Party{Code: change.Next.ProviderCode}}
	a.Schedule = []money.Charge{
		{Sequence: 1, Type: money.InitialPayment, Due: money.Date{Year: 2027, Month: 2, Day: 1}, Amount: 200_00},
		{Sequence: 2, Type: money.FinalInstalment, Due: money.Date{Year: 2027, Month: 2, Day: 8}, Amount: 1<<53 + 1},
	}
	change.Agreement = &a
	if err := open(t, url, postgres.Options{}).InsertCheckout(t.Context(), change, pending()); err != nil {
		t.Fatalf("InsertCheckout: %v", err)
	}

	var got string
	err := connect(t, url).QueryRow(t.Context(), `
		SELECT string_agg(concat_ws(' ', sequence, type, due_date, amount_cents), ', ' ORDER BY sequence)
		FROM charges WHERE checkout_id = $1 AND agreement_number = $2`, change.Next.ID, a.Number).Scan(&got)
	if want := "1 initial_payment 2027-02-01 20000, 2 final_instalment 2027-02-08 9007199254740993"; err != nil || got != want {
		t.Errorf("charges = %s, %v; want %s", got, err, want)
	}
}
