package main

import (
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// trial is a store whose servers suffer, and all that anybody was ever told of it.
type trial struct {
	binary
	rng      *rand.Rand
	store    string
	keys     map[string]string
	hooks    *sandbox.Receiver
	verdicts *verdicts
	work     enrolments
}

// newTrial configures the store, which --store names.
func newTrial(t *testing.T, b binary, store string) *trial {
	t.Helper()
	r := &trial{binary: b, rng: newRand(t), store: store, hooks: sandbox.NewReceiver(t)}
	r.verdicts = &verdicts{rng: rand.New(rand.NewPCG(r.rng.Uint64(), 0)),
		accepted: make(map[string]int), refused: make(map[string]int)}
	r.hooks.AnswerWith(r.verdicts.answer)
	r.keys = b.configure(t, store, r.hooks)
	return r
}

// finish has the clients do what is left to do, which nothing interrupts any more.
func (r *trial) finish(t *testing.T, c *caller) {
	t.Helper()
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
func (r *trial) settle(t *testing.T) {
	t.Helper()
	limit := time.Now().Add(30 * time.Second)
	for strings.Contains(r.does(t, "export", "--store", r.store), `"status":"pending"`) {
		if time.Now().After(limit) {
			t.Fatal("events are still pending")
		}
		<-time.After(250 * time.Millisecond) // nothing tells when the last one is settled
	}
}

// check holds everything on record to everything that was answered and delivered. It returns how many
// commits had an answer that was lost.
func (r *trial) check(t *testing.T) (lost int) {
	t.Helper()
	byOrder := make(map[string]*recorded)
	for _, on := range readRecord(t, r.does(t, "export", "--store", r.store)) {
		if byOrder[on.order()] != nil {
			t.Errorf("%s has two checkouts", on.order())
		}
		byOrder[on.order()] = on
	}
	r.checkDeliveries(t, byOrder)
	unique := make(map[string]string)
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
	return lost
}

// checkDeliveries holds all that was delivered to the record.
func (r *trial) checkDeliveries(t *testing.T, byOrder map[string]*recorded) {
	t.Helper()
	all := r.hooks.Deliveries()
	checkSigned(t, all)
	byCheckout := make(map[string][]sandbox.Delivery)
	for _, h := range all {
		id := h.JSON.Text("data.checkout_id")
		byCheckout[id] = append(byCheckout[id], h)
	}
	for _, on := range byOrder {
		on.checkDeliveries(t, byCheckout[on.Text("checkout_id")], r.verdicts)
		delete(byCheckout, on.Text("checkout_id"))
	}
	for id := range byCheckout {
		t.Errorf("checkout %s had events delivered, and is not on record", id)
	}
	t.Logf("%d deliveries of %d events", len(all), 3*len(byOrder))
}

// verdicts are a receiver's, which is sometimes slow, sometimes fails, and never takes some events:
// unless it is kind.
type verdicts struct {
	kind bool

	mu                sync.Mutex
	rng               *rand.Rand
	accepted, refused map[string]int // by event id
}

func (v *verdicts) answer(h sandbox.Delivery) int {
	id := h.JSON.Text("event_id")
	hash := fnv.New32a()
	hash.Write([]byte(id))
	v.mu.Lock()
	status, delay := http.StatusNoContent, time.Duration(0)
	switch draw := v.rng.IntN(100); {
	case v.kind:
		v.accepted[id]++
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
