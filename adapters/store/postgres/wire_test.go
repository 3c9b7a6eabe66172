package postgres_test

import (
	"net"
	"net/url"
	"sync"
	"testing"
)

// fault is a way in which a wire fails.
type fault int

const (
	none fault = iota
	loseRequest
	loseReply // after the server did what it was asked
	loseAll   // the next reply, and every new connection
	cut       // every connection, and every new one
)

// wire is a proxy between a store and the server that fails when a test wants it.
type wire struct {
	mu    sync.Mutex
	fault fault
	after int // requests before the fault
	fired int // faults so far
	asked int // requests so far
	open  map[net.Conn]bool
}

// proxy passes each connection to the server on, and returns the address that leads there.
func proxy(t *testing.T, server string, pass func(client, server net.Conn)) *url.URL {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	host := u.Host
	go func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", host)
			if err != nil {
				client.Close()
				continue
			}
			go pass(client, server)
		}
	}()
	u.Host = ln.Addr().String()
	return u
}

// through returns a wire to the server, and a connection string that uses it with one connection.
func through(t *testing.T, server string) (*wire, string) {
	t.Helper()
	w := &wire{open: make(map[net.Conn]bool)}
	u := proxy(t, server, func(client, server net.Conn) {
		if w.keep(client, server) {
			replies := make(chan bool, 1) // says that the next reply is lost
			go w.pass(client, server, replies)
			w.replies(client, server, replies)
		}
	})
	t.Cleanup(func() { w.fail(cut) })
	q := u.Query()
	q.Set("pool_max_conns", "1")
	u.RawQuery = q.Encode()
	return w, u.String()
}

// fail makes the wire fail once, or for ever.
func (w *wire) fail(f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = f
	if f == cut {
		for c := range w.open {
			c.Close()
		}
	}
}

// failAfter makes the wire fail once, after this many more requests.
func (w *wire) failAfter(n int, f fault) {
	w.mu.Lock()
	w.after = n
	w.mu.Unlock()
	w.fail(f)
}

// next returns how the wire fails with the next request, which it then does no more.
func (w *wire) next() (f fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked++
	if w.fault == none || w.fault == cut {
		return none
	}
	if w.after > 0 {
		w.after--
		return none
	}
	f, w.fault = w.fault, none
	w.fired++
	return f
}

// refuse makes every new connection fail.
func (w *wire) refuse() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = cut
}

func (w *wire) requests() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asked
}

func (w *wire) faults() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fired
}

// keep records open connections, unless all are cut.
func (w *wire) keep(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		if w.fault == cut {
			c.Close()
		}
		w.open[c] = true
	}
	return w.fault != cut
}

func (w *wire) pass(client, server net.Conn, replies chan<- bool) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		switch w.next() {
		case loseRequest:
			return
		case loseReply:
			replies <- true
		case loseAll:
			replies <- true
			w.refuse()
		}
		if _, err := server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (w *wire) replies(client, server net.Conn, lost <-chan bool) {
	defer client.Close()
	defer server.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		select {
		case <-lost:
			return
		default:
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
