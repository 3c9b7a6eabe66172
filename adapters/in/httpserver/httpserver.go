// Package httpserver serves the handlers of a service and drains them: the rest of a program around
// service.Service. Its time-outs bound slow clients, and a server that stops first answers every request that is
// in flight.
//
//	log := httpserver.NewLog(os.Stderr)
//	svc, err := service.New(service.Config{…, Report: httpserver.Report(log)})
//	…
//	err = httpserver.Serve(ctx, httpserver.Config{Listener: listener, Handler: httpapi.New(svc, …), Background: svc.Run, Log: log})
package httpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// How long a server that stops waits for requests and background work to finish, and then for the
// operator's own requests.
const (
	drainTimeout    = 12 * time.Second
	operatorTimeout = time.Second
)

// Config is the configuration of Serve. Listener, Handler and Log are required.
type Config struct {
	Listener net.Listener
	Handler  http.Handler
	// Background is work that ends with its context, such as Service.Run. The context ends before requests are drained.
	Background func(context.Context)
	// Private are the operator's own handlers, which answer until requests are drained.
	Private []Private
	// OnDrain is called when ctx ends: a readiness check should fail from then on. For DrainDelay everything else goes on as
	// before, so that a load balancer that goes by that check has time to send requests elsewhere. Then the drain begins.
	OnDrain    func()
	DrainDelay time.Duration
	Log        *slog.Logger
}

// Private is a handler with a listener of its own.
type Private struct {
	Listener net.Listener
	Handler  http.Handler
}

// Serve answers requests and does the background work until ctx ends and Config.DrainDelay is over. Then it refuses new
// connections, finishes work in progress within 12 seconds, and returns nil. An error means that a listener failed. Serve closes
// the listeners.
func Serve(ctx context.Context, c Config) error {
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var background sync.WaitGroup
	if c.Background != nil {
		background.Go(func() { c.Background(running) })
	}
	listener := newDrainListener(c.Listener)
	server := New(c.Handler, c.Log)
	defer server.Close()
	served := make(chan error, 1)
	go func() { served <- serve(server, listener) }()
	ended := make(chan error, len(c.Private))
	for _, p := range c.Private {
		defer c.startPrivate(ctx, p, ended)()
	}

	var err error
	select {
	case err = <-served:
	case err = <-ended:
	case <-ctx.Done():
		err = c.delay(served, ended)
	}
	stop()
	if err != nil {
		background.Wait()
		return err
	}
	c.drain(ctx, server, listener, served, &background)
	return nil
}

// startPrivate starts a server for the operator. ended receives the error with which it ends.
func (c Config) startPrivate(ctx context.Context, p Private, ended chan<- error) (stop func()) {
	server := New(p.Handler, c.Log)
	go func() { ended <- serve(server, p.Listener) }()
	return func() {
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), operatorTimeout)
		defer cancel()
		_ = errors.Join(server.Shutdown(limit), server.Close()) // a scrape that is cut off does no harm
	}
}

// delay goes on with everything but readiness until Config.DrainDelay is over, or a server ends.
func (c Config) delay(served, ended <-chan error) error {
	if c.OnDrain != nil {
		c.OnDrain()
	}
	if c.DrainDelay > 0 {
		c.Log.Info("not ready any more, and draining soon", slog.Duration("delay", c.DrainDelay))
	}
	select {
	case err := <-served:
		return err
	case err := <-ended:
		return err
	case <-time.After(c.DrainDelay):
		return nil
	}
}

// drain waits until the requests and the background work in progress are finished.
func (c Config) drain(ctx context.Context, server *http.Server, listener *drainListener, served <-chan error, background *sync.WaitGroup) {
	c.Log.Info("draining")
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	listener.drain() // before Shutdown, which resets the connections that are not accepted yet
	<-served
	if err := errors.Join(server.Shutdown(limit), waitFor(limit, background)); err != nil {
		c.Log.Warn("cut off what did not finish in time", slog.Any("error", err))
		return
	}
	c.Log.Info("stopped")
}

// New returns a server for h with the time-outs of Serve: 5 s for a request's header, 10 s for the whole of it, 60 s for the
// answer, 60 s idle.
func New(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            5 * time.Second,
		ReadTimeout:                  10 * time.Second,
		WriteTimeout:                 60 * time.Second,
		IdleTimeout:                  60 * time.Second,
		MaxHeaderBytes:               16 << 10,
		DisableGeneralOptionsHandler: true, // "OPTIONS *" is one more path that is not found
		ErrorLog:                     slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// NewLog returns a logger that writes JSON lines of level INFO and above to w, with the id of the request that a line belongs to.
func NewLog(w io.Writer) *slog.Logger {
	return slog.New(web.LogHandler(slog.NewJSONHandler(w, nil)))
}

// Report returns a service.Config.Report that logs every failure: its operation as the message, a warning at level
// WARN and an error at level ERROR, with what it is about.
func Report(log *slog.Logger) func(context.Context, service.Failure) {
	return func(ctx context.Context, f service.Failure) {
		level := slog.LevelError
		if f.Severity == service.Warning {
			level = slog.LevelWarn
		}
		attrs := append([]slog.Attr{slog.Any("error", f.Err)}, web.About(f.About)...)
		if f.RequestID != "" && web.RequestID(ctx) == "" { // in the lines of a request's own context the log has the id already
			attrs = append(attrs, slog.String("request_id", f.RequestID))
		}
		if f.EventID != "" {
			attrs = append(attrs, slog.String("event_id", f.EventID))
		}
		if f.Attempt > 0 {
			attrs = append(attrs, slog.Int("attempt", f.Attempt))
		}
		log.LogAttrs(ctx, level, string(f.Operation), attrs...)
	}
}

// serve serves on ln, and returns the error with which that ends.
func serve(server *http.Server, ln net.Listener) error {
	return fmt.Errorf("serve %s: %w", ln.Addr(), server.Serve(ln))
}

// waitFor waits until work is done or ctx ends.
func waitFor(ctx context.Context, work *sync.WaitGroup) error {
	done := make(chan struct{})
	go func() {
		work.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drainListener is a listener that can be drained: connections that are already established are accepted, and later
// ones refused. A listener that is merely closed resets the connections that it has not accepted yet, though their
// clients may have sent requests.
type drainListener struct {
	net.Listener
	draining atomic.Bool
	backlog  []net.Conn    // connections that were established but not accepted when the drain began
	drained  chan struct{} // closed when backlog is set
}

func newDrainListener(ln net.Listener) *drainListener {
	return &drainListener{Listener: ln, drained: make(chan struct{})}
}

// Accept implements [net.Listener]. Only one goroutine may call it, in a loop.
func (l *drainListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil || !l.draining.Load() {
		return conn, err
	}
	if <-l.drained; len(l.backlog) == 0 {
		return nil, err
	}
	conn, l.backlog = l.backlog[0], l.backlog[1:]
	return conn, nil
}

// drain closes the listener. Accept still returns the connections that are already established.
func (l *drainListener) drain() {
	l.draining.Store(true)
	l.backlog = acceptBacklog(l.Listener)
	close(l.drained)
	_ = l.Close() // an error changes nothing
}

// maxLines is the number of lines that wait for a reader.
const maxLines = 4096

// Lines is an asynchronous writer of lines. It drops a line rather than block if the reader of the underlying writer is slow, stuck
// or gone. It is safe for concurrent use.
type Lines struct {
	waiting chan []byte
	lost    atomic.Int64
	flush   chan chan struct{}
}

// NewLines returns a Lines over w, to which it writes until the process ends.
func NewLines(w io.Writer) *Lines {
	l := &Lines{waiting: make(chan []byte, maxLines), flush: make(chan chan struct{})}
	go l.run(w)
	return l
}

func (l *Lines) run(w io.Writer) {
	pass := func(line []byte) {
		if _, err := w.Write(line); err != nil {
			l.lost.Add(1)
		}
	}
	for {
		select {
		case line := <-l.waiting:
			pass(line)
		case done := <-l.flush:
			for range len(l.waiting) {
				pass(<-l.waiting)
			}
			close(done)
		}
	}
}

// Write takes a line. It never fails.
func (l *Lines) Write(line []byte) (int, error) {
	select {
	case l.waiting <- append([]byte(nil), line...):
	default:
		l.lost.Add(1)
	}
	return len(line), nil
}

// Lost returns the number of lines that were lost.
func (l *Lines) Lost() int64 { return l.lost.Load() }

// Flush waits until the lines that were written are passed on, but no longer than limit.
func (l *Lines) Flush(limit time.Duration) {
	end, done := time.After(limit), make(chan struct{})
	select {
	case l.flush <- done:
		select {
		case <-done:
		case <-end:
		}
	case <-end:
	}
}
