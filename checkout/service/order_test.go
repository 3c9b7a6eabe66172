package service_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
)

// T43: processes whose clocks are hours apart record and seal, one after the other and both at once. A record may be prepared long
// before it is stored, and there may be more records than fit in a batch. No record is ever back-dated to the holder of any checkpoint.
func TestNoHonestRecordIsBackdated(t *testing.T) {
	var outdated, full, complete int
	for seed := range uint64(testlevel.Of(4, 60)) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex
			var kept []evidence.Checkpoint
			w := newWorld(t, signing(t))
			process := func(ahead time.Duration) *world {
				c := w.config
				c.Now = func() time.Time { return w.clock.now().Add(ahead) }
				c.Checkpoint = func(_ context.Context, signed []byte) error {
					mu.Lock()
					defer mu.Unlock()
					checkpoint, err := w.config.Evidence.Open(signed)
					must(t, err)
					kept = append(kept, checkpoint)
					return nil
				}
				p := *w
				p.config = c
				return p.again(t)
			}
			record := func(n int, at time.Duration, wait time.Duration) {
				for {
					head, err := w.store.EvidenceHead(t.Context())
					must(t, err)
					e := evidence.OfAgreement(agreement.Agreement{Number: fmt.Sprint(n)}, evidence.Conclusion{At: w.clock.now().Add(at), LogSize: head.Size})
					time.Sleep(wait)
					err = w.store.RecordEvidence(t.Context(), w.config.Keyring.Attest(e))
					if !errors.Is(err, evidence.ErrOutdated) {
						must(t, err)
						return
					}
					wait = 0
					mu.Lock()
					outdated++
					mu.Unlock()
				}
			}
			n := 0
			var recording sync.WaitGroup
			for range 6 {
				stop := process(time.Duration(random.IntN(5)-2) * time.Hour).background(t)
				another := func() {}
				if random.IntN(2) == 0 {
					another = process(time.Hour).background(t)
				}
				for range random.IntN(8) {
					n++
					i, at, wait := n, time.Duration(random.IntN(3)-1)*time.Hour, time.Duration(random.IntN(20_000))*time.Millisecond
					recording.Go(func() { record(i, at, wait) })
					time.Sleep(time.Duration(random.IntN(6000)) * time.Millisecond)
				}
				if random.IntN(4) == 0 {
					full++
					for range 1100 {
						n++
						w.record(t, w.config.Keyring.Attest(unattested(fmt.Sprint(n), w.clock.now())))
					}
					time.Sleep(time.Duration(random.IntN(8000)) * time.Millisecond)
				}
				stop()
				another()
			}
			recording.Wait()
			process(0).runFor(t, 5*time.Minute)
			entries, err := w.store.SealedEvidence(t.Context(), 0, n+1)
			if err != nil || len(entries) != n {
				t.Fatalf("seed %d: %d entries of %d are sealed, %v", seed, len(entries), n, err)
			}
			for _, c := range kept {
				complete = max(complete, int(c.Complete))
				for position, e := range entries {
					if evidence.Backdated(e, int64(position), c) {
						t.Fatalf("seed %d: %s at position %d looks back-dated under %+v: %s", seed, e.ID, position, c, e.Leaf[len(e.Leaf)-30:])
					}
				}
			}
			w.reports.take()
		})
	}
	if outdated == 0 || full == 0 || complete == 0 {
		t.Errorf("%d records were outdated, %d batches full, and checkpoints complete for %d at most: nothing is shown", outdated, full, complete)
	}
}
