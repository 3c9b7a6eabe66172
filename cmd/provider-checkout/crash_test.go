package main

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	crashRounds      = 50
	crashRoundsShort = 5
	crashClients     = 16
)

// crashRun is a store whose servers are killed one after the other.
type crashRun struct {
	binary
	rng      *rand.Rand
	store    string
	keys     map[string]string
	hooks    *hooks
	verdicts *verdicts
	work     enrolments
	hit      int // kills that cut a request
}

// Servers are killed over one store, each at a random moment: in its start, under the load of 16
// clients, in its shutdown. Then a last one is left in peace until every enrolment is
// confirmed and no event is pending, and the record is held to all that anybody was ever told.
func (b binary) survivesKills(t *testing.T) {
	rounds := crashRounds
	if testing.Short() {
		rounds = crashRoundsShort
	}
	r := newCrashRun(t, b)
	for n := range rounds {
		r.round(t, n)
	}
	t.Logf("%d of %d kills cut a request that was under way; %d enrolments, %d of them undone",
		r.hit, rounds, len(r.work.all), len(r.work.open))
	if r.hit < rounds*2/5 {
		t.Errorf("void: only %d of %d kills cut a request that was under way", r.hit, rounds)
	}

	p := r.serve(t, r.store)
	base, restarted := p.listening(t), time.Now()
	r.finish(t, base)
	t.Logf("every enrolment was done %v after the restart", time.Since(restarted))
	r.settle(t)
	t.Logf("no event was pending %v after the restart", time.Since(restarted))
	p.stop(t, syscall.SIGTERM)
	r.check(t)
	r.checkTakenUp(t, restarted)
}

func newCrashRun(t *testing.T, b binary) *crashRun {
	t.Helper()
	r := &crashRun{binary: b, rng: newRand(t), hooks: newHooks(t)}
	r.verdicts = &verdicts{rng: rand.New(rand.NewPCG(r.rng.Uint64(), 0)),
		accepted: make(map[string]int), refused: make(map[string]int)}
	r.hooks.answer(r.verdicts.answer)
	r.store, r.keys = b.configuredStore(t, t.TempDir(), r.hooks)
	return r
}

// round starts a server and kills it: in every sixth round before it listens, in every other sixth
// while it shuts down, otherwise under load.
func (r *crashRun) round(t *testing.T, n int) {
	t.Helper()
	p := r.serve(t, r.store)
	if n%6 == 3 {
		<-time.After(within(r.rng, 0, 20*time.Millisecond))
		p.kill(t)
		return
	}
	c := newCaller(p.listening(t), r.keys)
	var clients sync.WaitGroup
	for range crashClients {
		rng := rand.New(rand.NewPCG(r.rng.Uint64(), uint64(n)))
		clients.Go(func() { r.client(t, c, rng) })
	}
	<-time.After(within(r.rng, 50*time.Millisecond, 400*time.Millisecond))
	if n%6 == 5 {
		p.signal(t, syscall.SIGTERM)
		<-time.After(within(r.rng, 0, 30*time.Millisecond))
	}
	p.kill(t)
	clients.Wait()
	if c.cut.Load() > 0 {
		r.hit++
	}
	ownersAlone(t, filepath.Dir(r.store))
}

// client works on enrolments, new ones and those that crashes left undone, until it is cut off.
func (r *crashRun) client(t *testing.T, c *caller, rng *rand.Rand) {
	for {
		var e *enrolment
		if rng.IntN(2) == 0 {
			e = r.work.resume(rng)
		}
		if e == nil {
			e = r.work.begin()
		}
		if err := e.goOn(context.Background(), c, rng); err != nil {
			r.work.leave(e)
			if !isCut(err) {
				t.Error(err)
			}
			return
		}
	}
}

// finish has the clients do what is left to do, which nothing interrupts any more.
func (r *crashRun) finish(t *testing.T, base string) {
	t.Helper()
	c := newCaller(base, r.keys)
	var clients sync.WaitGroup
	for range crashClients {
		rng := rand.New(rand.NewPCG(r.rng.Uint64(), 0))
		clients.Go(func() {
			for e := r.work.resume(rng); e != nil; e = r.work.resume(rng) {
				if err := e.goOn(t.Context(), c, rng); err != nil {
					t.Errorf("in peace, %v", err)
				}
			}
		})
	}
	clients.Wait()
}

// settle waits until no event is pending: at most as long as a dead owner keeps one, a sweep takes
// to find it, and its attempts take.
func (r *crashRun) settle(t *testing.T) {
	t.Helper()
	limit := time.Now().Add(30 * time.Second)
	for strings.Contains(r.does(t, "export", "--store", "sqlite:"+r.store), `"status":"pending"`) {
		if time.Now().After(limit) {
			t.Fatal("events are still pending")
		}
		<-time.After(250 * time.Millisecond) // nothing tells when the last one is settled
	}
}

// check holds everything on record to everything that was answered and delivered.
func (r *crashRun) check(t *testing.T) {
	t.Helper()
	checkIntact(t, r.store)
	byOrder := make(map[string]*recorded)
	for _, on := range readRecord(t, r.does(t, "export", "--store", "sqlite:"+r.store)) {
		if byOrder[on.order()] != nil {
			t.Errorf("%s has two checkouts", on.order())
		}
		byOrder[on.order()] = on
	}
	r.checkDeliveries(t, byOrder)
	unique, lost := make(map[string]string), 0
	for _, e := range r.work.all {
		on := byOrder[e.provider+" "+e.order]
		if on == nil {
			t.Errorf("%s of %s is not on record", e.order, e.provider)
			continue
		}
		delete(byOrder, on.order())
		on.check(t, e)
		for _, id := range append(e.ids[:], e.agreement[:]...) {
			if other := unique[id]; other != "" {
				t.Errorf("%s and %s both have %s", other, on.order(), id)
			}
			unique[id] = on.order()
		}
		lost += 2 - e.opened - e.confirmed
	}
	for order := range byOrder {
		t.Errorf("%s is on record, and nobody asked for it", order)
	}
	t.Logf("%d commits had an answer that was lost", lost)
	if lost == 0 {
		t.Error("void: no kill came between a commit and its answer")
	}
}

// checkDeliveries holds all that was delivered to the record.
func (r *crashRun) checkDeliveries(t *testing.T, byOrder map[string]*recorded) {
	t.Helper()
	all := r.hooks.all()
	checkSigned(t, all)
	byCheckout := make(map[string][]hook)
	for _, h := range all {
		id := h.body.text("data.checkout_id")
		byCheckout[id] = append(byCheckout[id], h)
	}
	for _, on := range byOrder {
		on.checkDeliveries(t, byCheckout[on.text("checkout_id")], r.verdicts)
		delete(byCheckout, on.text("checkout_id"))
	}
	for id := range byCheckout {
		t.Errorf("checkout %s had events delivered, and is not on record", id)
	}
	t.Logf("%d deliveries of %d events", len(all), 3*len(byOrder))
}

// checkTakenUp checks that what the kills cut off was taken up in time.
func (r *crashRun) checkTakenUp(t *testing.T, restarted time.Time) {
	t.Helper()
	first := make(map[string]time.Duration) // delivery of each checkout's older events since
	for _, h := range r.hooks.all() {
		made, err := time.Parse(time.RFC3339, h.body.text("created_at"))
		if err != nil {
			t.Fatal(err)
		}
		id := h.body.text("data.checkout_id")
		if _, known := first[id]; !known && made.Before(restarted) && h.at.After(restarted) {
			first[id] = h.at.Sub(restarted)
		}
	}
	var slowest time.Duration
	for id, took := range first {
		if slowest = max(slowest, took); took > 15*time.Second {
			t.Errorf("the events of %s were taken up %v after the restart, want within 15 s", id, took)
		}
	}
	t.Logf("the events of %d checkouts were taken up, the last %v after the restart", len(first), slowest)
	if len(first) == 0 {
		t.Error("void: no kill cut a delivery off")
	}
}

// verdicts are a receiver's, which is sometimes slow, sometimes fails, and never takes some events.
type verdicts struct {
	mu                sync.Mutex
	rng               *rand.Rand
	accepted, refused map[string]int // by event id
}

func (v *verdicts) answer(h hook) int {
	id := h.body.text("event_id")
	hash := fnv.New32a()
	hash.Write([]byte(id))
	v.mu.Lock()
	status, delay := http.StatusNoContent, time.Duration(0)
	switch draw := v.rng.IntN(100); {
	case hash.Sum32()%64 == 0, draw < 5:
		status = http.StatusInternalServerError
		v.refused[id]++
	default:
		if draw < 20 {
			delay = within(v.rng, 0, 100*time.Millisecond)
		}
		v.accepted[id]++
	}
	v.mu.Unlock()
	<-time.After(delay)
	return status
}

// of tells how often an event was accepted and refused.
func (v *verdicts) of(id string) (accepted, refused int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.accepted[id], v.refused[id]
}
