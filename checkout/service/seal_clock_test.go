package service_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// An auditor who holds a checkpoint takes an entry that says that it is older, and is not in it, for a forgery. The operator
// learns that clocks are apart before an auditor does.
func TestClocksThatAreApartAreReported(t *testing.T) {
	for _, tt := range []struct {
		name     string
		entry    time.Duration // its time, from now
		newest   time.Duration // the time of the newest checkpoint, from now
		reported string        // contains; "" if nothing is
		signed   time.Duration // the time of the next checkpoint, from now
	}{
		{"clocks that agree", 0, -time.Minute, "", 0},
		{"clocks two minutes apart, which is allowed for", -2 * time.Minute, 0, "", 0},
		{"a machine that records is behind", -3 * time.Minute, 0, "a clock is 3m0s from", 0},
		{"a machine that records is ahead", 4 * time.Minute, -time.Minute, "a clock is 4m0s from", 0},
		{"this machine is behind the one that sealed before", 0, time.Hour, "a clock is 1h0m0s from", time.Hour},
		{"the one that sealed before was years ahead", 0, 50 * 365 * 24 * time.Hour, "a clock is 438000h0m0s from", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, signing(t))
				now := w.clock.now()
				err := w.store.SealEvidence(t.Context(), 0, func(h evidence.Head, _ []evidence.Entry) (s evidence.Sealing, err error) {
					h.Checkpoint, err = w.config.Evidence.Sign(evidence.Checkpoint{Root: h.Root(), At: now.Add(tt.newest)})
					return evidence.Sealing{Head: h}, err
				})
				must(t, err)
				w.record(t, w.config.Keyring.Attest(unattested("1", now.Add(tt.entry))))
				w.runFor(t, time.Second)
				reported := w.reports.take()
				switch {
				case tt.reported == "" && len(reported) > 0:
					t.Errorf("reported is %+v, want nothing", reported)
				case tt.reported != "" && (len(reported) != 1 || reported[0].Operation != service.OperationSeal || !strings.Contains(reported[0].Err.Error(), tt.reported)):
					t.Errorf("reported is %+v, want %q", reported, tt.reported)
				}
				head, err := w.store.EvidenceHead(t.Context())
				must(t, err)
				c, err := w.config.Evidence.Open(head.Checkpoint)
				if want := now.Add(tt.signed); err != nil || c.Size != 1 || c.At.Sub(want).Abs() > 2*time.Second {
					t.Errorf("the checkpoint is %+v, %v; want one of the entry at %v", c, err, want)
				}
			})
		})
	}
}

// Once an hour is enough.
func TestClocksThatAreApartAreReportedNowAndThen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signing(t))
		defer w.background(t)()
		for range 12 {
			w.record(t, w.config.Keyring.Attest(unattested(w.clock.now().String(), w.clock.now().Add(time.Hour))))
			time.Sleep(10 * time.Second)
			w.clock.forward(15 * time.Minute)
		}
		if reported := w.reports.take(); len(reported) != 3 {
			t.Errorf("reported in three hours: %d times, want three", len(reported))
		}
	})
}
