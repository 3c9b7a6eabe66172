package full_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
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

const (
	missedKills   = 40 // of a run that is not long
	missedPerKill = 50 // events that are made in the life of a server, at least
	missedClients = 64
)

type listedEvent struct{ cursor, id string }

// missedRun is a store whose servers are killed, and a provider whose receiver is away.
type missedRun struct {
	t      *testing.T
	keys   map[string]string
	server atomic.Pointer[apiclient.Client] // of the server that was started last
	orders atomic.Int64
	calm   atomic.Bool  // no server is killed any more
	cut    atomic.Int64 // creates without an answer

	answered sync.Map // ids of the checkouts whose creates were answered
}

// TestMissedEvents has a receiver that is away catch up by the list of events, while servers on one store are killed at random
// moments: while 64 clients make events, and, from the middle of the kills on, while the list is read too. A reader asks for
// the same page again until it is answered, and begins anew when it is at the end. Each of its passes must be the beginning of
// the last, which has every event once. A long run has as many kills, each after 50 events or more:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=2000 go test -run TestMissedEvents -timeout 1h -v ./cmd/provider-checkout/full
func TestMissedEvents(t *testing.T) {
	t.Parallel()
	binary := built(t)
	dir := t.TempDir()
	store := "sqlite:" + filepath.Join(dir, "records.db")
	r := &missedRun{t: t, keys: workload.Configure(t, binary, store, "http://127.0.0.1:1")}
	rng, kills := workload.NewRand(t), testlevel.Runs(t, missedKills)
	var reading sync.WaitGroup
	var passes [][]listedEvent
	for n := range kills {
		p := binary.Serve(t, store)
		r.server.Store(apiclient.New(p.Listening(t), r.keys))
		if n == kills/2 {
			reading.Go(func() { passes = r.read() })
		}
		r.live(p, workload.Within(rng, 150*time.Millisecond, 400*time.Millisecond))
	}
	p := binary.Serve(t, store)
	r.server.Store(apiclient.New(p.Listening(t), r.keys))
	r.calm.Store(true)
	reading.Wait()
	p.Stop(t, syscall.SIGTERM)
	checkIntact(t, filepath.Join(dir, "records.db"))
	r.check(passes, workload.ReadRecords(t, binary.Run(t, "export", "--store", store)), kills)
}

// live has clients make events with a server that is killed after a time, and after some events on a slow machine.
func (r *missedRun) live(p *proc.Process, life time.Duration) {
	c, body := r.server.Load(), sandbox.CatalogueCreate
	var clients sync.WaitGroup
	var made atomic.Int64
	for range missedClients {
		clients.Go(func() {
			for {
				order := fmt.Sprintf("ENROL-%06d", r.orders.Add(1))
				created, err := c.Create(context.Background(), "KOWHAI", sandbox.Order(body, order))
				switch {
				case err != nil:
					return
				case created.Status == http.StatusCreated:
					r.answered.Store(created.String("checkout.checkout_id"), true)
					made.Add(1)
				case created.Status == http.StatusServiceUnavailable: // the disk is slow
					<-time.After(calm)
				default:
					r.t.Errorf("create %s: %d %s", order, created.Status, created.Body)
				}
			}
		})
	}
	<-time.After(life)
	eventually(r.t, "the clients make events", func() bool { return made.Load() >= missedPerKill })
	p.Kill(r.t)
	clients.Wait()
	r.cut.Add(c.Cut.Load())
}

// read reads the list again and again, the last time with no kill any more, and returns the events of each pass.
func (r *missedRun) read() (passes [][]listedEvent) {
	for calm := false; !calm; {
		calm = r.calm.Load()
		var pass []listedEvent
		for after, limit := "0", 1; ; limit = limit%100 + 7 {
			page := r.page(after, min(limit, 100))
			next := page.String("next")
			list, _ := page.At("events").([]any)
			for _, entry := range list {
				e := apiclient.Object(entry.(map[string]any))
				cursor, id := e.Text("cursor"), e.Text("event_id")
				if !precedes(after, cursor) {
					r.t.Errorf("event %s has the cursor %s, and comes behind %s", id, cursor, after)
				}
				after, pass = cursor, append(pass, listedEvent{cursor, id})
			}
			if next != after {
				r.t.Errorf("a page that ends at %s goes on at %s", after, next)
			}
			if len(list) == 0 {
				break
			}
		}
		passes = append(passes, pass)
	}
	return passes
}

// precedes reports whether a number is below another one.
func precedes(a, b string) bool {
	x, err := strconv.ParseInt(a, 10, 64)
	y, fault := strconv.ParseInt(b, 10, 64)
	return err == nil && fault == nil && x < y
}

// page asks for a page until it is answered.
func (r *missedRun) page(after string, limit int) apiclient.Response {
	for began := time.Now(); ; <-time.After(calm / 10) {
		page, err := r.server.Load().Call(context.Background(), "KOWHAI", http.MethodGet,
			fmt.Sprintf("/v1/events?after=%s&limit=%d", after, limit), "")
		switch {
		case err == nil && page.Status == http.StatusOK:
			return page
		case testlevel.Elapsed(began) > patience, err == nil && page.Status != http.StatusServiceUnavailable:
			r.t.Errorf("the page behind %s: %d %s %v", after, page.Status, page.Body, err)
			return page
		}
	}
}

// check compares the passes with each other and with what is on record.
func (r *missedRun) check(passes [][]listedEvent, all []*workload.Record, kills int) {
	r.t.Helper()
	recorded := make(map[string]int) // how often an event is in the last pass
	for _, on := range all {
		r.answered.Delete(on.Text("checkout_id"))
		for _, e := range on.Related["event"] {
			recorded[e.Text("event_id")] = 0
		}
	}
	r.answered.Range(func(id, _ any) bool {
		r.t.Errorf("checkout %s was answered and is not on record", id)
		return true
	})
	last, longest := passes[len(passes)-1], 0
	for i, pass := range passes[:len(passes)-1] {
		longest = max(longest, len(pass))
		if len(pass) > len(last) || !slices.Equal(pass, last[:len(pass)]) {
			r.t.Errorf("the %d events of pass %d are not the beginning of the last pass", len(pass), i)
		}
	}
	for _, e := range last {
		recorded[e.id]++
	}
	for id, times := range recorded {
		if times != 1 {
			r.t.Errorf("event %s is in the list %d times", id, times)
		}
	}
	r.t.Logf("%d kills cut %d creates; %d events on record, read in %d passes, %d of them by one that began amid the kills",
		kills, r.cut.Load(), len(recorded), len(passes), longest)
	if len(recorded) < missedPerKill*kills || r.cut.Load() == 0 || longest == 0 {
		r.t.Errorf("void: want %d events, creates that were cut, and a pass amid the kills", missedPerKill*kills)
	}
}
