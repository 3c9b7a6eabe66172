package full_test

import (
	"context"
	"fmt"
	"net/http"
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

// serviceURL is the public address of every process; a client's transport says which one it means.
const serviceURL = "http://ha.test"

// recipeInstance is a process of the service with a way to the store, and a client of it.
type recipeInstance struct {
	*backend
	way     string // to the store
	binary  proc.Binary
	args    []string
	process atomic.Pointer[proc.Process]

	away  atomic.Bool // it is stopped for a while
	acked ackedWrites
}

// newRecipeInstance starts a process, which takes the store by a way of the recipe.
func newRecipeInstance(t *testing.T, w *workload.Workload, way, store string) *recipeInstance {
	t.Helper()
	addr := proc.QuietAddr(t, w.Rand)
	s := &recipeInstance{backend: newBackend(serviceURL, w.Keys, &balancer{all: []string{addr}}), way: way, binary: w.Binary,
		args: append(proc.ServeArgs(store), "--addr", addr, "--base-url", serviceURL)}
	s.acked.ids = make(map[string]string)
	s.failed = func(resp *http.Response) {
		t.Errorf("%s %s answered %d:\n%s", resp.Request.Method, resp.Request.URL.Path, resp.StatusCode, s.process.Load().Log())
	}
	s.launch(t)
	return s
}

func (s *recipeInstance) launch(t *testing.T) {
	t.Helper()
	s.process.Store(proc.Start(t, s.binary.Command(s.args...)))
	s.process.Load().Listening(t)
}

// leave stops the process, and comeBack starts it again.
func (s *recipeInstance) leave(t *testing.T) {
	t.Helper()
	s.away.Store(true)
	s.process.Load().Stop(t, syscall.SIGTERM)
}

func (s *recipeInstance) comeBack(t *testing.T) {
	t.Helper()
	s.launch(t)
	s.away.Store(false)
}

// ackedWrites is the writes that a process has acknowledged.
type ackedWrites struct {
	mu      sync.Mutex
	ids     map[string]string // checkout by order
	sent    time.Time         // when the latest of those requests was sent
	struck  time.Time         // when the node was lost; zero before
	last    time.Time         // when the latest answer came to a request that was sent since then
	longest time.Duration     // time without such an answer
	lost    int               // requests without an answer
}

// restart begins to measure anew, before a node is lost.
func (a *ackedWrites) restart() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.struck, a.last, a.longest = time.Time{}, time.Now(), 0
}

// strike says that the node is lost. Requests that were sent before count no more: their answers may come seconds after
// their commits, for they wait until their events are recorded as delivered.
func (a *ackedWrites) strike() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.struck = time.Now()
}

// note takes the answer to a create.
func (a *ackedWrites) note(order, id string, sent time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids[order] = id
	if sent.After(a.sent) {
		a.sent = sent
	}
	if !a.struck.IsZero() && sent.After(a.struck) {
		a.longest = max(a.longest, testlevel.Elapsed(a.last))
		a.last = time.Now()
	}
}

func (a *ackedWrites) noteLost() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lost++
}

// outage returns the longest time without an acknowledged write since restart.
func (a *ackedWrites) outage() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(a.longest, testlevel.Elapsed(a.last))
}

// since reports whether a write that was sent after the time is acknowledged.
func (a *ackedWrites) since(at time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sent.After(at)
}

const (
	writeEvery  = 200 * time.Millisecond
	writesAtOne = 64 // at the most, while no write is answered
)

// write has a create sent every writeEvery, whether the one before was answered or not, until ctx ends.
func (s *recipeInstance) write(ctx context.Context, t *testing.T, name string) {
	var writes sync.WaitGroup
	defer writes.Wait()
	free, pace := make(chan struct{}, writesAtOne), time.NewTicker(writeEvery)
	defer pace.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
		}
		if s.away.Load() || len(free) == cap(free) {
			continue
		}
		free <- struct{}{}
		order := fmt.Sprintf("WRITE-%s-%06d", name, n)
		writes.Go(func() {
			defer func() { <-free }()
			s.create(t, order)
		})
	}
}

// create sends the create of a new order, once.
func (s *recipeInstance) create(t *testing.T, order string) {
	sent := time.Now()
	r, err := s.Call(context.Background(), "TUI", http.MethodPost, "/v1/provider-checkouts", sandbox.Order(sandbox.LegacyCreate, order))
	switch {
	case err == nil && r.Status == http.StatusCreated:
		s.acked.note(order, r.String("checkout.checkout_id"), sent)
	case err != nil && apiclient.IsCut(err):
		s.acked.noteLost()
	default:
		t.Errorf("%s: %d %s %v", order, r.Status, r.Body, err)
	}
}
