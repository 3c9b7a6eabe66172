package full_test

import (
	"io"
	"net"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"
)

// pointWire is a proxy before PostgreSQL. What a client sends until it waits for an answer passes through the gate as one
// exchange: it is one round trip, and has its effect as a whole.
type pointWire struct {
	gate   *gate
	server string // HOST:PORT

	mu    sync.Mutex
	open  map[net.Conn]bool
	ended bool
}

// throughGate returns a connection string that leads to the server of another through the gate.
func throughGate(t *testing.T, g *gate, server string) string {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &pointWire{gate: g, server: u.Host, open: make(map[net.Conn]bool)}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { w.serve(client) })
		}
	})
	t.Cleanup(func() {
		ln.Close()
		w.end()
		serving.Wait()
	})
	u.Host = ln.Addr().String()
	return u.String()
}

// keep records an open connection. It closes a connection that comes too late.
func (w *pointWire) keep(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[conn] = true
	if w.ended {
		conn.Close()
	}
}

func (w *pointWire) close(conn net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.open, conn)
	conn.Close()
}

// end closes every connection.
func (w *pointWire) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for conn := range w.open {
		conn.Close()
	}
}

// serve relays one connection until either side ends it, or an answer is lost.
func (w *pointWire) serve(conn net.Conn) {
	w.keep(conn)
	defer w.close(conn)
	up, err := net.Dial("tcp", w.server)
	if err != nil {
		return
	}
	w.keep(up)
	defer w.close(up)
	r := wireRelay{client: pgproto3.NewBackend(conn, conn), server: pgproto3.NewFrontend(up, up), prepared: make(map[string]string)}
	hello, err := r.client.ReceiveStartupMessage()
	if err != nil {
		return
	}
	r.server.Send(hello)
	r.answer()
	for r.reply() {
		said := r.request()
		if len(said) == 0 || said[0] == poolPing { // which has no effect
			r.answer()
		} else if !w.gate.cross("PostgreSQL: "+briefStatements(said), r.answer) {
			return
		}
	}
}

// poolPing is the query by which a pool finds out whether a connection lives.
const poolPing = "-- ping"

// wireRelay is the two ends of a connection that is relayed.
type wireRelay struct {
	client   *pgproto3.Backend
	server   *pgproto3.Frontend
	prepared map[string]string // statements by name
	err      error             // that ended the connection
}

// request reads what the client sends until it waits, and returns the statements in it that are carried out.
func (r *wireRelay) request() (said []string) {
	for {
		message, err := r.client.Receive()
		if err != nil {
			r.err = err
			return nil
		}
		r.server.Send(message)
		switch m := message.(type) {
		case *pgproto3.Parse:
			r.prepared[m.Name] = m.Query
		case *pgproto3.Bind:
			said = append(said, r.prepared[m.PreparedStatement])
		case *pgproto3.Query:
			return append(said, m.String)
		case *pgproto3.Sync:
			return said
		case *pgproto3.Terminate: // the client may wait until the connection is closed
			r.err = io.EOF
			return nil
		}
	}
}

// answer has the server do what was requested, and reads what it says until it waits in turn.
func (r *wireRelay) answer() {
	if r.err == nil {
		r.err = r.server.Flush()
	}
	for r.err == nil {
		message, err := r.server.Receive()
		if err != nil {
			r.err = err
			break
		}
		r.client.Send(message)
		if _, waits := message.(*pgproto3.ReadyForQuery); waits {
			break
		}
	}
}

// reply sends the client what the server said, and reports whether the connection goes on.
func (r *wireRelay) reply() bool {
	if err := r.client.Flush(); r.err == nil {
		r.err = err
	}
	return r.err == nil
}

// shorterForms has what is left out of statements, or written shorter.
var shorterForms = []struct {
	pattern *regexp.Regexp
	by      string
}{
	{regexp.MustCompile(`\s+`), " "},
	{regexp.MustCompile(`"?test_[a-z0-9]+"?\.`), ""}, // the schema
	{regexp.MustCompile(`^SELECT .*? FROM`), "SELECT … FROM"},
	{regexp.MustCompile(`^(INSERT INTO \S+) .*`), "$1"},
}

// briefStatements returns statements in words that are few and still tell them from others.
func briefStatements(all []string) string {
	const longest = 50
	var words []string
	for _, text := range all {
		for _, s := range shorterForms {
			text = s.pattern.ReplaceAllString(text, s.by)
		}
		if runes := []rune(text); len(runes) > longest {
			text = string(runes[:longest]) + "…"
		}
		if len(words) == 0 || words[len(words)-1] != text {
			words = append(words, text)
		}
	}
	return strings.Join(words, "; ")
}
