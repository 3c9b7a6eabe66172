package full_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// plainBalancer sends requests in turn to the servers whose /readyz answered 200 when it was last asked. It sends no request a second time.
type plainBalancer struct {
	mu      sync.Mutex
	servers []*server
	ready   []bool
	next    int
}

// restarted puts a server in the place of another.
func (b *plainBalancer) restarted(i int, s *server) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.servers[i], b.ready[i] = s, false
}

// look asks all servers whether they are ready.
func (b *plainBalancer) look() {
	b.mu.Lock()
	servers := append([]*server(nil), b.servers...)
	b.mu.Unlock()
	for i, s := range servers {
		resp, err := http.Get(s.ops + "/readyz")
		ready := err == nil && resp.StatusCode == http.StatusOK
		if err == nil {
			resp.Body.Close()
		}
		b.mu.Lock()
		b.ready[i] = ready && b.servers[i] == s
		b.mu.Unlock()
	}
}

// isReady reports whether the server that is at a place now was ready when it was last asked.
func (b *plainBalancer) isReady(i int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ready[i]
}

// rewrite leads a request to the next server that is ready.
func (b *plainBalancer) rewrite(r *httputil.ProxyRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.servers {
		b.next = (b.next + 1) % len(b.servers)
		if b.ready[b.next] {
			break
		}
	}
	r.Out.URL.Scheme, r.Out.URL.Host = "http", b.servers[b.next].addr
}

// drainDelay is enough time for the balancer to ask, on a slow machine too.
const drainDelay = 3 * time.Second

// Each of two processes is restarted in turn under load, behind a balancer that neither retries nor is told: no request fails.
func TestARollingRestartBehindAPlainBalancerFailsNoRequest(t *testing.T) {
	testlevel.Full(t)
	t.Parallel()
	program, store := built(t), postgrestest.URL(t)
	keys := workload.Configure(t, program, store, sandbox.NewReceiver(t).URL)
	start := func() *server {
		return serve(t, program.Command(serveArgs(store, "--drain-delay", drainDelay.String())...))
	}
	b := &plainBalancer{servers: []*server{start(), start()}, ready: make([]bool, 2)}
	var failed atomic.Int64
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: b.rewrite, ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
		failed.Add(1)
		t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		w.WriteHeader(http.StatusBadGateway)
	}})
	t.Cleanup(proxy.Close)
	b.look()

	done := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
				b.look()
			}
		}
	})
	var sent atomic.Int64
	for client := range 4 {
		c := apiclient.New(proxy.URL, keys)
		all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				created, err := c.Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, fmt.Sprintf("ORDER-%d-%d", client, n)))
				if sent.Add(1); err != nil || created.Status != http.StatusCreated {
					t.Errorf("a create is answered %d %s, %v", created.Status, created.Body, err)
					return
				}
				polled, err := c.Poll(t.Context(), created)
				if sent.Add(1); err != nil || polled.Status != http.StatusOK {
					t.Errorf("a poll is answered %d %s, %v", polled.Status, polled.Body, err)
					return
				}
			}
		})
	}
	for range testlevel.Runs(t, 2) {
		for i := range b.servers {
			stopped := time.Now()
			b.servers[i].Stop(t, syscall.SIGTERM)
			if took := time.Since(stopped); took < drainDelay {
				t.Errorf("the process ended after %v, before the delay", took)
			}
			s := start()
			s.awaitReadyz(t, http.StatusOK)
			b.restarted(i, s)
			eventually(t, "the balancer has seen it", func() bool { return b.isReady(i) })
		}
	}
	close(done)
	all.Wait()
	if sent.Load() < 100 {
		t.Errorf("void: only %d requests were sent", sent.Load())
	}
	t.Logf("%d of %d requests failed", failed.Load(), sent.Load())
}
