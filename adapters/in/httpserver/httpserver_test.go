package httpserver_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// get returns the status of a request, or 0 if it was refused.
func get(ln net.Listener) int {
	resp, err := http.Get("http://" + ln.Addr().String())
	if err != nil {
		return 0
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestServeDrainsInOrder(t *testing.T) {
	public, private, second := sample.Listen(t), sample.Listen(t), sample.Listen(t)
	entered, release := make(chan struct{}), make(chan struct{})
	var backgroundEnded, draining atomic.Bool
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() {
		served <- httpserver.Serve(ctx, httpserver.Config{
			Listener: public,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				close(entered)
				<-release
				w.WriteHeader(http.StatusCreated)
			}),
			Background: func(ctx context.Context) { <-ctx.Done(); backgroundEnded.Store(true) },
			Private: []httpserver.Private{{Listener: private, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if draining.Load() {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
			})}, {Listener: second, Handler: http.NotFoundHandler()}},
			OnDrain: func() { draining.Store(true) },
			Log:     slog.New(slog.DiscardHandler),
		})
	}()
	answered := make(chan int, 1)
	go func() { answered <- get(public) }()
	<-entered
	if got := get(second); got != http.StatusNotFound {
		t.Errorf("the second of the operator's handlers answers %d, want 404", got)
	}
	if got := get(private); got != http.StatusOK {
		t.Errorf("the operator is answered %d before the drain, want 200", got)
	}
	stop()
	for !draining.Load() {
		time.Sleep(time.Millisecond)
	}
	if got := get(private); got != http.StatusServiceUnavailable {
		t.Errorf("the operator is answered %d during the drain, want 503", got)
	}
	select {
	case err := <-served:
		t.Fatalf("Serve returned %v before the request was answered", err)
	default:
	}
	close(release)
	if got := <-answered; got != http.StatusCreated {
		t.Errorf("the request under way is answered %d, want 201", got)
	}
	if err := <-served; err != nil {
		t.Errorf("Serve = %v, want nil", err)
	}
	if !backgroundEnded.Load() {
		t.Error("Serve returned before the background work ended")
	}
	if get(public) != 0 || get(private) != 0 || get(second) != 0 {
		t.Error("a listener still answers")
	}
}

// While a load balancer takes a server out of its rotation, it is not ready and goes on with everything.
func TestServeGoesOnForTheDrainDelay(t *testing.T) {
	public := sample.Listen(t)
	var working, notReady atomic.Bool
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	const delay = 300 * time.Millisecond
	go func() {
		served <- httpserver.Serve(ctx, httpserver.Config{Listener: public, Handler: http.NotFoundHandler(), DrainDelay: delay,
			Background: func(ctx context.Context) { working.Store(true); <-ctx.Done(); working.Store(false) },
			OnDrain:    func() { notReady.Store(true) }, Log: slog.New(slog.DiscardHandler)})
	}()
	get(public)
	stop()
	began := time.Now()
	for !notReady.Load() {
		time.Sleep(time.Millisecond)
	}
	for time.Since(began) < delay/2 {
		http.DefaultClient.CloseIdleConnections() // each request comes on a connection of its own
		if got := get(public); time.Since(began) < delay/2 && (got != http.StatusNotFound || !working.Load()) {
			t.Fatalf("%v after the signal a request is answered %d, background work %v", time.Since(began), got, working.Load())
		}
	}
	if err := <-served; err != nil || time.Since(began) < delay {
		t.Errorf("Serve = %v after %v, want nil after the delay", err, time.Since(began))
	}
	if get(public) != 0 {
		t.Error("the listener still answers")
	}
}

func TestServeEndsWhenAListenerFails(t *testing.T) {
	public := sample.Listen(t)
	public.Close()
	ended := make(chan struct{})
	err := httpserver.Serve(t.Context(), httpserver.Config{Listener: public, Handler: http.NotFoundHandler(),
		Background: func(ctx context.Context) { <-ctx.Done(); close(ended) }, Log: slog.New(slog.DiscardHandler)})
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve = %v, want net.ErrClosed", err)
	}
	<-ended
}

// A line has one request_id: that of the request in which it is written, or else of the request that the job follows from.
func TestALineHasTheIDOfOneRequest(t *testing.T) {
	var out bytes.Buffer
	log := httpserver.NewLog(&out)
	write := func(ctx context.Context) string {
		out.Reset()
		httpserver.Report(log)(ctx, service.Failure{Operation: service.OperationSend, RequestID: "req_1", Err: errors.New("refused")})
		return out.String()
	}
	if line := write(t.Context()); strings.Count(line, `"request_id":"req_1"`) != 1 {
		t.Errorf("a failure in the background is logged as %s, want the id of its request", line)
	}
	h := web.Wrap(web.Options{Rand: rand.Reader}.Complete(), http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		id := fmt.Sprintf(`"request_id":%q`, web.RequestID(r.Context()))
		if line := write(r.Context()); strings.Count(line, "request_id") != 1 || !strings.Contains(line, id) {
			t.Errorf("a failure in a request is logged as %s, want %s alone", line, id)
		}
	}), nil)
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
}

func TestReportLogsAFailureByItsSeverity(t *testing.T) {
	for _, tt := range []struct {
		name    string
		failure service.Failure
		want    map[string]any
	}{
		{"a failed attempt is a warning",
			service.Failure{Operation: service.OperationSend, Severity: service.Warning, About: checkout.About{CheckoutID: "K-1", OrderID: "1", ProviderCode: "K"}, EventID: "evt_1", RequestID: "req_1", Attempt: 2, Err: errors.New("refused")},
			map[string]any{"level": "WARN", "msg": "send event", "error": "refused", "checkout_id": "K-1", "provider_order_id": "1", "provider_code": "K", "event_id": "evt_1", "request_id": "req_1", "attempt": 2.0}},
		{"an event that is given up is an error",
			service.Failure{Operation: service.OperationDeliver, Severity: service.Error, EventID: "evt_1", Err: errors.New("three times")},
			map[string]any{"level": "ERROR", "msg": "deliver event", "error": "three times", "event_id": "evt_1",
				"checkout_id": nil, "attempt": nil}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			httpserver.Report(httpserver.NewLog(&out))(t.Context(), tt.failure)
			var line map[string]any
			if err := json.NewDecoder(io.LimitReader(&out, 1<<10)).Decode(&line); err != nil {
				t.Fatalf("the log is %q: %v", out.String(), err)
			}
			for name, want := range tt.want {
				if line[name] != want {
					t.Errorf("%s = %v, want %v", name, line[name], want)
				}
			}
		})
	}
}

func TestNewBoundsWhatAClientMayTakeItsTimeFor(t *testing.T) {
	server := httpserver.New(http.NotFoundHandler(), slog.New(slog.DiscardHandler))
	if server.ReadHeaderTimeout != 5*time.Second || server.ReadTimeout != 10*time.Second || server.WriteTimeout != time.Minute ||
		server.IdleTimeout != time.Minute || server.MaxHeaderBytes != 16<<10 {
		t.Errorf("time-outs %v %v %v %v, %d bytes", server.ReadHeaderTimeout, server.ReadTimeout, server.WriteTimeout,
			server.IdleTimeout, server.MaxHeaderBytes)
	}
	if !server.DisableGeneralOptionsHandler {
		t.Error("OPTIONS * is answered by the server itself")
	}
}

// reader is the reader of a log, who may be stuck or gone.
type reader struct {
	bytes.Buffer
	stuck chan struct{} // closed: it reads on; nil: it reads
	gone  bool
}

func (r *reader) Write(line []byte) (int, error) {
	if r.stuck != nil {
		<-r.stuck
	}
	if r.gone {
		return 0, errors.New("broken pipe")
	}
	return r.Buffer.Write(line)
}

// Nobody waits for the reader of the log, and each line is read or counted as lost.
func TestNobodyWaitsForTheReaderOfTheLog(t *testing.T) {
	const lines = 10_000
	for _, tt := range []struct {
		name   string
		reader *reader
	}{
		{"reads", &reader{}}, {"is stuck for a while", &reader{stuck: make(chan struct{})}}, {"is gone", &reader{gone: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := httpserver.NewLines(tt.reader)
			for n := range lines {
				if _, err := fmt.Fprintf(log, "line %d\n", n); err != nil {
					t.Fatal(err)
				}
			}
			if tt.reader.stuck != nil {
				log.Flush(time.Millisecond) // which ends
				close(tt.reader.stuck)
			}
			log.Flush(time.Minute)
			read := strings.Count(tt.reader.String(), "\n")
			if read+int(log.Lost()) != lines || tt.reader.gone && read > 0 || tt.reader.stuck != nil && log.Lost() == 0 {
				t.Errorf("%d lines were read and %d lost of %d", read, log.Lost(), lines)
			}
		})
	}
}
