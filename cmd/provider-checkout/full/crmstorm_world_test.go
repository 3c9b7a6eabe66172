package full_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/in/providerfile"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/out/salesforce"
	"github.com/provider-checkout/provider-checkout/adapters/sim/salesforcetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/events"
)

// The tests of the files crmstorm_… run the whole service over a simulated Salesforce organisation that fails, goes away, or knows more
// than a store that was restored, and then compare the organisation's records and journal, the store, the events and what
// the providers were answered.

// operatorSecrets are the operator's.
var operatorSecrets = [][]byte{bytes.Repeat([]byte("s"), checkout.MinSecret)}

// stormWorld is a service, its organisation, and the receiver of the providers' events.
type stormWorld struct {
	store     site.Store
	service   *service.Service
	url       string // of the service
	keys      map[string]string
	org       *salesforcetest.Simulator
	gate      *callMeter
	events    *eventDigests
	transport *http.Transport // by which the organisation is called
	log       *stormLog
	underway  atomic.Int64 // requests that the service works on, whether their clients wait or have hung up
}

// newStormWorld configures a new store and serves it. A call of the organisation is given up when its answer does not begin
// within patience.
func newStormWorld(t *testing.T, store site.Store, patience time.Duration) *stormWorld {
	t.Helper()
	w := &stormWorld{org: salesforcetest.New(salesforcetest.Options{ClientID: sandbox.ClientID, ClientSecret: sandbox.ClientSecret,
		Sandbox: true, DailyLimit: 1_000_000_000}), log: newStormLog()}
	w.gate = &callMeter{Handler: w.org}
	w.gate.server = httptest.NewServer(w.gate)
	t.Cleanup(func() { w.org.Close(); w.gate.server.Close() })
	w.transport = &http.Transport{ResponseHeaderTimeout: patience, MaxConnsPerHost: 64, MaxIdleConnsPerHost: 64}
	t.Cleanup(w.transport.CloseIdleConnections)
	w.events = &eventDigests{bodies: make(map[string][sha256.Size]byte)}
	hooks := httptest.NewServer(w.events)
	t.Cleanup(hooks.Close)

	all, err := providerfile.Parse([]byte(strings.ReplaceAll(sandbox.Providers, "HOOKS", hooks.URL)))
	if err != nil {
		t.Fatal(err)
	}
	replace := func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		return all, nil, nil
	}
	if err := store.ReplaceProviders(t.Context(), replace); err != nil {
		t.Fatal(err)
	}
	w.keys = make(map[string]string)
	for _, code := range []string{"KOWHAI", "TUI"} {
		w.keys[code] = sandbox.IssueKey(t, store, code, catalogue.Sandbox)
	}
	return w
}

// serve serves a store until stop is called, which drains the server, or the test ends.
func (w *stormWorld) serve(t *testing.T, store site.Store) (stop func()) {
	t.Helper()
	public, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	crm, err := salesforce.New(salesforce.Options{Environment: catalogue.Sandbox, URL: w.gate.server.URL,
		ClientID: sandbox.ClientID, ClientSecret: sandbox.ClientSecret, Transport: w.transport})
	if err != nil {
		t.Fatal(err)
	}
	w.store, w.url = store, "http://"+public.Addr().String()
	s, err := site.New(site.Config{Store: store, Secrets: operatorSecrets, AllowPrivate: true, Log: httpserver.NewLog(w.log),
		Service: service.Config{Environment: catalogue.Sandbox, BaseURL: w.url, CRM: crm}})
	if err != nil {
		t.Fatal(err)
	}
	w.service = s.Service
	handler := s.Handler
	s.Handler = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.underway.Add(1)
		defer w.underway.Add(-1)
		handler.ServeHTTP(rw, r)
	})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, public, nil) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// settled waits until nothing waits for the organisation, no event is pending, and the service works on no request: it may still
// work on the request of a client that hung up. It returns how long that took.
func (w *stormWorld) settled(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	for still := 0; ; <-time.After(20 * time.Millisecond) {
		underway := w.underway.Load() // before the jobs, which a request may enqueue
		backlogs, err := w.service.Backlogs(t.Context())
		waiting, pending := backlogs[checkout.JobOpen].Waiting+backlogs[checkout.JobComplete].Waiting, backlogs[checkout.JobDeliver].Waiting
		if still++; waiting > 0 || pending > 0 || underway > 0 {
			still = 0
		}
		switch took := time.Since(began); {
		case err != nil:
			t.Fatal(err)
		case still == 5: // a request may have been on its way to the service
			return took
		case testlevel.Elapsed(began) > patience:
			t.Errorf("%d checkouts wait for the organisation, %d events are pending and %d requests are under way %v after the last fault",
				waiting, pending, underway, patience)
			return took
		}
	}
}

// openSQLite opens a store in a file.
func openSQLite(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	store, err := sqlite.Open(t.Context(), path, sqlite.Options{Environment: catalogue.Sandbox, CRM: "salesforce", Secrets: operatorSecrets})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// callMeter counts the calls of the organisation, all of which pass it.
type callMeter struct {
	http.Handler
	server *httptest.Server

	mu        sync.Mutex
	under     int // calls under way
	most      int // that were under way at once
	perSecond map[int64]int
}

func (g *callMeter) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	g.enter()
	defer g.leave()
	g.Handler.ServeHTTP(rw, r)
}

func (g *callMeter) enter() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.perSecond == nil {
		g.perSecond = make(map[int64]int)
	}
	g.perSecond[time.Now().Unix()]++
	g.under++
	g.most = max(g.most, g.under)
}

// reset begins to look for the most calls at once again, and returns the present second.
func (g *callMeter) reset() (second int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.most = g.under
	return time.Now().Unix()
}

// between returns how many calls came in the seconds from one on until before another, the most in one of them, and the
// most that were under way since the last reset.
func (g *callMeter) between(from, until int64) (calls, busiest, most int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for second := from; second < until; second++ {
		calls += g.perSecond[second]
		busiest = max(busiest, g.perSecond[second])
	}
	return calls, busiest, g.most
}

func (g *callMeter) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.under--
}

// eventDigests is the receiver of the providers' events.
type eventDigests struct {
	mu     sync.Mutex
	bodies map[string][sha256.Size]byte // by the event's id, a digest
	wrong  []string                     // ids of events that came in two versions
}

func (h *eventDigests) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		rw.WriteHeader(http.StatusBadRequest)
		return
	}
	id, digest := r.Header.Get(events.HeaderEventID), sha256.Sum256(body)
	h.mu.Lock()
	defer h.mu.Unlock()
	if first, known := h.bodies[id]; known && first != digest {
		h.wrong = append(h.wrong, id)
	}
	h.bodies[id] = digest
	rw.WriteHeader(http.StatusNoContent)
}
