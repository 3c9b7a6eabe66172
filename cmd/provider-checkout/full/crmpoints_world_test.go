package full_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

const (
	clientID     = "sandbox_client"
	clientSecret = "sandbox_client_secret"

	// publicURL is the address of the processes; a fleet resolves it.
	publicURL = "http://service.test"
)

// crmServer is a process, with its door to Salesforce.
type crmServer struct {
	*proc.Process
	door      int
	addr, ops string
}

// crmWorld is the processes on one store, Salesforce, the receiver of events, and the clients.
type crmWorld struct {
	*workload.Workload
	gate    *crmGate
	servers []*crmServer // the first is struck
	fleet   crmFleet     // the servers to which clients turn
	backend *apiclient.Client
	tally   *crmTally
	busy    *sync.Mutex // of the suite
}

// newWorld starts processes on a new store.
func (s *crmSuite) newWorld(t *testing.T) *crmWorld {
	t.Helper()
	w := &crmWorld{gate: newCRMGate(), tally: s.tally, busy: s.busy}
	w.Workload = workload.New(t, s.Binary, s.store(t))
	w.Verdicts.AcceptAll = true
	w.backend = apiclient.New(publicURL, w.Keys)
	w.backend.HTTP.Transport = patientRoad{&http.Transport{DialContext: w.fleet.dial, DisableKeepAlives: true}}
	for range s.processes {
		w.servers = append(w.servers, w.start(t))
	}
	w.fleet.are(w.servers...)
	t.Cleanup(w.gate.close) // before its doors are closed
	return w
}

func (w *crmWorld) start(t *testing.T) *crmServer {
	t.Helper()
	door, url := w.gate.open(t)
	cmd := w.Command(append(proc.ServeArgs(w.Store), "--ops-addr", "127.0.0.1:0", "--base-url", publicURL,
		"--crm", "salesforce", "--salesforce-url", url)...)
	// With many processors a process that goes on has more chances to see an answer before it sees that its time is over.
	cmd.Env = []string{"GOMAXPROCS=16", "PROVIDER_CHECKOUT_SALESFORCE_CLIENT_ID=" + clientID, "PROVIDER_CHECKOUT_SALESFORCE_CLIENT_SECRET=" + clientSecret}
	p := proc.Start(t, cmd)
	listening := p.Await(t, "listening")
	return &crmServer{Process: p, door: door, addr: listening.Addr, ops: "http://" + listening.OpsAddr}
}

// stop ends every process.
func (w *crmWorld) stop(t *testing.T) {
	t.Helper()
	for _, s := range w.servers {
		s.Signal(t, syscall.SIGTERM)
	}
	for _, s := range w.servers {
		s.Wait(t)
	}
}

// crmFleet connects clients to processes in turn.
type crmFleet struct {
	mu   sync.Mutex
	all  []string // addresses
	next int
}

func (f *crmFleet) are(all ...*crmServer) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = nil
	for _, s := range all {
		f.all = append(f.all, s.addr)
	}
}

func (f *crmFleet) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	f.mu.Lock()
	f.next++
	addr := f.all[f.next%len(f.all)]
	f.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, network, addr)
}

// patientRoad takes a 503 for a lost answer, as a client does that will send the request again.
type patientRoad struct{ http.RoundTripper }

func (p patientRoad) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := p.RoundTripper.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusServiceUnavailable {
		resp.Body.Close()
		return nil, errBusy
	}
	return resp, err
}

// insist does something until its client gets an answer.
func insist(t *testing.T, do func() error) error {
	for limit := time.Now().Add(patience); ; <-time.After(calm) {
		err := do()
		if err == nil || !apiclient.IsCut(err) || time.Now().After(limit) || t.Context().Err() != nil {
			return err
		}
	}
}

// await waits until a gauge is zero, which a process says that was not struck, and returns when it was.
func (w *crmWorld) await(t *testing.T, gauge string, limit time.Time) time.Time {
	t.Helper()
	ops := w.servers[len(w.servers)-1].ops
	for ; ; <-time.After(calm) {
		_, text, found := strings.Cut(sandbox.Fetch(t, ops+"/metrics").Body, "\nprovider_checkout_"+gauge+" ")
		var value float64
		if _, err := fmt.Sscan(text, &value); found && err == nil && value == 0 {
			return time.Now()
		}
		if time.Now().After(limit) {
			t.Fatalf("%s is still %v (known: %v)", gauge, value, found)
		}
	}
}
