package full_test

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
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
	*workload.Workload
	pair *postgrestest.Pair
	sum  *pairTally
}

// newPairLane makes a pair and configures a store on it.
func newPairLane(t *testing.T, b suite, sum *pairTally) *pairLane {
	t.Helper()
	pair := postgrestest.NewPair(t)
	l := &pairLane{workload.New(t, b.Binary, pair.URL(t)), pair, sum}
	l.HeldUp, l.Unsettled, l.Verdicts.AcceptAll = true, true, true
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
	l.Enrolments = workload.Enrolments{}
	l.Receiver.Forget()
	server := l.Serve(t, l.Store)
	c := newPairClient(server.Listening(t), l.Keys)
	stop := l.load(t, c)
	c.awaitAnswers(t, pairClients+l.Rand.Int64N(20*pairClients)) // an enrolment takes about ten
	fault.lose(t, l.pair)
	waits := fault.name != "there"
	if waits {
		l.awaitWaiting(t)
	}
	pause(l.Rand, 0, 200*time.Millisecond)
	breaker.do(t, l.pair)
	if waits && breaker.name != "not broken" {
		l.sum.broken.Add(1)
	}
	if waits && breaker.name == "not broken" {
		pause(l.Rand, 7*time.Second, 10*time.Second) // until commits are given up, and what became of them is looked up
	} else {
		pause(l.Rand, 0, 2*time.Second)
	}
	l.pair.Primary.Kill()
	fault.by(t, l.pair)
	l.pair.Standby.Promote(t)
	pause(l.Rand, 0, 200*time.Millisecond)
	stop()
	l.Finish(t, c.Client)
	server.Stop(t, syscall.SIGTERM)
	l.Check(t)
	l.sum.enrolments.Add(int64(len(l.Enrolments.All)))
	l.sum.busy.Add(c.busy.Load())
	t.Logf("round %d: standby %s, waits %s: %d enrolments, %d answers 503, %v", n, fault.name, breaker.name,
		len(l.Enrolments.All), c.busy.Load(), time.Since(began).Round(time.Millisecond))
	if t.Failed() {
		log := l.pair.Primary.Log()
		t.Fatalf("round %d: the primary's log ends with\n%s", n, log[max(0, len(log)-4096):])
	}
}

// awaitWaiting waits until a commit waits for the standby.
func (l *pairLane) awaitWaiting(t *testing.T) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), l.pair.Primary.At(l.Store))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for limit := time.Now().Add(20 * time.Second); ; <-time.After(5 * time.Millisecond) {
		waiting := 0
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
		if waiting > 0 {
			return
		}
		if time.Now().After(limit) {
			t.Fatal("no commit waits for the standby")
		}
	}
}

func pause(rng *rand.Rand, from, to time.Duration) { <-time.After(workload.Within(rng, from, to)) }

// pairClient treats a 503 as a lost answer, and repeats the request later.
type pairClient struct {
	*apiclient.Client
	answered, busy atomic.Int64 // requests that were answered, and that were answered 503
}

func newPairClient(base string, keys map[string]string) *pairClient {
	c := &pairClient{Client: apiclient.New(base, keys)}
	road := c.HTTP.Transport
	c.HTTP.Transport = roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := road.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusServiceUnavailable {
			c.busy.Add(1)
			resp.Body.Close()
			return nil, errBusy
		}
		if err == nil {
			c.answered.Add(1)
		}
		return resp, err
	})
	return c
}

// awaitAnswers waits until n requests have been answered.
func (c *pairClient) awaitAnswers(t *testing.T, n int64) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); c.answered.Load() < n; <-time.After(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%d requests were answered within 30 s, want %d", c.answered.Load(), n)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// load has clients work on enrolments until stop is called.
func (l *pairLane) load(t *testing.T, c *pairClient) (stop func()) {
	done := make(chan struct{})
	var all sync.WaitGroup
	for range pairClients {
		rng := rand.New(rand.NewPCG(l.Rand.Uint64(), 0))
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				e := l.Enrolments.Take(rng)
				if err := e.Complete(t.Context(), c.Client, rng); err != nil {
					l.Enrolments.Leave(e)
					if !apiclient.IsCut(err) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	return func() {
		close(done)
		all.Wait()
	}
}

// Without a synchronous standby a failover does lose what was acknowledged: the clients are told that they opened an order
// twice.
func (b suite) noticesALoss(t *testing.T) {
	t.Parallel()
	l := newPairLane(t, b, new(pairTally))
	l.pair.Primary.Execute(t, `ALTER SYSTEM RESET synchronous_standby_names`, `SELECT pg_reload_conf()`)
	c := newPairClient(b.Serve(t, l.Store).Listening(t), l.Keys)
	l.pair.Link.Cut()
	e := l.Enrolments.Begin()
	create := func() error {
		r, err := e.SendCreate(t.Context(), c.Client)
		if err == nil {
			err = e.NoteCreate(r)
		}
		return err
	}
	if err := create(); err != nil {
		t.Fatal(err)
	}
	l.pair.Primary.Kill()
	l.pair.Standby.Promote(t)
	err := create()
	for limit := time.Now().Add(20 * time.Second); apiclient.IsCut(err) && time.Now().Before(limit); {
		err = create()
	}
	if err == nil || e.Opened != 2 {
		t.Errorf("the order was opened %d times, %v; want that it was opened again", e.Opened, err)
	}
}

// While commits wait for a standby that is not there, a load balancer is told to go elsewhere, and that ends by itself.
func (b suite) isNotReadyAlone(t *testing.T) {
	t.Parallel()
	pair := postgrestest.NewPair(t)
	store := pair.URL(t)
	workload.Configure(t, b.Binary, store, sandbox.NewReceiver(t))
	server := proc.Start(t, b.Command(append(proc.ServeArgs(store), "--ops-addr", "127.0.0.1:0")...))
	ready := "http://" + server.Await(t, "listening").OpsAddr + "/readyz"
	awaitReady(t, ready, http.StatusOK)
	pair.Link.Cut()
	resp := awaitReady(t, ready, http.StatusServiceUnavailable)
	if resp.Header.Get("Retry-After") == "" {
		t.Error("the answer has no Retry-After")
	}
	for end := time.Now().Add(8 * time.Second); time.Now().Before(end); <-time.After(100 * time.Millisecond) { // longer than a commit is waited for
		if resp := getPage(t, ready); resp.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("it answers %d, while no commit can end", resp.StatusCode)
		}
	}
	pair.Link.Mend()
	awaitReady(t, ready, http.StatusOK)
}

// awaitReady waits until the operator is answered with the status.
func awaitReady(t *testing.T, url string, status int) *http.Response {
	t.Helper()
	for limit := time.Now().Add(10 * time.Second); ; <-time.After(50 * time.Millisecond) {
		resp := getPage(t, url)
		if resp.StatusCode == status {
			return resp
		}
		if time.Now().After(limit) {
			t.Fatalf("%s answers %d after 10 s, want %d", url, resp.StatusCode, status)
		}
	}
}

func getPage(t *testing.T, url string) *http.Response {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}
