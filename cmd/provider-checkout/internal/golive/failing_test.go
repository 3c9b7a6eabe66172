package golive_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpserver"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/ports"
)

func TestTheEndOfAProcessLosesNoRequests(t *testing.T) {
	w := newWorld(t, memory.New())
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	first := w.URL
	w.URL = "http://" + ln.Addr().String()
	w.config.Service.BaseURL = w.URL
	s, err := site.New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, ln, nil) }()
	w.Create(t, "order-1")
	stop()
	if err := <-served; err != nil {
		t.Fatal(err)
	}
	w.URL = first
	if r := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests", ""); r.At("requests.0.status") == nil {
		t.Errorf("after the end of the process that had a request the log has %s", r.Body)
	}
}

// unreadable is a store whose log of requests cannot be read.
type unreadable struct {
	*memory.Store
	err error
}

func (u unreadable) LoggedRequests(context.Context, string, checkout.Cursor, int) ([][]byte, checkout.Cursor, error) {
	return nil, 0, u.err
}

func TestWhyTheLogCannotBeReadIsLoggedOnce(t *testing.T) {
	for cause, status := range map[error]int{
		fmt.Errorf("too many writers: %w", ports.ErrBusy): http.StatusServiceUnavailable,
		context.DeadlineExceeded:                          http.StatusServiceUnavailable,
		errors.New("the disk is broken"):                  http.StatusInternalServerError,
	} {
		w := newWorld(t, unreadable{memory.New(), cause})
		for _, path := range []string{"golive", "requests"} {
			log := &sandbox.Log{}
			w.config.Log = httpserver.NewLog(log)
			w.serve(t)
			r := w.call(t, "KOWHAI", "GET", "/sandbox/v1/"+path, "")
			if r.Status != status || r.String("error.code") != "INTERNAL_ERROR" || (r.Header.Get("Retry-After") != "") != (status == 503) {
				t.Errorf("%s with %q: %d %s", path, cause, r.Status, r.Body)
			}
			if n := strings.Count(log.String(), cause.Error()); n != 1 {
				t.Errorf("%s: %q is logged %d times:\n%s", path, cause, n, log)
			}
		}
	}
}

// stale is a store that writes no requests.
type stale struct{ *memory.Store }

func (stale) LogRequests(context.Context, string, time.Time, [][]byte, time.Time, int) error {
	return fmt.Errorf("the disk is full")
}

func TestAStoreThatTakesNoRequestsHoldsNothingUp(t *testing.T) {
	w := newWorld(t, stale{memory.New()})
	w.Create(t, "order-1")
	if missing, _ := w.missing(t, "KOWHAI"); len(missing) != 12 {
		t.Errorf("missing are %q", missing)
	}
	if r := w.Replay(t, "order-1"); r.Status != http.StatusOK {
		t.Errorf("the replay is answered %d", r.Status)
	}
}
