package full_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

// plainBalancer sends requests in turn to the servers whose /readyz answered 200 when it was last asked. It sends no request a second time.
type plainBalancer struct {
	mu      sync.Mutex
	servers []*server // each has its place
	ready   map[*server]bool
	next    int
}

// watch asks all servers whether they are ready, until the test ends.
func (b *plainBalancer) watch(t *testing.T) {
	asking := time.NewTicker(100 * time.Millisecond)
	var watching sync.WaitGroup
	watching.Go(func() {
		for ; t.Context().Err() == nil; <-asking.C {
			for i := range b.servers {
				b.mu.Lock()
				s := b.servers[i]
				b.mu.Unlock()
				resp, err := http.Get(s.ops + "/readyz")
				if err == nil {
					resp.Body.Close()
				}
				b.mu.Lock()
				b.ready[s] = err == nil && resp.StatusCode == http.StatusOK
				b.mu.Unlock()
			}
		}
	})
	t.Cleanup(watching.Wait)
}

// put puts a server in a place, and waits until it gets requests.
func (b *plainBalancer) put(t *testing.T, place int, s *server) {
	t.Helper()
	b.mu.Lock()
	b.servers[place] = s
	b.mu.Unlock()
	eventually(t, "the balancer has seen the server", func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.ready[s]
	})
}

// rewrite leads a request to the next server that is ready.
func (b *plainBalancer) rewrite(r *httputil.ProxyRequest) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.servers {
		b.next = (b.next + 1) % len(b.servers)
		if b.ready[b.servers[b.next]] {
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
	w := newWorkload(t, built(t), postgrestest.URL(t))
	w.verdicts.acceptAll = true
	start := func() *server {
		return serve(t, w.Command(append(clusterArgs(w.place, "127.0.0.1:0"), "--drain-delay", drainDelay.String())...))
	}
	b := &plainBalancer{servers: []*server{start(), start()}, ready: map[*server]bool{}}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: b.rewrite, ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
		t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		w.WriteHeader(http.StatusBadGateway)
	}})
	t.Cleanup(proxy.Close)
	b.watch(t)
	for i, s := range b.servers {
		b.put(t, i, s)
	}
	clients := newBackend(clusterURL, w.keys, &balancer{all: []string{strings.TrimPrefix(proxy.URL, "http://")}})
	clients.strict = true
	stop := load{clients: 4, pace: 50 * time.Millisecond, excused: func(error) bool { return false }}.enrol(t, w, clients.Client)
	for range testlevel.Runs(t, 2) {
		for i := range b.servers {
			stopped := time.Now()
			b.servers[i].Stop(t, syscall.SIGTERM)
			if took := time.Since(stopped); took < drainDelay {
				t.Errorf("the process ended after %v, before the delay", took)
			}
			b.put(t, i, start())
		}
	}
	stop()
	if sent := clients.sent.Load(); sent < 100 {
		t.Errorf("void: only %d requests were sent", sent)
	}
	w.finish(t, clients.Client)
	w.settle(t)
	if lost := w.check(t); lost > 0 {
		t.Errorf("%d commits had an answer that was lost", lost)
	}
}
