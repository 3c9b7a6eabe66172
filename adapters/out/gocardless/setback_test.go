package gocardless_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestSetbackIsFoundAmongTheEvents(t *testing.T) {
	visit := func(t *testing.T, address string) {
		t.Helper()
		resp, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	}
	finish := func(name string) func(*testing.T, *bench, checkout.BillingRequest) {
		return func(t *testing.T, b *bench, r checkout.BillingRequest) { b.complete(t, r.URL, name) }
	}
	block := func(t *testing.T, b *bench, r checkout.BillingRequest) {
		if err := b.sim.BlockPayer(r.ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name   string
		happen func(*testing.T, *bench, checkout.BillingRequest)
		want   checkout.Setback
	}{
		{"nothing happened", func(*testing.T, *bench, checkout.BillingRequest) {}, checkout.NoSetback},
		{"the payer was there", func(t *testing.T, b *bench, r checkout.BillingRequest) { visit(t, r.URL) }, checkout.NoSetback},
		{"it was cancelled", finish("SETUP CANCELLED"), checkout.NoSetback},
		{"it failed", finish("SETUP FAILS"), checkout.SetbackFailure},
		{"the place is not served", block, checkout.SetbackPlace},
		{"the place is not served, and the payer tried again", func(t *testing.T, b *bench, r checkout.BillingRequest) {
			block(t, b, r)
			b.sim.Advance(time.Hour)
			again, err := b.Begin(t.Context(), start("a"))
			if err != nil || again.ID != r.ID {
				t.Fatalf("Begin = %+v, %v; want billing request %s again", again, err, r.ID)
			}
			visit(t, again.URL)
		}, checkout.SetbackPlace},
		{"a day after", func(t *testing.T, b *bench, r checkout.BillingRequest) { block(t, b, r); b.sim.Advance(24 * time.Hour) }, checkout.NoSetback},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t)
			other, err := b.Begin(t.Context(), start("other")) // whose events are its own
			if err != nil {
				t.Fatal(err)
			}
			block(t, b, other)
			request := b.begin(t, "a")
			tt.happen(t, b, request)
			got, err := b.Setback(t.Context(), checkout.SetupQuery{Account: account,
				Setup: checkout.Setup{Try: 1, BillingRequestID: request.ID}, Purpose: checkout.ForPayer})
			if err != nil || got != tt.want {
				t.Errorf("Setback = %q, %v; want %q", got, err, tt.want)
			}
		})
	}
	t.Run("GoCardless is down", func(t *testing.T) {
		b := newBench(t)
		b.sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultError, Method: http.MethodGet, Path: "/events", Times: 10})
		if got, err := b.Setback(t.Context(), checkout.SetupQuery{Account: account, Setup: checkout.Setup{BillingRequestID: "BRQ1"}}); err == nil {
			t.Errorf("Setback = %q, want an error", got)
		}
	})
}
