package webhook_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/provider-checkout/provider-checkout/adapters/out/webhook"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

const secret = "whsec_never_in_an_error_0123"

// The environment names a proxy in all tests, because net/http reads it once in a process.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		if err := os.Setenv(name, "http://proxy.example:3128"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// sandbox allows the receivers of these tests, which are on loopback.
var sandbox = webhook.Options{AllowPrivate: true}

// newDelivery returns the delivery that the tests send.
func newDelivery() events.Delivery {
	at := time.Date(2026, 3, 1, 2, 3, 4, 0, time.UTC)
	e := events.Created(
		events.Origin{RequestID: "req_7", Environment: "sandbox", CreatedAt: at},
		events.Subject{ProviderCode: "KOWHAI", OrderID: "ORD <1001>", CheckoutID: "KOWHAI-1-a", OpportunityID: "opp_1"},
		"dda_1", "con_1")
	return events.NewDelivery(e, secret, at)
}

func newSender(t *testing.T, o webhook.Options) *webhook.Sender {
	t.Helper()
	s := webhook.New(o)
	t.Cleanup(s.Close)
	return s
}

// send makes the first attempt to deliver to url, with a query that no error may quote.
func send(s *webhook.Sender, url string) error {
	to := catalogue.Destination{URL: url + "?token=query-in-confidence", Secret: secret}
	return s.Send(context.Background(), to, newDelivery(), 1)
}

// checkRefused fails the test unless err contains the reason and quotes nothing confidential.
func checkRefused(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one that says %q", err, want)
		return
	}
	for _, quoted := range []string{secret, "query-in-confidence", "hostile", "KOWHAI"} {
		if strings.Contains(err.Error(), quoted) {
			t.Errorf("error %q quotes %q", err, quoted)
		}
	}
}

// checkOutcome is checkRefused, unless the reason is "": then nothing is wrong.
func checkOutcome(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want != "":
		checkRefused(t, err, want)
	case err != nil:
		t.Errorf("error %v, want nil", err)
	}
}

// serve answers on loopback until the test ends.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	srv.Start()
	t.Cleanup(srv.Close)
	return srv
}

// serveConns calls talk for each connection on loopback; talk need not speak HTTP.
func serveConns(t *testing.T, talk func(*net.TCPConn)) (url string) {
	t.Helper()
	ln := sample.Listen(t)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				talk(conn.(*net.TCPConn))
			}()
		}
	}()
	return "http://" + ln.Addr().String()
}

// readRequest reads one request to its end, and reports whether there was one.
func readRequest(r *bufio.Reader) bool {
	req, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

func TestSendPostsTheSignedBytesUnderTheContractsHeaders(t *testing.T) {
	is := is.New(t)
	var got *http.Request
	var body []byte
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	d := newDelivery()
	to := catalogue.Destination{URL: srv.URL + "/hooks/in?token=1&b=%2F", Secret: secret}
	is.NoErr(newSender(t, sandbox).Send(context.Background(), to, d, 2))

	is.Equal(got.Method, http.MethodPost)
	is.Equal(got.RequestURI, "/hooks/in?token=1&b=%2F")
	is.Equal(got.Host, strings.TrimPrefix(srv.URL, "http://"))
	is.Equal(body, d.Event.Body)
	is.Equal(got.Header, http.Header{
		"Content-Type":                    {"application/json"},
		"Content-Length":                  {fmt.Sprint(len(d.Event.Body))},
		"User-Agent":                      {"provider-checkout"},
		"X-Service-Event":                 {"checkout.created"},
		"X-Service-Event-Id":              {d.Event.ID},
		"X-Service-Timestamp":             {"1772330584"},
		"X-Service-Signature":             {d.Signature},
		"X-Service-Delivery-Attempt":      {"2"},
		"X-Service-Delivery-Max-Attempts": {"3"},
		"X-Request-Id":                    {"req_7"},
	})
	is.NoErr(events.Verify(secret, got.Header.Get(events.HeaderSignature), body, d.Timestamp, 0))
}

func TestOnlyA2xxAccepts(t *testing.T) {
	s := newSender(t, sandbox)
	for status := 200; status < 600; status++ {
		s.DialWith(answering(fmt.Sprintf("HTTP/1.1 %d hostile\r\nContent-Length: 0\r\n\r\n", status)))
		err := send(s, "http://receiver.example")
		s.Close()
		switch {
		case status < 300 && err != nil:
			t.Errorf("answered %d: %v, want nil", status, err)
		case status >= 300:
			checkRefused(t, err, fmt.Sprintf("answered %d", status))
		}
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	var followed atomic.Int32
	inside := serve(t, func(http.ResponseWriter, *http.Request) { followed.Add(1) })
	s := newSender(t, sandbox)
	for _, status := range []int{301, 302, 303, 307, 308} {
		for _, to := range []string{inside.URL, "http://169.254.169.254/latest/meta-data/hostile"} {
			t.Run(fmt.Sprintf("%d to %s", status, to), func(t *testing.T) {
				srv := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) })
				checkRefused(t, send(s, srv.URL), fmt.Sprintf("answered %d", status))
			})
		}
	}
	if n := followed.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

func TestReceiversThatBreakTheRules(t *testing.T) {
	answer := func(text string) func(*net.TCPConn) {
		return func(c *net.TCPConn) {
			if readRequest(bufio.NewReader(c)) {
				_, _ = io.WriteString(c, text)
			}
		}
	}
	reset := func(before string) func(*net.TCPConn) {
		return func(c *net.TCPConn) {
			answer(before)(c)
			_ = c.SetLinger(0) // closing now sends RST
		}
	}
	const ok = "HTTP/1.1 200 OK\r\n"
	tests := []struct {
		name string
		talk func(*net.TCPConn)
		want string // "" if the event counts as accepted
	}{
		{"reset without an answer", reset(""), "connection reset"},
		{"closed without an answer", answer(""), "closed without an answer"},
		{"closed within the status line", answer("HTTP/1.1 2"), "not proper HTTP"},
		{"no HTTP", answer("hostile\r\n\r\n"), "not proper HTTP"},
		{"a status that is no number", answer("HTTP/1.1 hostile\r\n\r\n"), "not proper HTTP"},
		{"a header that is none", answer(ok + "hostile\r\n\r\n"), "not proper HTTP"},
		{"an encoding that is none", answer(ok + "Transfer-Encoding: hostile\r\n\r\n"), "not proper HTTP"},
		{"headers over 16 KiB", answer(ok + "A: " + strings.Repeat("hostile", 16<<10) + "\r\n\r\n"), "not proper HTTP"},
		{"interim answers without end", answer(strings.Repeat("HTTP/1.1 103 hostile\r\n\r\n", 2_000)), "not proper HTTP"},
		{"another protocol", answer("HTTP/1.1 101 hostile\r\nConnection: Upgrade\r\nUpgrade: hostile\r\n\r\n"), "answered 101"},
		{"accepted, then reset", reset(ok + "Content-Length: 9\r\n\r\n"), ""},
		{"accepted, then closed too early", answer(ok + "Content-Length: 9\r\n\r\nhostile"), ""},
		{"accepted, then a chunk that is none", answer(ok + "Transfer-Encoding: chunked\r\n\r\nhostile\r\n"), ""},
		{"accepted, and gzip that is none", answer(ok + "Content-Encoding: gzip\r\nContent-Length: 7\r\n\r\nhostile"), ""},
	}
	s := newSender(t, sandbox)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkOutcome(t, send(s, serveConns(t, tt.talk)), tt.want)
		})
	}
}

func TestConnectionRefused(t *testing.T) {
	srv := serve(t, nil)
	srv.Close()
	checkRefused(t, send(newSender(t, sandbox), srv.URL), "connection refused")
}

func TestEventsShareAConnection(t *testing.T) {
	is := is.New(t)
	var opened, closed atomic.Int32
	done := make(chan struct{})
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, strings.Repeat("read to its end", 1_000))
	}))
	srv.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			opened.Add(1)
		case http.StateClosed:
			if closed.Add(1) == 1 {
				close(done)
			}
		}
	}
	srv.Start()
	t.Cleanup(srv.Close)
	s := webhook.New(sandbox)
	for range 20 {
		is.NoErr(send(s, srv.URL))
	}
	is.Equal(opened.Load(), int32(1))
	s.Close()
	<-done // Close gives it up
}

// A request that may have arrived is never repeated within an attempt, even if it was sent over a
// connection that had been used before.
func TestOneAttemptIsOneRequest(t *testing.T) {
	is := is.New(t)
	var requests atomic.Int32
	url := serveConns(t, func(c *net.TCPConn) {
		r := bufio.NewReader(c)
		if readRequest(r) {
			requests.Add(1)
			_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
		}
		if readRequest(r) {
			requests.Add(1)
		}
	})
	s := newSender(t, sandbox)
	is.NoErr(send(s, url))
	checkRefused(t, send(s, url), "without an answer")
	is.Equal(requests.Load(), int32(2))
}

func TestSendEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	err := newSender(t, sandbox).Send(ctx, catalogue.Destination{URL: srv.URL}, newDelivery(), 1)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
