package full_test

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
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
	*server
	door int
}

// crmWorld is the processes on one store, Salesforce, the receiver of events, and the clients.
type crmWorld struct {
	*workload.Workload
	gate    *crmGate
	servers []*crmServer // the first is struck
	fleet   balancer     // leads clients to servers
	backend *apiclient.Client
	suite   *crmSuite
}

// newWorld starts processes on a new store.
func (s *crmSuite) newWorld(t *testing.T) *crmWorld {
	t.Helper()
	w := &crmWorld{gate: newCRMGate(), suite: s}
	w.Workload = workload.New(t, s.Binary, s.store(t))
	w.Verdicts.AcceptAll = true
	w.backend = w.through(&w.fleet)
	for range s.processes {
		w.servers = append(w.servers, w.start(t))
	}
	lead(&w.fleet, w.servers...)
	t.Cleanup(w.gate.close) // before its doors are closed
	return w
}

func (w *crmWorld) start(t *testing.T) *crmServer {
	t.Helper()
	door, url := w.gate.open(t)
	cmd := w.Command(serveArgs(w.Store, "--base-url", publicURL, "--crm", "salesforce", "--salesforce-url", url)...)
	// With many processors a process that goes on has more chances to see an answer before it sees that its time is over.
	cmd.Env = []string{"GOMAXPROCS=16", "PROVIDER_CHECKOUT_SALESFORCE_CLIENT_ID=" + clientID, "PROVIDER_CHECKOUT_SALESFORCE_CLIENT_SECRET=" + clientSecret}
	return &crmServer{serve(t, cmd), door}
}

// stop ends every process.
func (w *crmWorld) stop(t *testing.T) {
	t.Helper()
	var all []*server
	for _, s := range w.servers {
		all = append(all, s.server)
	}
	stopAll(t, all...)
}

// lead has a balancer lead clients to servers.
func lead(b *balancer, to ...*crmServer) {
	var addrs []string
	for _, s := range to {
		addrs = append(addrs, s.addr)
	}
	b.leadTo(addrs...)
}

// through returns a client that connects anew for each request, as the balancer says.
func (w *crmWorld) through(b *balancer) *apiclient.Client {
	c := newBackend(publicURL, w.Keys, b)
	c.DisableKeepAlives = true
	return c.Client
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
	last := w.servers[len(w.servers)-1]
	for ; ; <-time.After(calm) {
		value := last.metric(t, "provider_checkout_"+gauge)
		if value == 0 {
			return time.Now()
		}
		if time.Now().After(limit) {
			t.Fatalf("%s is still %v", gauge, value)
		}
	}
}
