package full_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
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
	*workload.Workload
	dir     string
	longest time.Duration // that a server lives under load
	hit     int           // kills that cut a request
}

// Servers on one store are killed, each at a random moment: during its start, under the load of 16
// clients, or during its shutdown. Then a last one runs undisturbed until every enrolment is
// confirmed and no event is pending, and the record is compared with every answer that a client got.
//
// A long run has as many enrolments, or more: the servers then live for seconds, and there are as many as that takes.
func (b suite) survivesKills(t *testing.T) {
	rounds, lives, longest := crashRounds, 0, 400*time.Millisecond
	if testlevel.IsLong() {
		lives, longest = testlevel.Runs(t, 0), 10*time.Second
	}
	dir := t.TempDir()
	r := &crashRun{Workload: workload.New(t, b.Binary, "sqlite:"+filepath.Join(dir, "records.db")), dir: dir, longest: longest}
	n := 0
	for ; n < rounds || len(r.Enrolments.All) < lives; n++ {
		r.round(t, n)
	}
	rounds = n
	t.Logf("%d of %d kills cut a request that was under way; %d enrolments, %d of them incomplete",
		r.hit, rounds, len(r.Enrolments.All), len(r.Enrolments.Open))
	if r.hit < rounds*2/5 {
		t.Errorf("void: only %d of %d kills cut a request that was under way", r.hit, rounds)
	}

	p := r.Serve(t, r.Store)
	base, restarted := p.Listening(t), time.Now()
	r.Finish(t, apiclient.New(base, r.Keys))
	t.Logf("every enrolment was done %v after the restart", time.Since(restarted))
	r.Settle(t)
	t.Logf("no event was pending %v after the restart", time.Since(restarted))
	p.Stop(t, syscall.SIGTERM)
	checkIntact(t, filepath.Join(dir, "records.db"))
	r.checkVerified(t)
	if lost := r.Check(t); lost == 0 {
		t.Error("void: no kill came between a commit and its answer")
	}
	r.checkTakenUp(t, restarted)
}

// checkVerified checks that no kill left an agreement that looks forged.
func (r *crashRun) checkVerified(t *testing.T) {
	t.Helper()
	verified := verifiedAgreements(r.Run(t, "agreements", "verify", "--all", "--store", r.Store))
	t.Logf("%d agreements were verified", verified)
	if want := len(r.Enrolments.All); verified != want || want == 0 {
		t.Errorf("%d agreements were verified, want those of %d enrolments", verified, want)
	}
}

// verifiedAgreements returns the number of the agreements that agreements verify has printed.
func verifiedAgreements(printed string) int {
	numbers := map[string]bool{}
	for line := range strings.Lines(printed) {
		number, _, _ := strings.Cut(line, " ")
		numbers[number] = true
	}
	return len(numbers)
}

// round starts a server and kills it: in one of six rounds before it listens, in another one of six
// while it shuts down, otherwise under load.
func (r *crashRun) round(t *testing.T, n int) {
	t.Helper()
	p := r.Serve(t, r.Store)
	if n%6 == 3 {
		<-time.After(workload.Within(r.Rand, 0, 20*time.Millisecond))
		p.Kill(t)
		return
	}
	c := apiclient.New(p.Listening(t), r.Keys)
	stop := load{clients: crashClients, excused: apiclient.IsCut, once: true}.enrol(t, r.Workload, c)
	<-time.After(workload.Within(r.Rand, 50*time.Millisecond, r.longest))
	if n%6 == 5 {
		p.Signal(t, syscall.SIGTERM)
		<-time.After(workload.Within(r.Rand, 0, 30*time.Millisecond))
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
	for _, h := range r.Receiver.Deliveries() {
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
