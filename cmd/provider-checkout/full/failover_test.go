package full_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

const (
	// pairLanes is the number of pairs of servers. Each pair fails over again and again.
	pairLanes   = 4
	pairClients = 16
)

// TestFailover checks what the program does over a primary with a synchronous standby: what it acknowledges is there after
// the standby has taken over. There are 20 failovers, or as many as a long run has:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=500 go test -run TestFailover -timeout 3h ./cmd/provider-checkout/full
func TestFailover(t *testing.T) {
	t.Parallel()
	b := newSuite(t)
	t.Run("is not ready while there is no standby", b.isNotReadyAlone)
	t.Run("notices what is lost without a synchronous standby", b.noticesALoss)
	t.Run("loses nothing, and sends no event of what is not there", b.losesNothing)
}

// Before the primary is killed, its standby is lost in every way, and waits for it are broken in every way, under load.
func (b suite) losesNothing(t *testing.T) {
	t.Parallel()
	n := testlevel.Runs(t, 20)
	var sum pairTally
	for i := range min(pairLanes, n) {
		t.Run("lane "+strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			l := newPairLane(t, b, &sum)
			for r := i; r < n && !t.Failed(); r += pairLanes {
				l.round(t, r)
			}
		})
	}
	t.Cleanup(func() {
		t.Logf("%d failovers: %d enrolments, %d requests answered 503, waits broken in %d", n, sum.enrolments.Load(), sum.busy.Load(), sum.broken.Load())
		if sum.busy.Load() == 0 || n >= 20 && sum.broken.Load() == 0 {
			t.Error("void: no commit waited in vain, or no wait was broken")
		}
	})
}

// pairTally counts what happened in all lanes.
type pairTally struct{ enrolments, busy, broken atomic.Int64 }

// pairLane is a pair of servers, with the clients of a store on it.
type pairLane struct {
	*workload
	pair *postgrestest.Pair
	sum  *pairTally
}

// newPairLane makes a pair and configures a store on it.
func newPairLane(t *testing.T, b suite, sum *pairTally) *pairLane {
	t.Helper()
	pair := postgrestest.NewPair(t)
	l := &pairLane{newWorkload(t, b.Binary, pair.URL(t)), pair, sum}
	l.heldUp, l.unsettled, l.verdicts.acceptAll = true, true, true
	pair.Save(t)
	return l
}

// A fault takes the standby from its primary.
var standbyFates = []struct {
	name     string
	lose, by func(*testing.T, *postgrestest.Pair) // by brings it back, to be promoted
}{
	{"there", leaveIt, leaveIt},
	{"cut off", func(_ *testing.T, p *postgrestest.Pair) { p.Link.Cut() }, leaveIt},
	{"reset", func(_ *testing.T, p *postgrestest.Pair) { p.Link.Reset() }, leaveIt},
	{"frozen", func(_ *testing.T, p *postgrestest.Pair) { p.Standby.Freeze() }, func(_ *testing.T, p *postgrestest.Pair) { p.Standby.Thaw() }},
	{"killed", func(_ *testing.T, p *postgrestest.Pair) { p.Standby.Kill() }, func(t *testing.T, p *postgrestest.Pair) { p.Standby.Start(t) }},
}

// A breaker breaks the waits of the primary's commits for the standby.
var waitBreakers = []struct {
	name string
	do   func(*testing.T, *postgrestest.Pair)
}{
	{"not broken", leaveIt},
	{"cancelled", signalCommits("pg_cancel_backend")},
	{"ended", signalCommits("pg_terminate_backend")},
	{"ended by a restart", func(t *testing.T, p *postgrestest.Pair) {
		p.Primary.Kill()
		p.Primary.Start(t)
	}},
}

func leaveIt(*testing.T, *postgrestest.Pair) {}

// signalCommits returns what an administrator does to every commit that waits.
func signalCommits(function string) func(*testing.T, *postgrestest.Pair) {
	return func(t *testing.T, p *postgrestest.Pair) {
		p.Primary.Execute(t, `SELECT `+function+`(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`)
	}
}

// round is one failover. After it, the clients repeat what was not answered at the new primary, and what is there is
// compared with all answers.
func (l *pairLane) round(t *testing.T, n int) {
	t.Helper()
	fault, breaker := standbyFates[n%len(standbyFates)], waitBreakers[n/len(standbyFates)%len(waitBreakers)]
	began := time.Now()
	l.pair.Restore(t)
	l.enrolments, l.ledger = enrolments{}, ledger{}
	l.receiver.Forget()
	server := l.Serve(t, l.place)
	c := newBackend(server.Listening(t), l.keys, nil)
	stop := load{clients: pairClients, excused: apiclient.IsCut}.enrol(t, l.workload, c.Client)
	answers := pairClients + l.rand.Int64N(20*pairClients) // an enrolment takes about ten
	eventually(t, fmt.Sprint(answers, " answers"), func() bool { return c.answered.Load() >= answers })
	fault.lose(t, l.pair)
	waits := fault.name != "there"
	if waits {
		l.awaitWaiting(t)
	}
	pause(l.rand, 0, 200*time.Millisecond)
	breaker.do(t, l.pair)
	if waits && breaker.name != "not broken" {
		l.sum.broken.Add(1)
	}
	if waits && breaker.name == "not broken" {
		pause(l.rand, 7*time.Second, 10*time.Second) // until commits are given up, and what became of them is looked up
	} else {
		pause(l.rand, 0, 2*time.Second)
	}
	l.pair.Primary.Kill()
	fault.by(t, l.pair)
	l.pair.Standby.Promote(t)
	pause(l.rand, 0, 200*time.Millisecond)
	stop()
	l.finish(t, c.Client)
	server.Stop(t, syscall.SIGTERM)
	l.check(t)
	l.sum.enrolments.Add(int64(len(l.enrolments.all)))
	l.sum.busy.Add(c.busy.Load())
	t.Logf("round %d: standby %s, waits %s: %d enrolments, %d answers 503, %v", n, fault.name, breaker.name,
		len(l.enrolments.all), c.busy.Load(), time.Since(began).Round(time.Millisecond))
	if t.Failed() {
		log := l.pair.Primary.Log()
		t.Fatalf("round %d: the primary's log ends with\n%s", n, log[max(0, len(log)-4096):])
	}
}

// awaitWaiting waits until a commit waits for the standby.
func (l *pairLane) awaitWaiting(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), l.pair.Primary.At(l.place))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	eventually(t, "a commit waits for the standby", func() bool {
		waiting := 0
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		return waiting > 0
	})
}

func pause(rng *rand.Rand, from, to time.Duration) { <-time.After(within(rng, from, to)) }

// Without a synchronous standby a failover does lose what was acknowledged: the clients are told that they opened an order
// twice.
func (b suite) noticesALoss(t *testing.T) {
	t.Parallel()
	l := newPairLane(t, b, new(pairTally))
	l.pair.Primary.Execute(t, `ALTER SYSTEM RESET synchronous_standby_names`, `SELECT pg_reload_conf()`)
	c := newBackend(b.Serve(t, l.place).Listening(t), l.keys, nil)
	l.pair.Link.Cut()
	e := l.enrolments.begin()
	create := func() error { return e.create(t.Context(), c.Client) }
	if err := create(); err != nil {
		t.Fatal(err)
	}
	l.pair.Primary.Kill()
	l.pair.Standby.Promote(t)
	err := insist(t, create)
	if err == nil || e.opened != 2 {
		t.Errorf("the order was opened %d times, %v; want that it was opened again", e.opened, err)
	}
}

// While commits wait for a standby that is not there, a load balancer is told to go elsewhere, and that ends by itself.
func (b suite) isNotReadyAlone(t *testing.T) {
	t.Parallel()
	pair := postgrestest.NewPair(t)
	store := pair.URL(t)
	configure(t, b.Binary, store, sandbox.NewReceiver(t).URL)
	server := serve(t, b.Command(serveArgs(store)...))
	server.awaitReadyz(t, http.StatusOK)
	pair.Link.Cut()
	resp := server.awaitReadyz(t, http.StatusServiceUnavailable)
	if resp.Header.Get("Retry-After") == "" {
		t.Error("the answer has no Retry-After")
	}
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); <-time.After(100 * time.Millisecond) { // longer than a commit is waited for
		if resp := server.readyz(t); resp.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("it answers %d, while no commit can end", resp.StatusCode)
		}
	}
	pair.Link.Mend()
	server.awaitReadyz(t, http.StatusOK)
}
