package service_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// Whatever call fails, and also where the process ends between the mail server's answer and the record of it, the notice is
// sent, under one id.
func TestANoticeSurvivesAFailureOfTheStore(t *testing.T) {
	for _, at := range []string{"Lease 1", "Checkout 1", "Provider 1", "Settle 1"} {
		for way := range faults {
			t.Run(at+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					store, change := newFaulty()
					w, mail := notifying(t, change)
					w.ready(t, "ORDER-1")
					w.clock.forward(10 * time.Second) // what was remembered of the provider is over
					w.reports.take()
					failed := false
					store.arm(at, func() error { failed = true; return faults[way]() })
					w.runFor(t, 5*time.Minute)
					got := mail.take()
					if !failed || len(got) == 0 {
						t.Fatalf("failed %t, and %d notices were sent", failed, len(got))
					}
					if slices.ContainsFunc(got, func(n checkout.PayerNotice) bool { return n.ID != got[0].ID }) {
						t.Errorf("sent under several ids: %+v", got)
					}
					if want := 1 + strings.Count(at, "Settle"); len(got) != want {
						t.Errorf("sent %d times, want %d", len(got), want)
					}
					if list := w.notices(t, "ORDER-1"); len(list) != 1 || list[0].State != checkout.JobDone {
						t.Errorf("on record %+v, want it sent", list)
					}
					if len(w.reports.take()) == 0 {
						t.Error("the failure is not reported")
					}
				})
			})
		}
	}
}
