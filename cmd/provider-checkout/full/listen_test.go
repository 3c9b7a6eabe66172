package full_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
	"github.com/provider-checkout/provider-checkout/events"
)

const (
	listenKills = 20 // of a run that is not long
	slowAnswer  = 2 * time.Second
	daySecret   = "whsec_of_the_developer"
)

// day is a day's events of a server, which a developer's receiver did not get.
type day struct {
	binary    proc.Binary
	base, key string
	own       *httptest.Server // the developer's receiver
	state     string
	events    int

	mu    sync.Mutex
	got   []string // ids, as the receiver took them
	times map[string]time.Time
	slow  int // events that came again because the answer took too long
}

// TestListenCatchesUp has a receiver that was away for a day catch up on 10,000 events, each once, with one "listen". How long it takes is
// logged: beside the other suites on two cores it is no measure.
func TestListenCatchesUp(t *testing.T) {
	t.Parallel()
	d := newDay(t, 10_000)
	began := time.Now()
	l := d.listens(t, "--since", "24h", "--state", d.state)
	d.awaitAll(t)
	t.Logf("%d events in %v, %d again after a slow answer", d.events, time.Since(began).Round(time.Millisecond), d.slow)
	d.kill(t, l)
	if len(d.got) != d.events {
		t.Errorf("the receiver got %d events, want %d, each once", len(d.got), d.events)
	}
}

// TestListenIsKilled kills listeners at random moments. Each may have sent the last event that it sent a second time.
func TestListenIsKilled(t *testing.T) {
	t.Parallel()
	d := newDay(t, 3000)
	l := d.listens(t, "--since", "24h", "--state", d.state)
	d.awaitAll(t)
	d.kill(t, l)
	listed := d.got

	d.got, d.times, d.state = nil, map[string]time.Time{}, d.state+"-2"
	rng, kills, again := workload.NewRand(t), 0, 0
	for ; d.count() < d.events; kills++ {
		before := len(d.got)
		l := d.listens(t, "--since", "24h", "--state", d.state)
		if kills < testlevel.Runs(t, listenKills) {
			<-time.After(workload.Within(rng, 20*time.Millisecond, 250*time.Millisecond))
		} else {
			d.awaitAll(t)
		}
		d.kill(t, l)
		again += d.repeated(t, before)
	}
	if firsts := slices.Compact(slices.Clone(d.got)); !slices.Equal(firsts, listed) {
		t.Errorf("the receiver got %d events in another order, want %d", len(firsts), len(listed))
	}
	if kills < listenKills/4 {
		t.Error("void: the listeners were hardly killed")
	}
	t.Logf("%d kills, %d events twice", kills, again)
}

// newDay makes the events.
func newDay(t *testing.T, n int) *day {
	d := &day{binary: built(t), state: filepath.Join(t.TempDir(), "place"), events: n, times: map[string]time.Time{}}
	store := newFile(t)
	operators := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(operators.Close)
	keys := workload.Configure(t, d.binary, store, operators.URL)
	d.base, d.key = d.binary.Serve(t, store).Listening(t), keys["KOWHAI"]
	d.own = httptest.NewServer(http.HandlerFunc(d.receive(t)))
	t.Cleanup(d.own.Close)
	c := apiclient.New(d.base, keys)
	orders := make([]string, n)
	for i := range orders {
		orders[i] = fmt.Sprintf("ENROL-%06d", i)
	}
	together(orders, 32, func(order string) {
		r, err := c.Create(context.Background(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, order))
		if err != nil || r.Status != http.StatusCreated {
			t.Errorf("create %s: %d %v %s", order, r.Status, err, r.Body)
		}
	})
	return d
}

// receive is the developer's receiver, which verifies signatures.
func (d *day) receive(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // of a listener that was killed
		}
		if err := events.Verify(daySecret, r.Header.Get(events.HeaderSignature), body, time.Now(), time.Minute); err != nil {
			t.Error(err)
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		id := r.Header.Get(events.HeaderEventID)
		former, again := d.times[id]
		if d.times[id] = time.Now(); again && time.Since(former) >= slowAnswer {
			d.slow++ // the listener took the former answer for lost
			return
		}
		d.got = append(d.got, id)
	}
}

// count returns how many events the receiver has.
func (d *day) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.times)
}

// awaitAll waits until the receiver has all events, however slow the disk is.
func (d *day) awaitAll(t *testing.T) {
	for range 5 * 600 {
		if d.count() == d.events {
			return
		}
		<-time.After(calm)
	}
	t.Fatalf("the receiver has %d events", d.count())
}

// listens starts a listener.
func (d *day) listens(t *testing.T, args ...string) *proc.Process {
	cmd := d.binary.Command(append([]string{"listen", "--base-url", d.base, "--forward-to", d.own.URL}, args...)...)
	cmd.Env = []string{"PROVIDER_CHECKOUT_KEY=" + d.key, "PROVIDER_CHECKOUT_SIGNING_SECRET=" + daySecret}
	return proc.Start(t, cmd)
}

// kill kills a listener, and waits for the end of the deliveries that it began.
func (d *day) kill(t *testing.T, l *proc.Process) {
	l.Kill(t)
	d.own.CloseClientConnections()
	d.mu.Lock()
	defer d.mu.Unlock()
}

// repeated returns how many events came again since the receiver had a number of them: the last of them may.
func (d *day) repeated(t *testing.T, before int) (n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, id := range d.got[before:] {
		switch former := slices.Index(d.got, id); {
		case former >= before+i:
		case i <= 1 && before+i > 0 && id == d.got[before+i-1]: // what a killed listener sent may come after its end
			n++
		default:
			t.Errorf("event %s came as number %d and as number %d of a listener that began at %d", id, former, before+i, before)
		}
	}
	return n
}
