package full_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// TestBinary tests what only a process of the program can show: that it starts, stops and is
// killed without harm. The other tests run its commands within their own process.
func TestBinary(t *testing.T) {
	t.Parallel()
	b := newSuite(t)
	t.Run("finishes a first start that was killed", b.finishesAKilledFirstStart)
	t.Run("drains on SIGTERM", b.drains)
	t.Run("serves on whatever becomes of the reader of its log", b.servesWithoutALog)
	t.Run("demonstrates itself in a shell until SIGINT", b.demonstrates)
	t.Run("survives being killed at any moment", b.survivesKills)
}

// ownersAlone checks that only the owner may open the files of the folder, and returns their names.
func ownersAlone(t testing.TB, dir string) string {
	t.Helper()
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("the mode of %s is %v, want 0600", e.Name(), info.Mode())
		}
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// checkIntact runs SQLite's integrity check on a store that is not open.
func checkIntact(t *testing.T, store string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+store+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow(`PRAGMA quick_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("quick_check says %q, %v", verdict, err)
	}
}

const (
	crashRounds  = 50
	crashClients = 16
)

// crashRun is a store in a folder, whose servers are killed one after the other.
type crashRun struct {
	*workload
	dir     string
	longest time.Duration // that a server lives under load
	hit     int           // kills that cut a request
	reader  reader
}

// Servers on one store are killed, each at a random moment: during its start, under the load of 16
// clients, or during its shutdown. Then a last one runs undisturbed until every enrolment is
// confirmed and no event is pending, and the record is compared with every answer that a client got, and with the list of events
// as a provider reads it meanwhile.
//
// A long run has as many enrolments, or more: the servers then live for seconds, and there are as many as that takes.
func (b suite) survivesKills(t *testing.T) {
	rounds, lives, longest := crashRounds, 0, 400*time.Millisecond
	if testlevel.IsLong() {
		lives, longest = testlevel.Runs(t, 0), 10*time.Second
	}
	dir := t.TempDir()
	r := &crashRun{workload: newWorkload(t, b.Binary, "sqlite:"+filepath.Join(dir, "records.db")), dir: dir, longest: longest}
	r.reader.begin(t)
	n := 0
	for ; n < rounds || len(r.enrolments.all) < lives; n++ {
		r.round(t, n)
	}
	rounds = n
	t.Logf("%d of %d kills cut a request that was under way; %d enrolments, %d of them incomplete",
		r.hit, rounds, len(r.enrolments.all), len(r.enrolments.open))
	if r.hit < rounds*2/5 {
		t.Errorf("void: only %d of %d kills cut a request that was under way", r.hit, rounds)
	}

	p := r.Serve(t, r.place)
	base, restarted := p.Listening(t), time.Now()
	r.reader.server.Store(apiclient.New(base, r.keys))
	r.finish(t, apiclient.New(base, r.keys))
	t.Logf("every enrolment was done %v after the restart", time.Since(restarted))
	r.settle(t)
	t.Logf("no event was pending %v after the restart", time.Since(restarted))
	passes := r.reader.end()
	p.Stop(t, syscall.SIGTERM)
	checkIntact(t, filepath.Join(dir, "records.db"))
	if lost := r.check(t); lost == 0 {
		t.Error("void: no kill came between a commit and its answer")
	}
	r.checkTakenUp(t, restarted)
	checkPasses(t, passes, r.records(t))
}

// round starts a server and kills it: in one of six rounds before it listens, in another one of six
// while it shuts down, otherwise under load.
func (r *crashRun) round(t *testing.T, n int) {
	t.Helper()
	p := r.Serve(t, r.place)
	if n%6 == 3 {
		<-time.After(within(r.rand, 0, 20*time.Millisecond))
		p.Kill(t)
		return
	}
	base := p.Listening(t)
	c := apiclient.New(base, r.keys)
	r.reader.server.Store(apiclient.New(base, r.keys))
	stop := load{clients: crashClients, excused: apiclient.IsCut, once: true}.enrol(t, r.workload, c)
	<-time.After(within(r.rand, 50*time.Millisecond, r.longest))
	if n%6 == 5 {
		p.Signal(t, syscall.SIGTERM)
		<-time.After(within(r.rand, 0, 30*time.Millisecond))
	}
	p.Kill(t)
	stop()
	if c.Cut.Load() > 0 {
		r.hit++
	}
	ownersAlone(t, r.dir)
}

// checkTakenUp checks that deliveries that a kill cut off were recovered in time.
func (r *crashRun) checkTakenUp(t *testing.T, restarted time.Time) {
	t.Helper()
	first := make(map[string]time.Duration) // delivery of each checkout's older events since
	for _, h := range r.receiver.Deliveries() {
		made, err := time.Parse(time.RFC3339, h.JSON.Text("created_at"))
		if err != nil {
			t.Fatal(err)
		}
		id := h.JSON.Text("data.checkout_id")
		if _, known := first[id]; !known && made.Before(restarted) && h.At.After(restarted) {
			first[id] = testlevel.Between(restarted, h.At)
		}
	}
	var slowest time.Duration
	for id, took := range first {
		if slowest = max(slowest, took); took > 15*time.Second {
			t.Errorf("the events of %s were recovered %v after the restart, want within 15 s", id, took)
		}
	}
	t.Logf("the events of %d checkouts were recovered, the last %v after the restart", len(first), slowest)
	if len(first) == 0 {
		t.Error("void: no kill cut a delivery off")
	}
}

// reader is KOWHAI, which reads the list of its events again and again, each time from its beginning to its end.
type reader struct {
	server  atomic.Pointer[apiclient.Client] // of the server that was started last
	calm    atomic.Bool                      // no server is killed any more
	reading sync.WaitGroup
	passes  [][]string // the ids of the events
}

func (r *reader) begin(t *testing.T) {
	t.Cleanup(func() { r.end() })
	r.reading.Go(func() {
		for last := false; !last; {
			last = r.calm.Load()
			r.passes = append(r.passes, r.pass(t))
		}
	})
}

// end returns the events of each pass, of which the last one began when no server was killed any more.
func (r *reader) end() [][]string {
	r.calm.Store(true)
	r.reading.Wait()
	return r.passes
}

// pass reads the list once. It asks for the same page again until it is answered.
func (r *reader) pass(t *testing.T) (ids []string) {
	after, limit := "0", 1
	for began := time.Now(); testlevel.Elapsed(began) < patience && !t.Failed(); <-time.After(calm / 10) {
		c := r.server.Load()
		if c == nil { // no server has listened yet
			continue
		}
		page, err := c.Call(context.Background(), "KOWHAI", http.MethodGet, fmt.Sprintf("/v1/events?after=%s&limit=%d", after, limit), "")
		if err != nil || page.Status != http.StatusOK {
			continue
		}
		list := page.List("events")
		if len(list) == 0 {
			return ids
		}
		for _, e := range list {
			ids = append(ids, e.Text("event_id"))
		}
		after, limit, began = page.String("next"), min(limit+7, 100), time.Now()
	}
	t.Errorf("the page behind %s is not answered", after)
	return ids
}

// checkPasses checks that each pass over the list is the beginning of the last, which has every event on record once.
func checkPasses(t *testing.T, passes [][]string, on []*record) {
	t.Helper()
	last, longest := passes[len(passes)-1], 0
	for i, pass := range passes[:len(passes)-1] {
		longest = max(longest, len(pass))
		if len(pass) > len(last) || !slices.Equal(pass, last[:len(pass)]) {
			t.Errorf("the %d events of pass %d are not the beginning of the last pass", len(pass), i)
		}
	}
	var recorded []string
	for _, r := range on {
		for _, e := range r.related["event"] {
			if r.Text("provider_code") == "KOWHAI" {
				recorded = append(recorded, e.Text("event_id"))
			}
		}
	}
	t.Logf("%d events were read in %d passes, %d of them by one that began amid the kills", len(last), len(passes), longest)
	if !slices.Equal(slices.Sorted(slices.Values(last)), slices.Sorted(slices.Values(recorded))) {
		t.Errorf("the list has the events %q, and on record are %q", last, recorded)
	}
	if longest == 0 {
		t.Error("void: no pass began amid the kills")
	}
}
