// Package workload makes clients enrol students at servers that are killed, restarted and cut off, and then compares
// every answer and every delivered event with what is on record.
package workload

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
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
	Ledger     Ledger
	HeldUp     bool // deliveries may arrive long after they were sent
	Unsettled  bool // events may still be pending when the record is checked
	restored   bool // deliveries may be of a life that is not on record
}

// New configures the store, which --store names, and returns a workload without enrolments.
func New(t *testing.T, b proc.Binary, store string) *Workload {
	t.Helper()
	r := &Workload{Binary: b, Rand: NewRand(), Store: store, Receiver: sandbox.NewReceiver(t),
		Verdicts: &Verdicts{rng: NewRand(), accepted: make(map[string]int), refused: make(map[string]int)}}
	r.Receiver.AnswerWith(r.Verdicts.answer)
	r.Keys = Configure(t, b, store, r.Receiver.URL)
	return r
}

// Multiply configures n pairs of providers instead of one, and spreads further enrolments over them. The codes of the further pairs
// end with their number.
func (r *Workload) Multiply(t *testing.T, n int) {
	t.Helper()
	for i := 1; i < n; i++ {
		maps.Copy(r.Keys, configurePair(t, r.Binary, r.Store, r.Receiver.URL, i))
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

// Configure applies the sandbox's providers to a store, with the URL of the receiver of their events, and issues a key
// for each, all with the operator's commands.
func Configure(t *testing.T, b proc.Binary, store, hooks string) (keys map[string]string) {
	t.Helper()
	return configurePair(t, b, store, hooks, 0)
}

// configurePair is Configure of pair i of providers.
func configurePair(t *testing.T, b proc.Binary, store, hooks string, i int) (keys map[string]string) {
	t.Helper()
	b.Run(t, "apply", "-f", proc.TempFile(t, forPair(i, strings.ReplaceAll(sandbox.Providers, "HOOKS", hooks))), "--store", store)
	keys = make(map[string]string)
	for _, code := range []string{forPair(i, "KOWHAI"), forPair(i, "TUI")} {
		keys[code] = strings.TrimSpace(b.Run(t, "keys", "issue", "--provider", code, "--store", store))
	}
	return keys
}

// Finish makes clients complete every open enrolment. Nothing may interrupt the servers meanwhile.
func (r *Workload) Finish(t *testing.T, c *apiclient.Client) {
	t.Helper()
	var clients sync.WaitGroup
	for range finishing {
		rng := NewRand()
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

// Records returns what is on record, and notes what its identifiers stand for.
func (r *Workload) Records(t *testing.T) []*Record {
	t.Helper()
	on := ReadRecords(t, r.Run(t, "export", "--store", r.Store))
	r.Ledger.records(on)
	return on
}

// Check compares everything on record with everything that was answered and delivered. It returns how many
// commits had an answer that was lost.
func (r *Workload) Check(t *testing.T) (lost int) {
	t.Helper()
	byOrder := make(map[string]*Record)
	for _, on := range r.Records(t) {
		if byOrder[on.order()] != nil {
			t.Errorf("%s has two checkouts", on.order())
		}
		byOrder[on.order()] = on
	}
	r.checkDeliveries(t, byOrder)
	for _, e := range r.Enrolments.All {
		on := byOrder[e.name()]
		delete(byOrder, e.name())
		if on == nil {
			t.Errorf("%s is not on record", e.name())
		} else if got, want := on.facts(), e.facts(); !slices.Equal(got, want) {
			t.Errorf("%s is on record as %q, and was answered as %q", e.name(), got, want)
		}
		lost += 2 - e.Opened - e.Confirmed
	}
	for order := range byOrder {
		t.Errorf("%s is on record, but no client created it", order)
	}
	for _, wrong := range r.Ledger.wrong {
		t.Error(wrong)
	}
	r.checkAgreements(t)
	t.Logf("%d commits had an answer that was lost", lost)
	return lost
}

// checkAgreements checks that the agreement of every enrolment is as it was signed, with a schedule of the whole price.
func (r *Workload) checkAgreements(t *testing.T) {
	t.Helper()
	verified := map[string]bool{}
	for line := range strings.Lines(r.Run(t, "agreements", "verify", "--all", "--store", r.Store)) {
		number, _, _ := strings.Cut(line, " ")
		verified[number] = true
	}
	if want := len(r.Enrolments.All); len(verified) != want || want == 0 {
		t.Errorf("%d agreements were verified, want those of %d enrolments", len(verified), want)
	}
}

// checkDeliveries compares everything that was delivered with the record.
func (r *Workload) checkDeliveries(t *testing.T, byOrder map[string]*Record) {
	t.Helper()
	byCheckout := make(map[string][]sandbox.Delivery)
	for _, d := range r.Receiver.Deliveries() {
		checkSigned(t, d)
		r.Ledger.note("event", d.JSON.Text("event_id"), string(d.Body))
		id := d.JSON.Text("data.checkout_id")
		byCheckout[id] = append(byCheckout[id], d)
	}
	for _, on := range byOrder {
		on.checkDeliveries(t, byCheckout[on.Text("checkout_id")], r)
		delete(byCheckout, on.Text("checkout_id"))
	}
	for id := range byCheckout {
		if !r.restored {
			t.Errorf("checkout %s had events delivered, and is not on record", id)
		}
	}
}

// Restored has the clients know no more of their enrolments than a store that was restored to an earlier moment has on
// record, and complete all of them again.
func (r *Workload) Restored(on []*Record) {
	r.restored, r.HeldUp = true, true
	byOrder := make(map[string]*Record)
	for _, record := range on {
		byOrder[record.order()] = record
	}
	es := &r.Enrolments
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, e := range es.All {
		switch record := byOrder[e.name()]; {
		case record == nil:
			*e = Enrolment{Provider: e.Provider, Order: e.Order, key: e.key, Body: e.Body}
		case record.Text("status") != "confirmed":
			e.setUp, e.Agreement, e.Confirmed = false, [2]string{}, 0
		}
	}
	es.Open = slices.Clone(es.All)
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

// NewRand returns a source of random moments.
func NewRand() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), 0)) }

// Within returns a random duration of at least low and less than high.
func Within(rng *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(rng.Int64N(int64(high-low)))
}
