package full_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// slowWorld is a server with its store, and the receivers of both providers on one host and port.
type slowWorld struct {
	*apiclient.Client
	binary   proc.Binary
	store    string
	server   *proc.Process
	receiver *sandbox.Receiver
	waiting  atomic.Int64 // requests that wait for their answers
}

// newSlowWorld starts a server, whose receivers take a time for each answer, by provider.
func newSlowWorld(t *testing.T, binary proc.Binary, takes map[string]time.Duration) *slowWorld {
	t.Helper()
	w := &slowWorld{binary: binary, store: newFile(t), receiver: sandbox.NewReceiver(t)}
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) }) // before the receiver is closed, which waits for its answers
	w.receiver.AnswerWith(func(d sandbox.Delivery) int {
		w.waiting.Add(1)
		defer w.waiting.Add(-1)
		select {
		case <-time.After(takes[d.Provider]):
		case <-ended:
		}
		return http.StatusNoContent
	})
	keys := workload.Configure(t, binary, w.store, w.receiver.URL)
	w.server = binary.Serve(t, w.store)
	w.Client = apiclient.New(w.server.Listening(t), keys)
	return w
}

// create opens a checkout, and returns how long that took.
func (w *slowWorld) create(t *testing.T, provider, order string) time.Duration {
	body := map[string]string{"KOWHAI": sandbox.CatalogueCreate, "TUI": sandbox.LegacyCreate}[provider]
	start := time.Now()
	r, err := w.Call(context.Background(), provider, http.MethodPost, "/v1/provider-checkouts", sandbox.Order(body, order))
	if err != nil || r.Status != http.StatusCreated {
		t.Errorf("create %s: status %d, %v %s", order, r.Status, err, r.Body)
	}
	return testlevel.Elapsed(start)
}

// crowd has a provider create many checkouts at once. done waits for the answers.
func (w *slowWorld) crowd(t *testing.T, provider string, many int) (done func()) {
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() { w.create(t, provider, fmt.Sprint(provider, "-", i)) })
	}
	return all.Wait
}

// events returns the events on record of a provider.
func (w *slowWorld) events(t *testing.T, provider string) (all []apiclient.Object) {
	t.Helper()
	for _, r := range workload.ReadRecords(t, w.binary.Run(t, "export", "--store", w.store)) {
		if r.Text("provider_code") == provider {
			all = append(all, r.Related["event"]...)
		}
	}
	return all
}

// checkAttempts checks that every attempt on record is a request that the receiver got. Where the receiver hangs there may be
// more: an attempt may end before the receiver, on a busy machine, has read its request.
func (w *slowWorld) checkAttempts(t *testing.T, all []apiclient.Object, hangs bool) {
	t.Helper()
	requests := make(map[string]int) // by event id
	for _, d := range w.receiver.Deliveries() {
		requests[d.JSON.Text("event_id")]++
	}
	for _, e := range all {
		n, err := e.At("attempts").(json.Number).Int64()
		if got := requests[e.Text("event_id")]; err != nil || int(n) < got || int(n) > got && !hangs {
			t.Errorf("event %s is %s after %d attempts on record, and its receiver got %d", e.Text("event_id"), e.Text("status"), n, got)
		}
	}
}

// TestReceivers runs a server against receivers of events that are slow or hang, over HTTP, and compares what is on
// record with the requests that they received. Each test is run once, or as often as a long run says:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=10 go test -run TestReceivers -timeout 1h -v ./cmd/provider-checkout/full
func TestReceivers(t *testing.T) {
	t.Parallel()
	binary := built(t)
	t.Run("a burst to a slow receiver loses no event", func(t *testing.T) { burstToASlowReceiver(t, binary) })
	t.Run("a hanging receiver delays no other on its host", func(t *testing.T) { hangingReceiver(t, binary) })
}

// A receiver that answers within its two seconds loses no event, however many come at once.
func burstToASlowReceiver(t *testing.T, binary proc.Binary) {
	for round := range testlevel.Runs(t, 1) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			const many = 400
			w := newSlowWorld(t, binary, map[string]time.Duration{"KOWHAI": time.Second})
			start := time.Now()
			w.crowd(t, "KOWHAI", many)()
			answered := time.Since(start)
			eventually(t, "every event is settled", func() bool {
				return !strings.Contains(w.binary.Run(t, "events", "list", "--store", w.store, "--status", "pending"), "evt_")
			})
			t.Logf("%d creates were answered within %v, and their events settled within %v", many, answered, time.Since(start))
			w.server.Stop(t, syscall.SIGTERM)
			all := w.events(t, "KOWHAI")
			w.checkAttempts(t, all, false)
			delivered := 0
			for _, e := range all {
				if e.Text("status") == "delivered" {
					delivered++
				}
			}
			if delivered != many {
				t.Errorf("%d of %d events were delivered", delivered, many)
			}
		})
	}
}

// Two providers have their receivers on one host and port. One hangs, with hundreds of events; the creates of the other take
// as long as before, and its events are delivered at the first attempt.
func hangingReceiver(t *testing.T, binary proc.Binary) {
	for round := range testlevel.Runs(t, 1) {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			const creates, hanging = 60, 300
			w := newSlowWorld(t, binary, map[string]time.Duration{"KOWHAI": 10 * time.Second})
			median := func(name string) time.Duration {
				var took []time.Duration
				for i := range creates {
					took = append(took, w.create(t, "TUI", fmt.Sprint(name, "-", i)))
				}
				slices.Sort(took)
				return took[creates/2]
			}
			median("WARM")
			quiet := median("QUIET")
			done := w.crowd(t, "KOWHAI", hanging)
			// Of the 64 at once; the others pause between attempts.
			eventually(t, "40 requests wait", func() bool { return w.waiting.Load() >= 40 })
			loaded := median("LOADED")
			t.Logf("the median create took %v, and %v (%.1f times as long) beside the hanging receiver", quiet, loaded,
				loaded.Seconds()/quiet.Seconds())
			// What a machine that others use adds is far below what a wait for a connection did: two seconds.
			if limit := 3*quiet + 100*time.Millisecond; loaded > limit {
				t.Errorf("the median create took %v beside the hanging receiver, want at most %v", loaded, limit)
			}
			done()
			w.server.Stop(t, syscall.SIGTERM)
			w.checkAttempts(t, w.events(t, "KOWHAI"), true)
			all := w.events(t, "TUI")
			w.checkAttempts(t, all, false)
			for _, e := range all {
				if e.Text("status") != "delivered" || e.At("attempts") != json.Number("1") {
					t.Errorf("event %s is %s after %v attempts, want it delivered at the first", e.Text("event_id"), e.Text("status"), e.At("attempts"))
				}
			}
			if len(all) != 3*creates {
				t.Errorf("%d events, want %d", len(all), 3*creates)
			}
		})
	}
}
