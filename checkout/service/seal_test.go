package service_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// signing has a service seal the evidence log.
func signing(t *testing.T) func(*service.Config) {
	t.Helper()
	private, err := evidence.NewKey("pay.example", [32]byte{1})
	must(t, err)
	keys, err := evidence.ParseKeys(private)
	must(t, err)
	return func(c *service.Config) { c.Evidence = keys }
}

func (w *world) record(t *testing.T, entries ...evidence.Entry) {
	t.Helper()
	for _, e := range entries {
		must(t, w.store.RecordEvidence(t.Context(), e))
	}
}

// unattested returns the entry of an operation that nothing attests.
func unattested(id string, at time.Time) evidence.Entry {
	return evidence.OfOperation(id, evidence.Operation{At: at, Operator: "Aroha", Name: "keys revoke", Subject: id})
}

// sealedIDs returns the ids of what is sealed, in its order.
func (w *world) sealedIDs(t *testing.T) (ids []string) {
	t.Helper()
	entries, err := w.store.SealedEvidence(t.Context(), 0, 10_000)
	must(t, err)
	for _, e := range entries {
		ids = append(ids, strings.TrimPrefix(e.ID, "operation/"))
	}
	return ids
}

// Whoever can write to the tables can put in entries. Without the operator's secret they are not attested.
func TestForgedEntriesAreNotSealedAndAreReportedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signing(t))
		now := w.clock.now()
		genuine := w.config.Keyring.Attest(unattested("genuine", now))
		recorded, _, err := genuine.After(evidence.End{Link: evidence.Link{Number: 1, Previous: "operation/bare"}})
		must(t, err)
		edited, moved := recorded, recorded // which bring an attestation
		edited.ID, edited.Leaf = "operation/edited", []byte(strings.Replace(string(edited.Leaf), "Aroha", "Matiu", 1))
		moved.ID = "operation/moved"
		otherSecret, err := checkout.NewKeyring([]byte(strings.Repeat("o", 32)))
		must(t, err)
		w.record(t, unattested("bare", now), genuine, edited, moved, otherSecret.Attest(unattested("other", now)))
		w.runFor(t, time.Minute)
		if ids := w.sealedIDs(t); len(ids) != 1 || ids[0] != "genuine" {
			t.Errorf("sealed are %q, want the genuine entry alone", ids)
		}
		reported := w.reports.take()
		if len(reported) != 1 || reported[0].Operation != service.OperationSeal || reported[0].Severity != service.Error || !strings.Contains(reported[0].Err.Error(), "4 entries") || !strings.Contains(reported[0].Err.Error(), "operation/bare") {
			t.Errorf("reported is %+v, want the four forged ones, once", reported)
		}
		if waiting, err := w.store.UnsealedEvidence(t.Context(), 10); err != nil || len(waiting) != 4 {
			t.Errorf("%d entries wait, %v; want the four forged ones", len(waiting), err)
		}
	})
}

func TestForgedEntriesDoNotKeepOthersFromBeingSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signing(t))
		now := w.clock.now()
		for i := range 1200 {
			w.record(t, unattested(fmt.Sprint("forged", i), now.Add(-time.Hour)))
		}
		w.record(t, w.config.Keyring.Attest(unattested("genuine", now)))
		w.runFor(t, time.Minute)
		if ids := w.sealedIDs(t); len(ids) != 1 || ids[0] != "genuine" {
			t.Errorf("sealed are %q, want the genuine entry", ids)
		}
	})
}

func TestForgedEntriesDoNotMoveACheckpointIntoTheFuture(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signing(t))
		w.record(t, w.config.Keyring.Attest(unattested("genuine", w.clock.now())))
		for i := range 1000 {
			w.record(t, unattested(fmt.Sprint("forged", i), w.clock.now().AddDate(100, 0, 0)))
		}
		w.runFor(t, time.Second)
		signed, err := w.Checkpoint(t.Context())
		must(t, err)
		c, err := w.config.Evidence.Open(signed)
		if err != nil || c.Size != 1 || c.At.After(w.clock.now()) {
			t.Errorf("the checkpoint is %+v, %v; want one of the genuine entry, no later than %v", c, err, w.clock.now())
		}
	})
}

// A fresh checkpoint shows that nothing was recorded since, too. An hour is its greatest age.
func TestALogWithoutEntriesGetsACheckpointAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signing(t))
		newest := func() time.Time {
			head, err := w.store.EvidenceHead(t.Context())
			must(t, err)
			c, err := w.config.Evidence.Open(head.Checkpoint)
			must(t, err)
			return c.At
		}
		defer w.background(t)()
		time.Sleep(time.Minute)
		first := newest()
		time.Sleep(55 * time.Minute)
		if again := newest(); !again.Equal(first) {
			t.Errorf("the checkpoint of %v is replaced at %v", first, again)
		}
		time.Sleep(6 * time.Minute)
		if age := w.clock.now().Sub(newest()); age > 6*time.Minute {
			t.Errorf("after an hour and a minute the checkpoint is %s old", age)
		}
	})
}

// reading is a store that has a sealer read something else than is on record.
type reading struct {
	ports.Store
	as func(*evidence.Head, []evidence.Entry)
}

func (r reading) SealEvidence(ctx context.Context, limit int, seal func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error {
	return r.Store.SealEvidence(ctx, limit, func(h evidence.Head, entries []evidence.Entry) (evidence.Sealing, error) {
		entries = slices.Clone(entries)
		r.as(&h, entries)
		return seal(h, entries)
	})
}

// Where an entry was removed before it was sealed, what follows on it is not sealed.
func TestEntriesBehindAGapAreNotSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, signing(t), func(c *service.Config) {
			c.Store = reading{c.Store, func(_ *evidence.Head, entries []evidence.Entry) {
				for i := range entries {
					entries[i].Orphan = entries[i].ID == "operation/2"
				}
			}}
		})
		w.record(t, w.config.Keyring.Attest(unattested("1", w.clock.now())), w.config.Keyring.Attest(unattested("2", w.clock.now())))
		w.runFor(t, time.Minute)
		if ids := w.sealedIDs(t); len(ids) != 0 {
			t.Errorf("sealed are %q, want nothing", ids)
		}
		w.wantReport(t, service.OperationSeal, "", "operation/2")
	})
}

// A checkpoint says that the log is complete only up to the size that everything to come has seen.
func TestACheckpointIsCompleteUpToWhatWasSeen(t *testing.T) {
	for seen, want := range map[int64]int64{0: 0, 1: 1, 2: 2, 9: 2} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, signing(t), func(c *service.Config) {
				c.Store = reading{c.Store, func(h *evidence.Head, _ []evidence.Entry) { h.Seen = seen }}
			})
			w.record(t, w.config.Keyring.Attest(unattested("1", w.clock.now())), w.config.Keyring.Attest(unattested("2", w.clock.now())))
			w.runFor(t, time.Second)
			for range 2 { // so that a checkpoint is signed again
				w.clock.forward(2 * time.Hour)
				w.runFor(t, 20*time.Second)
			}
			head, err := w.store.EvidenceHead(t.Context())
			must(t, err)
			c, err := w.config.Evidence.Open(head.Checkpoint)
			if err != nil || c.Complete != want {
				t.Errorf("where %d are seen, the checkpoint of %d is complete up to %d, %v; want %d", seen, c.Size, c.Complete, err, want)
			}
		})
	}
}

// sealings is a store that keeps the checkpoints of all batches.
type sealings struct {
	ports.Store
	mu  sync.Mutex
	all [][]byte
}

func (s *sealings) SealEvidence(ctx context.Context, limit int, seal func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error {
	return s.Store.SealEvidence(ctx, limit, func(h evidence.Head, entries []evidence.Entry) (evidence.Sealing, error) {
		sealing, err := seal(h, entries)
		if err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.all = append(s.all, sealing.Head.Checkpoint)
		}
		return sealing, err
	})
}

// After an outage more waits than fits a batch. The checkpoint of a full batch says nothing of what still waits, and what waits does
// not look back-dated. An exactly full batch is not the last.
func TestACheckpointOfAFullBatchSaysNothingOfWhatWaits(t *testing.T) {
	const batch = 500
	for _, n := range []int{batch - 1, batch, batch + 1, 2 * batch, 2*batch + 10} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &sealings{}
				w := newWorld(t, signing(t), func(c *service.Config) {
					// Entries that are recorded from now on have seen nine entries, and entries that wait have seen an empty log.
					s.Store = reading{c.Store, func(h *evidence.Head, _ []evidence.Entry) { h.Seen = 9 }}
					c.Store = s
				})
				var entries []evidence.Entry
				for i := range n {
					at := w.clock.now().Add(time.Duration(i-n) * time.Minute)
					entries = append(entries, w.config.Keyring.Attest(unattested(fmt.Sprintf("%04d", i), at)))
				}
				w.record(t, entries...)
				w.runFor(t, 3*time.Second)
				if got := len(w.sealedIDs(t)); got != n {
					t.Errorf("%d of %d entries are sealed within seconds", got, n)
				}
				full := 0
				for _, signed := range s.all {
					c, err := w.config.Evidence.Open(signed)
					must(t, err)
					if c.Size%batch == 0 && c.Size > 0 {
						full++
					}
					for i, e := range entries[c.Size:] {
						if evidence.Backdated(e, c.Size+int64(i), c) {
							t.Fatalf("entry %d of %v looks back-dated under the checkpoint of %d, complete up to %d", i, e.At, c.Size, c.Complete)
						}
					}
				}
				if n >= batch && full == 0 {
					t.Error("void: no batch was full")
				}
			})
		})
	}
}

// Whoever can write to the tables can put another log in the place of the signed log. It is not signed in turn.
func TestALogThatWasChangedIsNotSealed(t *testing.T) {
	for name, change := range map[string]func(*evidence.Head){
		"another entry":    func(h *evidence.Head) { h.Append([]byte("forged")) },
		"another tree":     func(h *evidence.Head) { h.Edge[0][0]++ },
		"no checkpoint":    func(h *evidence.Head) { h.Checkpoint = nil },
		"a cut checkpoint": func(h *evidence.Head) { h.Checkpoint = h.Checkpoint[:20] },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, signing(t))
				w.record(t, w.config.Keyring.Attest(unattested("first", w.clock.now())))
				w.runFor(t, time.Minute)
				w.reports.take()
				err := w.store.SealEvidence(t.Context(), 1, func(h evidence.Head, _ []evidence.Entry) (evidence.Sealing, error) {
					change(&h)
					return evidence.Sealing{Head: h}, nil
				})
				must(t, err)
				w.record(t, w.config.Keyring.Attest(unattested("second", w.clock.now())))
				w.runFor(t, time.Minute)
				if ids := w.sealedIDs(t); len(ids) != 1 {
					t.Errorf("sealed are %q, want only what was sealed before", ids)
				}
				w.wantReport(t, "", "", "not what its newest checkpoint signed")
			})
		})
	}
}

// The end that the log had before, with the checkpoint that it had, was signed. It is not taken for the end again.
func TestALogThatWasTurnedBackIsNotSealed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		to    func(w *world, earlier evidence.Head) evidence.Head
		again bool // the service is started again, and knows the newest checkpoint from elsewhere
	}{
		{"to its beginning", func(*world, evidence.Head) evidence.Head { return evidence.Head{} }, false},
		{"to an earlier checkpoint", func(_ *world, earlier evidence.Head) evidence.Head { return earlier }, false},
		{"to an earlier checkpoint, while no server ran", func(_ *world, earlier evidence.Head) evidence.Head { return earlier }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, signing(t))
				head := func() evidence.Head {
					h, err := w.store.EvidenceHead(t.Context())
					must(t, err)
					return h
				}
				running := w.background(t)
				w.record(t, w.config.Keyring.Attest(unattested("first", w.clock.now())))
				time.Sleep(time.Minute)
				earlier := head()
				w.record(t, w.config.Keyring.Attest(unattested("second", w.clock.now())))
				time.Sleep(time.Minute)
				newest := head()
				if tt.again {
					running()
					w.config.KnownCheckpoint = newest.Checkpoint
					w = w.again(t)
					running = w.background(t)
				}
				defer running()
				w.reports.take()
				if err := w.store.SealEvidence(t.Context(), 1, func(evidence.Head, []evidence.Entry) (evidence.Sealing, error) {
					return evidence.Sealing{Head: tt.to(w, earlier)}, nil
				}); err != nil {
					t.Fatal(err)
				}
				w.record(t, w.config.Keyring.Attest(unattested("third", w.clock.now())))
				time.Sleep(time.Minute)
				if ids := w.sealedIDs(t); len(ids) != 2 {
					t.Errorf("sealed are %q, want what was sealed before", ids)
				}
				w.wantReport(t, "", "", "does not go on from a checkpoint that is known")
				jobs, err := w.store.Jobs(t.Context(), checkout.JobFilter{Kinds: []checkout.JobKind{checkout.JobSeal}}, 1)
				if err != nil || len(jobs) != 1 || !strings.Contains(jobs[0].Failure.Reason, "does not go on from a checkpoint that is known") {
					t.Errorf("the job is %+v, %v; want that it has the reason", jobs, err)
				}
			})
		})
	}
}

// People read the times of records and checkpoints, which come from clocks. The operator learns that clocks are apart.
func TestClocksThatAreApartAreReported(t *testing.T) {
	for _, tt := range []struct {
		name     string
		entry    time.Duration // its time, from now
		newest   time.Duration // the time of the newest checkpoint, from now
		reported string        // contains; "" if nothing is
	}{
		{"clocks that agree", 0, -time.Minute, ""},
		{"clocks two minutes apart, which is allowed for", -2 * time.Minute, 0, ""},
		{"a machine that records is behind", -3 * time.Minute, 0, "a clock is 3m0s from"},
		{"a machine that records is ahead", 4 * time.Minute, -time.Minute, "a clock is 4m0s from"},
		{"this machine is behind the one that sealed before", 0, time.Hour, "a clock is 1h0m0s from"},
		{"the one that sealed before was years ahead", 0, 50 * 365 * 24 * time.Hour, "a clock is 438000h0m0s from"},
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
				if err != nil || c.Size != 1 || c.At.Sub(now).Abs() > 6*time.Second {
					t.Errorf("the checkpoint is %+v, %v; want one of the entry at %v, the time of the signature", c, err, now)
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

// kept records the calls of the hook.
type kept struct {
	mu    sync.Mutex
	sizes []int64       // of the checkpoints
	hangs chan struct{} // a call waits for it; nil if it does not
	fails error         // of each call
}

func (k *kept) hook(keys evidence.Keys) func(context.Context, []byte) error {
	return func(_ context.Context, signed []byte) error {
		c, err := keys.Open(signed)
		if err != nil {
			panic(err)
		}
		k.mu.Lock()
		k.sizes = append(k.sizes, c.Size)
		hangs, fails := k.hangs, k.fails
		k.mu.Unlock()
		if hangs != nil {
			<-hangs
		}
		return fails
	}
}

func (k *kept) all() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return fmt.Sprint(k.sizes)
}

func (k *kept) fail(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fails = err
}

func (k *kept) hang(on chan struct{}) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.hangs = on
}

// keeping has a service seal the evidence log and keep its checkpoints.
func keeping(t *testing.T) (*kept, func(*service.Config)) {
	k := &kept{}
	sign := signing(t)
	return k, func(c *service.Config) {
		sign(c)
		c.Checkpoint = k.hook(c.Evidence)
	}
}

// A file on a disk that hangs must not keep what is agreed from being sealed.
func TestAHookThatHangsHoldsUpNoSealing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, change := keeping(t)
		w := newWorld(t, change)
		hung := make(chan struct{})
		k.hang(hung)
		w.record(t, w.config.Keyring.Attest(unattested("0", w.clock.now())))
		defer w.background(t)()
		for i := 1; i < 3; i++ {
			time.Sleep(20 * time.Second)
			w.record(t, w.config.Keyring.Attest(unattested(fmt.Sprint(i), w.clock.now())))
		}
		time.Sleep(20 * time.Second)
		if ids := w.sealedIDs(t); len(ids) != 3 {
			t.Errorf("sealed are %q, want all three", ids)
		}
		if got := k.all(); got != "[1]" {
			t.Errorf("while the first call hangs, the checkpoints %s were passed, want the first", got)
		}
		w.wantReport(t, service.OperationHook, "", "not kept after 5s")
		k.hang(nil)
		close(hung)
		time.Sleep(10 * time.Second)
		if got := k.all(); got != "[1 3]" {
			t.Errorf("the checkpoints %s were passed, want the newest when the call returned", got)
		}
	})
}

// A folder that is gone for a moment must not leave the file behind until something else is agreed.
func TestACheckpointThatCouldNotBeKeptIsKeptWithinSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, change := keeping(t)
		w := newWorld(t, change)
		k.fail(errors.New("the folder is gone"))
		w.record(t, w.config.Keyring.Attest(unattested("1", w.clock.now())))
		defer w.background(t)()
		time.Sleep(time.Minute)
		w.wantReport(t, service.OperationHook, "", "the folder is gone")
		failed := k.all()
		k.fail(nil)
		time.Sleep(15 * time.Second)
		kept := k.all()
		if kept == failed {
			t.Error("the checkpoint is not passed again within 15 s")
		}
		time.Sleep(time.Minute)
		if again := k.all(); again != kept {
			t.Errorf("a checkpoint that is kept is passed again: %s, and then %s", kept, again)
		}
	})
}

// Each process has a file of its own, and the process that seals may be another each time.
func TestEveryProcessKeepsTheNewestCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, change := keeping(t)
		w := newWorld(t, change)
		w.record(t, w.config.Keyring.Attest(unattested("1", w.clock.now())))
		w.runFor(t, time.Minute)
		second, change := keeping(t)
		change(&w.config)
		w = w.again(t)
		w.runFor(t, time.Minute)
		if first.all() != "[1]" || second.all() != "[1]" {
			t.Errorf("the process that sealed kept %s, and another one %s; want both the checkpoint, once", first.all(), second.all())
		}
	})
}

// What was agreed in a process's last second is in a checkpoint that the operator keeps, unless the hook hangs.
func TestAStopWaitsForTheLastCheckpoint(t *testing.T) {
	for _, tt := range []struct {
		name            string
		sealing, hooked time.Duration
		took            time.Duration // from the stop
		kept            string
	}{
		{"a batch and a hook that take a moment", 2 * time.Second, 3 * time.Second, 5 * time.Second, "[1]"},
		{"a hook that hangs", 2 * time.Second, time.Hour, 7 * time.Second, "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k, change := &kept{}, signing(t)
			inWorld(t, func(t *testing.T, w *world) {
				w.record(t, w.config.Keyring.Attest(unattested("1", w.clock.now())))
				stop := w.background(t)
				synctest.Wait() // the batch is being sealed
				start := time.Now()
				stop()
				if took := time.Since(start); took != tt.took || k.all() != tt.kept {
					t.Errorf("stopped after %s with the checkpoints %s kept, want %s and %s", took, k.all(), tt.took, tt.kept)
				}
				time.Sleep(time.Hour)
			}, change, func(c *service.Config) {
				keep := k.hook(c.Evidence)
				c.Checkpoint = func(ctx context.Context, signed []byte) error { time.Sleep(tt.hooked); return keep(ctx, signed) }
				c.Store = slowlySealing{c.Store, tt.sealing}
			})
		})
	}
}

// slowlySealing is a store that takes a while to seal, and goes on when it is cancelled.
type slowlySealing struct {
	ports.Store
	takes time.Duration
}

func (s slowlySealing) SealEvidence(ctx context.Context, limit int, seal func(evidence.Head, []evidence.Entry) (evidence.Sealing, error)) error {
	time.Sleep(s.takes)
	return s.Store.SealEvidence(context.WithoutCancel(ctx), limit, seal)
}

// A chain that was set ahead of the log is put right though nothing waits to be sealed, and that is reported.
func TestAChainAheadOfTheLogIsPutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		edited := false
		w := newWorld(t, signing(t), func(c *service.Config) {
			c.Store = reading{c.Store, func(h *evidence.Head, _ []evidence.Entry) {
				if edited {
					h.MostSeen = h.Size + 1
				}
				edited = false
			}}
		})
		newest := func() string {
			w.runFor(t, 20*time.Second)
			w.clock.forward(time.Minute)
			head, err := w.store.EvidenceHead(t.Context())
			must(t, err)
			return string(head.Checkpoint)
		}
		first := newest()
		if again := newest(); again != first {
			t.Errorf("%s is replaced by %s", first, again)
		}
		edited = true
		if again := newest(); again == first {
			t.Error("nothing is stored")
		}
		w.wantReport(t, service.OperationSeal, service.Error, "said that the log has more entries than it has")
	})
}
