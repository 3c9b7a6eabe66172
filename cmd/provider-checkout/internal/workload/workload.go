// Package workload makes clients enrol students at servers that are killed, restarted and cut off, and then compares
// every answer and every delivered event with what is on record.
package workload

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// finishing is the number of clients that complete the enrolments at the end.
const finishing = 16

// Workload is the enrolments on one store, with all answers to their clients and all deliveries to the receiver.
type Workload struct {
	proc.Binary
	Rand       *rand.Rand
	Store      string
	Keys       map[string]string
	Receiver   *sandbox.Receiver
	Verdicts   *Verdicts
	Enrolments Enrolments
	HeldUp     bool // deliveries may arrive long after they were sent
	Unsettled  bool // events may still be pending when the record is checked
	restored   bool // deliveries may be of a life that is not on record
}

// New configures the store, which --store names, and returns a workload without enrolments. The deliveries to its
// receiver pass through the handlers that each of between makes.
func New(t *testing.T, b proc.Binary, store string, between ...func(http.Handler) http.Handler) *Workload {
	t.Helper()
	r := &Workload{Binary: b, Rand: NewRand(t), Store: store, Receiver: sandbox.NewReceiver(t, between...)}
	r.Verdicts = &Verdicts{rng: rand.New(rand.NewPCG(r.Rand.Uint64(), 0)),
		accepted: make(map[string]int), refused: make(map[string]int)}
	r.Receiver.AnswerWith(r.Verdicts.answer)
	r.Keys = Configure(t, b, store, r.Receiver.URL)
	return r
}

// Multiply configures n pairs of providers instead of one, and spreads further enrolments over them. The codes of the further pairs
// end with their number.
func (r *Workload) Multiply(t *testing.T, n int) {
	t.Helper()
	one := strings.TrimSuffix(strings.TrimPrefix(sandbox.Providers, `{"providers": [`), "]}")
	all := []string{one}
	for i := 1; i < n; i++ {
		all = append(all, forPair(i, one))
	}
	file := strings.ReplaceAll(`{"providers": [`+strings.Join(all, ",\n")+`]}`, "HOOKS", r.Receiver.URL)
	r.Run(t, "apply", "-f", proc.TempFile(t, file), "--store", r.Store)
	for i := 1; i < n; i++ {
		for _, code := range []string{forPair(i, "KOWHAI"), forPair(i, "TUI")} {
			r.Keys[code] = strings.TrimSpace(r.Run(t, "keys", "issue", "--provider", code, "--store", r.Store))
		}
	}
	r.Enrolments.pairs = n
}

// forPair returns a text about the first pair of providers as a text about pair i.
func forPair(i int, text string) string {
	if i == 0 {
		return text
	}
	return strings.NewReplacer("KOWHAI", fmt.Sprint("KOWHAI", i), "TUI", fmt.Sprint("TUI", i)).Replace(text)
}

// Finish makes clients complete every open enrolment. Nothing may interrupt the servers meanwhile.
func (r *Workload) Finish(t *testing.T, c *apiclient.Client) {
	t.Helper()
	var clients sync.WaitGroup
	for range finishing {
		rng := rand.New(rand.NewPCG(r.Rand.Uint64(), 0))
		clients.Go(func() {
			for e := r.Enrolments.Resume(rng); e != nil; e = r.Enrolments.Resume(rng) {
				if err := e.Complete(t.Context(), c, rng); err != nil {
					t.Errorf("without faults: %v", err)
				}
			}
		})
	}
	clients.Wait()
}

// Settle waits until no event is pending: at most the lease of a dead process, plus the time until recovery finds the
// event, plus its attempts.
func (r *Workload) Settle(t *testing.T) {
	t.Helper()
	limit := time.Now().Add(2 * time.Minute) // also on a slow machine
	for strings.Contains(r.Run(t, "export", "--store", r.Store), `"status":"pending"`) {
		if time.Now().After(limit) {
			t.Fatal("events are still pending")
		}
		<-time.After(250 * time.Millisecond) // there is no notification of the last one
	}
}

// Check compares everything on record with everything that was answered and delivered. It returns how many
// commits had an answer that was lost.
func (r *Workload) Check(t *testing.T) (lost int) {
	t.Helper()
	byOrder := make(map[string]*Record)
	for _, on := range ReadRecords(t, r.Run(t, "export", "--store", r.Store)) {
		if byOrder[on.order()] != nil {
			t.Errorf("%s has two checkouts", on.order())
		}
		byOrder[on.order()] = on
	}
	r.checkDeliveries(t, byOrder)
	unique := make(map[string]string)
	for _, e := range r.Enrolments.All {
		on := byOrder[e.Provider+" "+e.Order]
		if on == nil {
			t.Errorf("%s of %s is not on record", e.Order, e.Provider)
			continue
		}
		delete(byOrder, on.order())
		on.check(t, e)
		for _, id := range append(e.IDs[:], e.Agreement[:]...) {
			if other := unique[id]; id != "" && other != "" {
				t.Errorf("%s and %s both have %s", other, on.order(), id)
			}
			unique[id] = on.order()
		}
		lost += 2 - e.Opened - e.Confirmed
	}
	for order := range byOrder {
		t.Errorf("%s is on record, but no client created it", order)
	}
	t.Logf("%d commits had an answer that was lost", lost)
	return lost
}

// checkDeliveries compares everything that was delivered with the record.
func (r *Workload) checkDeliveries(t *testing.T, byOrder map[string]*Record) {
	t.Helper()
	all := r.Receiver.Deliveries()
	checkSigned(t, all)
	if r.restored {
		r.checkDelivered(t, byOrder)
		return
	}
	byCheckout := make(map[string][]sandbox.Delivery)
	for _, h := range all {
		id := h.JSON.Text("data.checkout_id")
		byCheckout[id] = append(byCheckout[id], h)
	}
	for _, on := range byOrder {
		on.checkDeliveries(t, byCheckout[on.Text("checkout_id")], r)
		delete(byCheckout, on.Text("checkout_id"))
	}
	for id := range byCheckout {
		t.Errorf("checkout %s had events delivered, and is not on record", id)
	}
	t.Logf("%d deliveries of the events of %d checkouts", len(all), len(byOrder))
}

// Verdicts decides the answers of a receiver that is sometimes slow, sometimes fails, and never accepts some events,
// unless AcceptAll is set.
type Verdicts struct {
	AcceptAll bool

	mu                sync.Mutex
	rng               *rand.Rand
	accepted, refused map[string]int // by event id
}

func (v *Verdicts) answer(h sandbox.Delivery) int {
	id := h.JSON.Text("event_id")
	hash := fnv.New32a()
	hash.Write([]byte(id))
	v.mu.Lock()
	status, delay := http.StatusNoContent, time.Duration(0)
	switch percentile := v.rng.IntN(100); {
	case v.AcceptAll:
		v.accepted[id]++
	case hash.Sum32()%64 == 0, percentile < 5:
		status = http.StatusInternalServerError
		v.refused[id]++
	default:
		if percentile < 20 {
			delay = Within(v.rng, 0, 100*time.Millisecond)
		}
		v.accepted[id]++
	}
	v.mu.Unlock()
	<-time.After(delay)
	return status
}

// of returns how often an event was accepted and refused.
func (v *Verdicts) of(id string) (accepted, refused int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.accepted[id], v.refused[id]
}

// Configure applies the sandbox's providers to a store, with the URL of the receiver of their events, and issues a key
// for each, all with the operator's commands.
func Configure(t *testing.T, b proc.Binary, store, hooks string) (keys map[string]string) {
	t.Helper()
	b.Run(t, "apply", "-f", proc.TempFile(t, strings.ReplaceAll(sandbox.Providers, "HOOKS", hooks)), "--store", store)
	keys = make(map[string]string)
	for _, code := range []string{"KOWHAI", "TUI"} {
		keys[code] = strings.TrimSpace(b.Run(t, "keys", "issue", "--provider", code, "--store", store))
	}
	return keys
}

// NewRand returns a source of random moments. Its seed is logged, and CRASH_SEED repeats one.
func NewRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CRASH_SEED"); text != "" {
		if _, err := fmt.Sscan(text, &seed); err != nil {
			t.Fatalf("CRASH_SEED: %v", err)
		}
	}
	t.Logf("CRASH_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Within returns a random duration of at least low and less than high.
func Within(rng *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(rng.Int64N(int64(high-low)))
}
