package full_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
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

// storageWorld is a server over a SQLite store, with clients that enrol students. A request that is refused is sent again later.
type storageWorld struct {
	*workload
	path   string
	server *server
	client *backend
	polled *enrolment // which is confirmed before any fault
	stop   func()     // ends the load

	t    *testing.T
	mu   sync.Mutex
	acks []acknowledged
}

// acknowledged is a create or confirm that was acknowledged as the first.
type acknowledged struct {
	path  string
	began time.Time
}

// serveIn configures a store in a folder, serves it, and enrols a student.
func (b suite) serveIn(t *testing.T, folder string) *storageWorld {
	t.Helper()
	w := &storageWorld{path: filepath.Join(folder, "records.db"), t: t}
	w.workload = newWorkload(t, b.Binary, "sqlite:"+w.path)
	w.verdicts.acceptAll, w.heldUp = true, true
	w.server = serve(t, b.Command(serveArgs(w.place)...))
	w.client = newBackend(w.server.base, w.keys, nil)
	w.client.HTTP.Transport = w
	t.Cleanup(w.client.CloseIdleConnections)
	w.polled = w.enrolments.begin()
	if err := w.polled.complete(t.Context(), w.client.Client, w.rand); err != nil {
		t.Fatal(err)
	}
	return w
}

// RoundTrip implements [http.RoundTripper]: it notes the creates and confirms that are acknowledged as the first. Whoever is refused
// is told to come back.
func (w *storageWorld) RoundTrip(req *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := w.client.Transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == "" {
		w.t.Errorf("%s answers 503 without Retry-After", req.URL.Path)
	}
	text, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(text))
	if strings.Contains(string(text), `"idempotent_replay":false`) || strings.Contains(string(text), `"already_confirmed":false`) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.acks = append(w.acks, acknowledged{req.URL.Path, began})
	}
	return w.client.count(resp)
}

// begin starts the load, which the end of the test stops, if nothing has before.
func (w *storageWorld) begin(t *testing.T, pace time.Duration) {
	w.stop = load{clients: storageClients, pace: pace, excused: refusedByStore}.enrol(t, w.workload, w.client.Client)
}

// refusedByStore reports whether a request was refused for a time, or a payer's page failed, or knew of a setup that could not be
// recorded.
func refusedByStore(err error) bool {
	page := err.Error()
	return errors.Is(err, errBusy) || strings.Contains(page, "answered 500: Something went wrong") ||
		strings.Contains(page, sandbox.DoneTitle+`" has no form`)
}

// await waits until the load has gone on, so that it is under way.
func (w *storageWorld) await(t *testing.T, more int64) {
	t.Helper()
	want := w.client.answered.Load() + more
	eventually(t, "the clients get on", func() bool { return w.client.answered.Load() >= want })
}

// ready waits until the operator's page and the API both say that the server is ready, or is not.
func (w *storageWorld) ready(t *testing.T, want bool) (took time.Duration) {
	t.Helper()
	for began := time.Now(); ; <-time.After(20 * time.Millisecond) {
		page, api := w.server.readyz(t).StatusCode, w.get(t, apiclient.EnvironmentPath).At("readiness.ready_for_api_calls") == true
		took = testlevel.Elapsed(began)
		switch is := page == http.StatusOK; {
		case is == want && api == want:
			return took
		case took > mendedWithin():
			t.Errorf("/readyz answers %d and ready_for_api_calls is %t after %v, want %t\n%s", page, api, took, want, w.server.Log())
			return took
		}
	}
}

// get gets what can be read whatever becomes of the store. A machine that is slow may refuse it for a time.
func (w *storageWorld) get(t *testing.T, path string) apiclient.Response {
	t.Helper()
	r, err := w.client.Call(t.Context(), w.polled.provider, http.MethodGet, path, "")
	for tries := 1; errors.Is(err, errBusy) && tries < 5; tries++ {
		<-time.After(calm)
		r, err = w.client.Call(t.Context(), w.polled.provider, http.MethodGet, path, "")
	}
	if err != nil || r.Status != http.StatusOK {
		t.Errorf("GET %s answers %d %s, %v", path, r.Status, r.Body, err)
	}
	return r
}

// refusing returns when more requests were refused.
func (w *storageWorld) refusing(t *testing.T) {
	t.Helper()
	before := w.client.busy.Load()
	eventually(t, "a request is refused", func() bool { return w.client.busy.Load() > before })
}

// polls checks that what is on record is read as ever.
func (w *storageWorld) polls(t *testing.T) {
	t.Helper()
	w.get(t, w.polled.created.CheckoutPath())
}

// noneSince checks that nothing was acknowledged that was sent in a time.
func (w *storageWorld) noneSince(t *testing.T, from, until time.Time) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.acks {
		if a.began.After(from) && a.began.Before(until) {
			t.Errorf("%s was acknowledged %v after the file was not there any more", a.path, a.began.Sub(from))
		}
	}
}

// end stops the load, has the enrolments completed, stops the server, and compares everything with what is on record.
func (w *storageWorld) end(t *testing.T) {
	t.Helper()
	w.stop()
	w.finish(t, w.client.Client)
	w.settle(t)
	w.server.Stop(t, syscall.SIGTERM)
	w.check(t)
}

// says returns the figures of the world in words.
func (w *storageWorld) says() string {
	return fmt.Sprintf("%d requests were answered and %d refused", w.client.answered.Load(), w.client.busy.Load())
}
