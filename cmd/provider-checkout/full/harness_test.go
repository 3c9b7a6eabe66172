package full_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// server is a process of the program that serves a store.
type server struct {
	*proc.Process
	addr string // of the API
	base string // URL of the API
	ops  string // URL of the operator's listener
}

// serveArgs returns the arguments of a server with a listener for its operator.
func serveArgs(store string, more ...string) []string {
	return append(append(proc.ServeArgs(store), "--ops-addr", "127.0.0.1:0"), more...)
}

// serve starts a server, and waits until it listens.
func serve(t *testing.T, cmd *exec.Cmd) *server {
	t.Helper()
	s := &server{Process: proc.Start(t, cmd)}
	s.awaitListening(t)
	return s
}

func (s *server) awaitListening(t *testing.T) {
	t.Helper()
	listening := s.Await(t, "listening")
	s.addr, s.base, s.ops = listening.Addr, "http://"+listening.Addr, "http://"+listening.OpsAddr
}

// readyz returns the answer of the server to its operator who asks whether it is ready.
func (s *server) readyz(t *testing.T) *http.Response {
	t.Helper()
	resp, err := http.Get(s.ops + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// awaitReadyz waits until /readyz has the status.
func (s *server) awaitReadyz(t *testing.T, status int) (resp *http.Response) {
	t.Helper()
	eventually(t, fmt.Sprint("/readyz answers ", status), func() bool {
		resp = s.readyz(t)
		return resp.StatusCode == status
	})
	return resp
}

// stopAll has servers drain at the same time.
func stopAll(t *testing.T, all ...*server) {
	t.Helper()
	for _, s := range all {
		s.Signal(t, syscall.SIGTERM)
	}
	for _, s := range all {
		s.Wait(t)
	}
}

// balancer connects clients to addresses in turn.
type balancer struct {
	mu   sync.Mutex
	all  []string
	next int
}

// dial connects to the next address, and to the address after it only if the connection is refused: a request that was
// sent once is never sent to another process.
func (b *balancer) dial(ctx context.Context, network, _ string) (conn net.Conn, err error) {
	b.mu.Lock()
	b.next++
	first, all := b.next, b.all
	b.mu.Unlock()
	for i := range all {
		conn, err = new(net.Dialer).DialContext(ctx, network, all[(first+i)%len(all)])
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return conn, err
		}
	}
	return nil, err
}

// road carries the requests of a client and counts them. Unless it is strict, a 503 is an answer that was lost, for the
// client will send the request again.
type road struct {
	*http.Transport
	strict bool
	failed func(*http.Response) // called with an answer that says that the service failed; may be nil

	sent, answered, busy atomic.Int64 // requests; answers but for 503; answers of 503
}

// RoundTrip implements [http.RoundTripper].
func (r *road) RoundTrip(req *http.Request) (*http.Response, error) {
	r.sent.Add(1)
	resp, err := r.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	return r.count(resp)
}

// count counts an answer, and returns it unless it is lost.
func (r *road) count(resp *http.Response) (*http.Response, error) {
	if resp.StatusCode != http.StatusServiceUnavailable {
		if r.failed != nil && resp.StatusCode >= http.StatusInternalServerError {
			r.failed(resp)
		}
		r.answered.Add(1)
		return resp, nil
	}
	r.busy.Add(1)
	if r.strict {
		return resp, nil
	}
	resp.Body.Close()
	return nil, errBusy
}

// backend is a client with its road.
type backend struct {
	*apiclient.Client
	*road
}

// newBackend returns a client of the server at base that keeps its connections. Where over is given, it connects instead
// of the name in base.
func newBackend(base string, keys map[string]string, over *balancer) *backend {
	b := &backend{apiclient.New(base, keys), &road{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	if over != nil {
		b.DialContext = over.dial
	}
	b.HTTP.Transport = b.road
	return b
}

// load is the clients that enrol students. An error of theirs fails the test unless it is excused. Then another client
// continues the enrolment later.
type load struct {
	clients int
	pace    time.Duration // between two enrolments of all clients; 0 for no pause
	excused func(error) bool
	once    bool // a client ends with its first error
}

// enrol has clients work on new and on open enrolments until stop is called, or the test ends.
func (l load) enrol(t *testing.T, w *workload, c *apiclient.Client) (stop func()) {
	done := make(chan struct{})
	var pace <-chan time.Time
	if l.pace > 0 {
		ticker := time.NewTicker(l.pace)
		t.Cleanup(ticker.Stop)
		pace = ticker.C
	}
	goesOn := func() bool {
		if pace == nil {
			select {
			case <-done:
				return false
			default:
				return true
			}
		}
		select {
		case <-done:
			return false
		case <-pace:
			return true
		}
	}
	var clients sync.WaitGroup
	for range l.clients {
		rng := newRand()
		clients.Go(func() {
			for failed := false; goesOn() && !(failed && l.once); {
				e := w.enrolments.take(rng)
				if err := e.complete(context.Background(), c, rng); err != nil {
					failed = true
					w.enrolments.leave(e)
					if !l.excused(err) {
						t.Error(err)
					}
				}
			}
		})
	}
	stop = sync.OnceFunc(func() {
		close(done)
		clients.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// insist does something until its client gets an answer.
func insist(t *testing.T, do func() error) error {
	for began := time.Now(); ; <-time.After(calm / 4) {
		err := do()
		if err == nil || !apiclient.IsCut(err) || testlevel.Elapsed(began) > patience || t.Context().Err() != nil {
			return err
		}
	}
}
