package listen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"

	"github.com/provider-checkout/provider-checkout/events"
)

// ErrElsewhere is the error about a receiver that is not on this machine.
var ErrElsewhere = errors.New("is not on this machine: events are forwarded to localhost only")

const (
	// patience is the time that a receiver has for an answer: more than the service gives it, for a receiver that is stopped in a debugger.
	patience = 30 * time.Second
	// grace is the time that a receiver has for its answer once the listener is ended.
	grace = time.Second
)

// Answer is a receiver's answer to an event.
type Answer struct {
	Status int // 0 without an answer
	Took   time.Duration
	Err    error // why the receiver did not take the event
	Down   bool  // nobody listens at the receiver's address
}

// receiver is the developer's receiver.
type receiver struct {
	url, secret string
	transport   http.RoundTripper // no client: that follows redirects
}

func newReceiver(url, secret string) *receiver {
	dialer := &net.Dialer{Timeout: 5 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		if to, err := netip.ParseAddrPort(address); err != nil || !to.Addr().Unmap().IsLoopback() {
			return ErrElsewhere
		}
		return nil
	}}
	return &receiver{url, secret, &http.Transport{DialContext: dialer.DialContext, DisableCompression: true}}
}

// deliver makes a run of attempts as the service does: with the same headers, delays and signature. It ends early with ctx, and
// waits then for an answer that is due, for as long as grace.
func (r *receiver) deliver(ctx context.Context, e events.Event) (a Answer) {
	run := events.NewDelivery(e, r.secret, time.Now())
	for attempt := 1; attempt <= events.MaxAttempts; attempt++ {
		if err := sleep(ctx, events.Delay(attempt)); err != nil {
			a.Err = err
			return a
		}
		if a = r.attempt(ctx, run, attempt); a.Err == nil || a.Down {
			break
		}
	}
	return a
}

// attempt makes one attempt.
func (r *receiver) attempt(ctx context.Context, run events.Delivery, number int) (a Answer) {
	attempting, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })()
	req, err := http.NewRequestWithContext(attempting, http.MethodPost, r.url, strings.NewReader(string(run.Event.Body)))
	if err != nil {
		return Answer{Err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "provider-checkout")
	for name, value := range run.Header(number) {
		req.Header.Set(name, value)
	}
	began := time.Now()
	defer func() { a.Took = time.Since(began) }()
	resp, err := r.transport.RoundTrip(req)
	if err != nil {
		dial, isNet := errors.AsType[*net.OpError](err)
		return Answer{Err: err, Down: isNet && dial.Op == "dial"}
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // the connection is used again
	a.Status = resp.StatusCode
	if a.Status < 200 || a.Status > 299 {
		a.Err = fmt.Errorf("it answers %d", a.Status)
	}
	return a
}
