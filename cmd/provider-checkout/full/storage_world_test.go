package full_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

const (
	storageClients = 6
	// held is the time for which a fault lasts after the server knows of it.
	held = 200 * time.Millisecond
)

// mendedWithin returns the time within which a server must be ready again, or know that it is not. Beside other tests it takes
// longer.
func mendedWithin() time.Duration {
	if !testlevel.IsLong() {
		return 30 * time.Second
	}
	return 5 * time.Second
}

// storageWorld is a server over a SQLite store, with clients that send each request until it is done.
type storageWorld struct {
	proc.Binary
	path   string
	server *server
	client *apiclient.Client
	stop   chan struct{} // closed by halt
	halt   func()
	load   sync.WaitGroup

	mu      sync.Mutex
	orders  int
	done    []acknowledged
	refused int
}

// acknowledged is an acknowledged create or confirm.
type acknowledged struct {
	order  string
	id     string // of the checkout
	number string // of the agreement; "" for a create
	began  time.Time
	again  bool // it was answered as a repeat: its commit was as the file went away, and nobody relied on it
}

// serveIn configures a store in a folder, and serves it.
func (b suite) serveIn(t *testing.T, folder string) *storageWorld {
	t.Helper()
	w := &storageWorld{Binary: b.Binary, path: filepath.Join(folder, "records.db"), stop: make(chan struct{})}
	w.halt = sync.OnceFunc(func() { close(w.stop) })
	keys := workload.Configure(t, b.Binary, "sqlite:"+w.path, sandbox.NewReceiver(t).URL)
	w.server = serve(t, b.Command(serveArgs("sqlite:"+w.path)...))
	w.client = apiclient.New(w.server.base, keys)
	t.Cleanup(w.client.HTTP.CloseIdleConnections)
	return w
}

// begin starts the load, which the end of the test stops, if nothing has before. Each client waits after each enrolment.
func (w *storageWorld) begin(t *testing.T, pause time.Duration) {
	t.Cleanup(w.load.Wait)
	t.Cleanup(w.halt)
	for range storageClients {
		w.load.Go(func() {
			for !w.stopped() {
				w.enrol(t)
				<-time.After(pause)
			}
		})
	}
}

func (w *storageWorld) stopped() bool {
	select {
	case <-w.stop:
		return true
	default:
		return false
	}
}

// enrol opens a checkout, and confirms every fourth. A request that is refused is sent again until it is done.
func (w *storageWorld) enrol(t *testing.T) {
	w.mu.Lock()
	n := w.orders
	w.orders++
	w.mu.Unlock()
	order := fmt.Sprintf("ENROL-%05d", n)
	created, ok := w.send(t, acknowledged{order: order}, "/v1/provider-checkouts", sandbox.Order(sandbox.LegacyCreate, order))
	if !ok || n%4 != 0 {
		return
	}
	for { // the payer's page says only that something is wrong
		if err := apiclient.NewBrowser(w.client.HTTP).SetUp(context.Background(), created.String("direct_debit.setup_url")); err == nil {
			break
		}
		if w.stopped() {
			return
		}
		<-time.After(held / 4)
	}
	w.send(t, acknowledged{order: order}, created.CheckoutPath()+"/confirm", created.ConfirmBody())
}

// send sends a request until it is done, or the load is stopped. Meanwhile it may only be refused for a time.
func (w *storageWorld) send(t *testing.T, d acknowledged, path, body string) (r sandbox.Response, ok bool) {
	for {
		d.began = time.Now()
		r, err := w.client.Call(context.Background(), "TUI", http.MethodPost, path, body)
		switch {
		case err != nil:
			t.Errorf("%s: %v", path, err)
			w.halt()
			return r, false
		case r.Status == http.StatusCreated || r.Status == http.StatusOK:
			d.id, d.number = r.String("checkout.checkout_id"), r.String("agreement.number")
			d.again = r.At("idempotent_replay") == true || r.At("already_confirmed") == true
			w.mu.Lock()
			w.done = append(w.done, d)
			w.mu.Unlock()
			return r, true
		case r.Status != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "":
			t.Errorf("%s answers %d with Retry-After %q: %s", path, r.Status, r.Header.Get("Retry-After"), r.Body)
			return r, false
		case w.stopped():
			return r, false
		}
		w.mu.Lock()
		w.refused++
		w.mu.Unlock()
		<-time.After(held / 10)
	}
}

// count returns how many requests are done, and how many were refused.
func (w *storageWorld) count() (done, refused int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.done), w.refused
}

// await waits until the load has gone on, so that it is under way.
func (w *storageWorld) await(t *testing.T, more int) {
	t.Helper()
	before, _ := w.count()
	eventually(t, "the clients get on", func() bool { now, _ := w.count(); return now >= before+more })
}

// ready waits until the operator's page and the API both say that the server is ready, or is not.
func (w *storageWorld) ready(t *testing.T, want bool) (took time.Duration) {
	t.Helper()
	for began := time.Now(); ; <-time.After(20 * time.Millisecond) {
		page, api := w.server.readyz(t).StatusCode, w.environment(t)
		took = time.Since(began)
		switch is := page == http.StatusOK; {
		case is == want && api == want:
			return took
		case took > mendedWithin():
			t.Errorf("/readyz answers %d and ready_for_api_calls is %t after %v, want %t\n%s", page, api, took, want, w.server.Log())
			return took
		}
	}
}

func (w *storageWorld) environment(t *testing.T) bool {
	t.Helper()
	r, err := w.client.Call(t.Context(), "TUI", http.MethodGet, "/v1/environment", "")
	if err != nil || r.Status != http.StatusOK {
		t.Errorf("/v1/environment answers %d %s, %v", r.Status, r.Body, err)
	}
	return r.At("readiness.ready_for_api_calls") == true
}

// refusing returns when more requests were refused.
func (w *storageWorld) refusing(t *testing.T) {
	t.Helper()
	_, before := w.count()
	eventually(t, "a request is refused", func() bool { _, now := w.count(); return now > before })
}

// polls checks that what is on record is read as ever.
func (w *storageWorld) polls(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	first := w.done[0]
	w.mu.Unlock()
	r, err := w.client.Call(t.Context(), "TUI", http.MethodGet, "/v1/provider-checkouts/"+first.id, "")
	if err != nil || r.Status != http.StatusOK {
		t.Errorf("a poll answers %d %s, %v", r.Status, r.Body, err)
	}
}

// noneSince checks that nothing was acknowledged that was sent in a time.
func (w *storageWorld) noneSince(t *testing.T, from, until time.Time) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, d := range w.done {
		if !d.again && d.began.After(from) && d.began.Before(until) {
			t.Errorf("%s was acknowledged %v after the file was not there any more", d.order, d.began.Sub(from))
		}
	}
}

// end stops the load and the server, and checks that everything that was acknowledged is on record.
func (w *storageWorld) end(t *testing.T) {
	t.Helper()
	w.halt()
	w.load.Wait()
	w.server.Stop(t, syscall.SIGTERM)
	ids, numbers := make(map[string]string), make(map[string]string)
	for _, r := range workload.ReadRecords(t, w.Run(t, "export", "--store", "sqlite:"+w.path)) {
		ids[r.Text("provider_order_id")] = r.Text("checkout_id")
		for _, a := range r.Related["agreement"] {
			numbers[r.Text("provider_order_id")] = a.Text("agreement_number")
		}
	}
	for _, d := range w.done {
		if ids[d.order] != d.id && d.number == "" || d.number != "" && numbers[d.order] != d.number {
			t.Errorf("%s was acknowledged as %q %s, and on record is %q %s", d.order, d.id, d.number, ids[d.order], numbers[d.order])
		}
	}
}
