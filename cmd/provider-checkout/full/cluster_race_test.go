package full_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/linear"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// For every order, 64 clients of each process send the create at the same time, and then the confirm: one
// checkout is opened and confirmed once, and all clients get the same values.
func (b suite) createsNothingTwice(t *testing.T) {
	const clients = 64
	orders := testlevel.Runs(t, 10)
	c := newCluster(t, b, postgrestest.URL(t))
	c.Verdicts.AcceptAll = true
	var sides [clusterSize]*backend
	for i := range sides {
		sides[i] = c.newBackend(c.only(i))
		sides[i].strict = true
	}
	for range orders {
		e := c.Enrolments.Begin()
		fromAllSides(t, sides[:], clients, e.NoteCreate, func(b *backend) (sandbox.Response, error) { return e.SendCreate(t.Context(), b.Client) })
		if e.Opened != 1 {
			t.Fatalf("%s was answered as the first %d times, want once", e.Order, e.Opened)
		}
		if err := e.SetUp(t.Context(), sides[c.Rand.IntN(clusterSize)].Client); err != nil {
			t.Fatal(err)
		}
		path, body := e.Created.CheckoutPath()+"/confirm", e.Created.ConfirmBody()
		fromAllSides(t, sides[:], clients, e.NoteConfirm, func(b *backend) (sandbox.Response, error) {
			return b.Call(t.Context(), e.Provider, http.MethodPost, path, body)
		})
		if e.Confirmed != 1 {
			t.Fatalf("%s was confirmed for the first time %d times, want once", e.Order, e.Confirmed)
		}
	}
	if lost := c.completes(t, sides[0]); lost != 0 {
		t.Errorf("%d commits had an answer that was lost, want none", lost)
	}
}

// fromAllSides sends a request from many clients of each backend at once, and records every answer.
func fromAllSides(t *testing.T, all []*backend, clients int, note func(sandbox.Response) error, send func(*backend) (sandbox.Response, error)) {
	t.Helper()
	var noting sync.Mutex
	var sending sync.WaitGroup
	gate := make(chan struct{})
	for range clients {
		for _, b := range all {
			sending.Go(func() {
				<-gate
				r, err := send(b)
				noting.Lock()
				defer noting.Unlock()
				if err == nil {
					err = note(r)
				}
				if err != nil {
					t.Error(fmt.Errorf("of many at once, %w", err))
				}
			})
		}
	}
	close(gate)
	sending.Wait()
}

const clientsEach = 16 // for each process

// Clients send requests about a few shared orders to random processes: competing creates, gets, the payer's
// setup, confirms and repeated confirms. Processes are killed meanwhile. The history of each order must be
// linearizable: one process that handles one request at a time could have given the same responses.
func (b suite) isLinearizable(t *testing.T) {
	runs, length := testlevel.Runs(t, 1), 5*time.Second
	if testlevel.IsLong() {
		length = time.Minute
	}
	for n := range runs {
		t.Run(fmt.Sprintf("run %d of %v", n+1, length), func(t *testing.T) { b.isLinearizableFor(t, length) })
	}
}

func (b suite) isLinearizableFor(t *testing.T, length time.Duration) {
	c := newCluster(t, b, postgrestest.URL(t))
	c.Verdicts.AcceptAll = true // with a slow receiver there are few requests
	var each []*apiclient.Client
	for i := range clusterSize {
		each = append(each, c.newBackend(c.only(i)).Client)
	}
	l, began := linear.NewRun(each), time.Now()
	least := int64(40 * length.Seconds()) // responses, however slow the machine is
	goesOn := func() bool {
		return time.Since(began) < length || (l.Answered() < least || l.Lost() == 0) && testlevel.Elapsed(began) < length+patience
	}
	var clients sync.WaitGroup
	defer clients.Wait()
	for id := range clusterSize * clientsEach {
		rng := rand.New(rand.NewPCG(c.Rand.Uint64(), 0))
		clients.Go(func() {
			for goesOn() {
				l.Ask(t, id, rng)
			}
		})
	}
	kills := c.killRepeatedly(t, goesOn)
	clients.Wait()
	answered, lost := l.Answered(), l.Lost()
	rate := float64(answered) / time.Since(began).Seconds()
	l.ReadBack(t)
	stopAll(t, c.servers...)
	l.Check(t)
	t.Logf("%.0f responses a second about %d orders; %d kills, %d responses were lost", rate, l.Orders(), kills, lost)
	if answered < least || lost == 0 {
		t.Errorf("void: there were %d responses, want %d; %d were lost, want at least one", answered, least, lost)
	}
}

// killRepeatedly kills processes and starts them again, as long as the test goes on.
func (c *cluster) killRepeatedly(t *testing.T, goesOn func() bool) (kills int) {
	t.Helper()
	for ; ; kills++ {
		<-time.After(workload.Within(c.Rand, 200*time.Millisecond, 1200*time.Millisecond))
		if !goesOn() {
			return kills
		}
		i := c.Rand.IntN(clusterSize)
		c.servers[i].Kill(t)
		c.launch(t, i)
		c.servers[i].awaitListening(t)
	}
}
