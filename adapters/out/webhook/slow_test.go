package webhook_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The receivers of this file are at the other end of a pipe, in a synctest bubble whose clock
// jumps to the next event, so that time limits are exact and cost no time.

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// dialing dials a receiver that reads the request and then calls talk.
func dialing(talk func(net.Conn)) dialFunc {
	return func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			if readRequest(bufio.NewReader(there)) {
				talk(there)
			}
		}()
		return here, nil
	}
}

// answering dials a receiver that answers with this text.
func answering(text string) dialFunc {
	return dialing(func(c net.Conn) { _, _ = io.WriteString(c, text) })
}

// hang is a receiver that never answers.
func hang(c net.Conn) { _, _ = c.Read(make([]byte, 1)) }

// drip sends a piece of an answer each second, until the sender hangs up.
func drip(c net.Conn, pieces ...string) {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		hang(c)
	}()
	for _, piece := range pieces {
		select {
		case <-gone:
			return
		case <-time.After(time.Second):
			_, _ = io.WriteString(c, piece)
		}
	}
}

func TestAnAttemptTakesTwoSecondsAtMost(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	tests := []struct {
		name string
		dial dialFunc
		want error
	}{
		{"no connection", func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, context.DeadlineExceeded},
		{"a connection that is not read", func(context.Context, string, string) (net.Conn, error) {
			here, _ := net.Pipe()
			return here, nil
		}, context.DeadlineExceeded},
		{"no answer", dialing(hang), context.DeadlineExceeded},
		{"a status line of one byte a second", dialing(func(c net.Conn) { drip(c, strings.Split(ok, "")...) }), context.DeadlineExceeded},
		{"headers of one byte a second", dialing(func(c net.Conn) {
			_, _ = io.WriteString(c, ok)
			drip(c, strings.Split("Content-Length: 0\r\n\r\n", "")...)
		}), context.DeadlineExceeded},
		{"interim answers, one a second", dialing(func(c net.Conn) {
			drip(c, slices.Repeat([]string{"HTTP/1.1 103 Early Hints\r\n\r\n"}, 10)...)
		}), context.DeadlineExceeded},
		{"accepted, then a body of one byte a second", dialing(func(c net.Conn) {
			_, _ = io.WriteString(c, ok+"Content-Length: 1000\r\n\r\n")
			drip(c, strings.Split(strings.Repeat("x", 1000), "")...)
		}), nil},
		{"accepted, then a body that never comes", dialing(func(c net.Conn) {
			_, _ = io.WriteString(c, ok+"Content-Length: 1000\r\n\r\n")
			hang(c)
		}), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSender(t, sandbox)
				s.DialWith(tt.dial)
				start := time.Now()
				err := send(s, "http://receiver.example")
				if took := time.Since(start); took != 2*time.Second || !errors.Is(err, tt.want) {
					t.Errorf("%v after %v, want %v after 2s", err, took, tt.want)
				}
			})
		})
	}
}

// The sender does not wait for the rest of an answer that is a refusal: its body, or a protocol switch.
func TestARefusalEndsTheAttempt(t *testing.T) {
	for name, head := range map[string]string{
		"a body that never comes": "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 1000\r\n\r\n",
		"another protocol":        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSender(t, sandbox)
				s.DialWith(dialing(func(c net.Conn) {
					_, _ = io.WriteString(c, head)
					hang(c)
				}))
				start := time.Now()
				err := send(s, "http://receiver.example")
				checkRefused(t, err, "answered")
				if took := time.Since(start); took > 100*time.Millisecond {
					t.Errorf("took %v, want 100ms at most", took)
				}
			})
		})
	}
}

func TestNoMoreThan64KiBOfAnAnswerAreRead(t *testing.T) {
	endless := map[string]string{
		"a body without end":            "HTTP/1.1 200 OK\r\n\r\n",
		"chunks without end":            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n",
		"a gzip bomb":                   "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x00\x00\x00\x00\x00",
		"a body of an announced length": "HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n",
		"a header without end":          "HTTP/1.1 200 OK\r\nA: ",
		"a status line without end":     "HTTP/1.1 200 ",
	}
	for name, head := range endless {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var taken atomic.Int64
				s := newSender(t, sandbox)
				s.DialWith(dialing(func(c net.Conn) {
					n, _ := io.WriteString(c, head)
					taken.Add(int64(n))
					for kib := make([]byte, 1024); ; {
						n, err := c.Write(kib)
						taken.Add(int64(n))
						if err != nil {
							return
						}
					}
				}))
				start := time.Now()
				_ = send(s, "http://receiver.example") // accepted or not: it comes back
				synctest.Wait()
				if n := taken.Load(); n == 0 || n > 64<<10 {
					t.Errorf("%d bytes were taken, want at most %d", n, 64<<10)
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("took %v, want 0s", took)
				}
			})
		})
	}
}

// An attempt waits for no other, not even for one to the same host, which providers share: each ends in time.
func TestAHangingReceiverDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 500
		var hanging atomic.Int64
		var well atomic.Bool // what is sent from now on
		s := newSender(t, sandbox)
		s.DialWith(dialing(func(c net.Conn) {
			if well.Load() {
				_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
				return
			}
			hanging.Add(1)
			hang(c)
		}))
		start := time.Now()
		var sends sync.WaitGroup
		for range many {
			sends.Go(func() {
				if err := send(s, "http://shared.example"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("hanging receiver: %v, want %v", err, context.DeadlineExceeded)
				}
			})
		}
		synctest.Wait()
		if n := hanging.Load(); n != many {
			t.Errorf("%d attempts reached the receiver, want all %d", n, many)
		}
		well.Store(true)
		if err := send(s, "http://shared.example"); err != nil || time.Since(start) != 0 {
			t.Errorf("another provider on the same host: %v after %v, want nil after 0s", err, time.Since(start))
		}
		sends.Wait()
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("hanging receiver: all attempts took %v, want 2s", took)
		}
	})
}

func TestProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	for url, want := range map[string]string{
		"http://receiver.example":  "receiver.example:80",
		"https://receiver.example": "receiver.example:443",
	} {
		var dialled string
		s := newSender(t, sandbox)
		s.DialWith(func(_ context.Context, _, address string) (net.Conn, error) {
			dialled = address
			return nil, io.ErrUnexpectedEOF
		})
		if err := send(s, url); err == nil || dialled != want {
			t.Errorf("to %s: dialled %q (%v), want %q", url, dialled, err, want)
		}
	}
}
