package full_test

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

// workload is the enrolments on one store, with all answers to their clients and all deliveries to the receiver.
type workload struct {
	proc.Binary
	rand       *rand.Rand
	place      string
	keys       map[string]string
	receiver   *sandbox.Receiver
	verdicts   *verdicts
	enrolments enrolments
	ledger     ledger
	heldUp     bool // deliveries may arrive long after they were sent
	unsettled  bool // events may still be pending when the record is checked
	restored   bool // deliveries may be of a life that is not on record
}

// newWorkload configures the store, which --store names, and returns a workload without enrolments.
func newWorkload(t *testing.T, b proc.Binary, store string) *workload {
	t.Helper()
	r := &workload{Binary: b, rand: newRand(), place: store, receiver: sandbox.NewReceiver(t),
		verdicts: &verdicts{rng: newRand(), accepted: make(map[string]int), refused: make(map[string]int)}}
	r.receiver.AnswerWith(r.verdicts.answer)
	r.keys = configure(t, b, store, r.receiver.URL)
	return r
}

// multiply configures n pairs of providers instead of one, and spreads further enrolments over them. The codes of the further pairs
// end with their number.
func (r *workload) multiply(t *testing.T, n int) {
	t.Helper()
	for i := 1; i < n; i++ {
		maps.Copy(r.keys, configurePair(t, r.Binary, r.place, r.receiver.URL, i))
	}
	r.enrolments.pairs = n
}

// forPair returns a text about the first pair of providers as a text about pair i.
func forPair(i int, text string) string {
	if i == 0 {
		return text
	}
	return strings.NewReplacer("KOWHAI", fmt.Sprint("KOWHAI", i), "TUI", fmt.Sprint("TUI", i)).Replace(text)
}

// configure applies the sandbox's providers to a store, with the URL of the receiver of their events, and issues a key
// for each, all with the operator's commands.
func configure(t *testing.T, b proc.Binary, store, hooks string) (keys map[string]string) {
	t.Helper()
	return configurePair(t, b, store, hooks, 0)
}

// configurePair is configure of pair i of providers.
func configurePair(t *testing.T, b proc.Binary, store, hooks string, i int) (keys map[string]string) {
	t.Helper()
	b.Run(t, "apply", "-f", proc.TempFile(t, forPair(i, strings.ReplaceAll(sandbox.Providers, "HOOKS", hooks))), "--store", store)
	keys = make(map[string]string)
	for _, code := range []string{forPair(i, "KOWHAI"), forPair(i, "TUI")} {
		keys[code] = strings.TrimSpace(b.Run(t, "keys", "issue", "--provider", code, "--store", store))
	}
	return keys
}

// finish makes clients complete every open enrolment. Nothing may interrupt the servers meanwhile.
func (r *workload) finish(t *testing.T, c *apiclient.Client) {
	t.Helper()
	var clients sync.WaitGroup
	for range finishing {
		rng := newRand()
		clients.Go(func() {
			for e := r.enrolments.resume(rng); e != nil; e = r.enrolments.resume(rng) {
				if err := e.complete(t.Context(), c, rng); err != nil {
					t.Errorf("without faults: %v", err)
				}
			}
		})
	}
	clients.Wait()
}

// settle waits until no event is pending: at most the lease of a dead process, plus the time until recovery finds the
// event, plus its attempts.
func (r *workload) settle(t *testing.T) {
	t.Helper()
	limit := time.Now().Add(2 * time.Minute) // also on a slow machine
	for strings.Contains(r.Run(t, "export", "--store", r.place), `"status":"pending"`) {
		if time.Now().After(limit) {
			t.Fatal("events are still pending")
		}
		<-time.After(250 * time.Millisecond) // there is no notification of the last one
	}
}

// records returns what is on record, and notes what its identifiers stand for.
func (r *workload) records(t *testing.T) []*record {
	t.Helper()
	on := readRecords(t, r.Run(t, "export", "--store", r.place))
	r.ledger.records(on)
	return on
}

// check compares everything on record with everything that was answered and delivered. It returns how many
// commits had an answer that was lost.
func (r *workload) check(t *testing.T) (lost int) {
	t.Helper()
	byOrder := make(map[string]*record)
	for _, on := range r.records(t) {
		if byOrder[on.order()] != nil {
			t.Errorf("%s has two checkouts", on.order())
		}
		byOrder[on.order()] = on
	}
	r.checkDeliveries(t, byOrder)
	for _, e := range r.enrolments.all {
		on := byOrder[e.name()]
		delete(byOrder, e.name())
		if on == nil {
			t.Errorf("%s is not on record", e.name())
		} else if got, want := on.facts(), e.facts(); !slices.Equal(got, want) {
			t.Errorf("%s is on record as %q, and was answered as %q", e.name(), got, want)
		}
		lost += 2 - e.opened - e.confirmed
	}
	for order := range byOrder {
		t.Errorf("%s is on record, but no client created it", order)
	}
	for _, wrong := range r.ledger.wrong {
		t.Error(wrong)
	}
	r.checkAgreements(t)
	t.Logf("%d commits had an answer that was lost", lost)
	return lost
}

// checkAgreements checks that the agreement of every enrolment is as it was signed, with a schedule of the whole price.
func (r *workload) checkAgreements(t *testing.T) {
	t.Helper()
	verified := map[string]bool{}
	for line := range strings.Lines(r.Run(t, "agreements", "verify", "--all", "--store", r.place)) {
		number, _, _ := strings.Cut(line, " ")
		verified[number] = true
	}
	if want := len(r.enrolments.all); len(verified) != want || want == 0 {
		t.Errorf("%d agreements were verified, want those of %d enrolments", len(verified), want)
	}
}

// checkDeliveries compares everything that was delivered with the record.
func (r *workload) checkDeliveries(t *testing.T, byOrder map[string]*record) {
	t.Helper()
	byCheckout := make(map[string][]sandbox.Delivery)
	for _, d := range r.receiver.Deliveries() {
		checkSigned(t, d)
		r.ledger.note("event", d.JSON.Text("event_id"), string(d.Body))
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

// rewind has the clients know no more of their enrolments than a store that was restored to an earlier moment has on
// record, and complete all of them again.
func (r *workload) rewind(on []*record) {
	r.restored, r.heldUp = true, true
	byOrder := make(map[string]*record)
	for _, record := range on {
		byOrder[record.order()] = record
	}
	es := &r.enrolments
	es.mu.Lock()
	defer es.mu.Unlock()
	for _, e := range es.all {
		switch record := byOrder[e.name()]; {
		case record == nil:
			*e = enrolment{provider: e.provider, order: e.order, key: e.key, body: e.body}
		case record.Text("status") != "confirmed":
			e.isSetUp, e.agreement, e.confirmed = false, [2]string{}, 0
		}
	}
	es.open = slices.Clone(es.all)
}

// verdicts decides the answers of a receiver that is sometimes slow, sometimes fails, and never accepts some events,
// unless AcceptAll is set.
type verdicts struct {
	acceptAll bool

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
	switch percentile := v.rng.IntN(100); {
	case v.acceptAll:
		v.accepted[id]++
	case hash.Sum32()%64 == 0, percentile < 5:
		status = http.StatusInternalServerError
		v.refused[id]++
	default:
		if percentile < 20 {
			delay = within(v.rng, 0, 100*time.Millisecond)
		}
		v.accepted[id]++
	}
	v.mu.Unlock()
	<-time.After(delay)
	return status
}

// of returns how often an event was accepted and refused.
func (v *verdicts) of(id string) (accepted, refused int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.accepted[id], v.refused[id]
}

// newRand returns a source of random moments.
func newRand() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), 0)) }

// within returns a random duration of at least low and less than high.
func within(rng *rand.Rand, low, high time.Duration) time.Duration {
	return low + time.Duration(rng.Int64N(int64(high-low)))
}
