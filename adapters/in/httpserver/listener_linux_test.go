package httpserver

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"syscall"
	"testing"

	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// waitingRequests opens connections that are not accepted yet, each with a request already sent.
func waitingRequests(t *testing.T, ln net.Listener, n int) (conns []net.Conn) {
	t.Helper()
	for range n {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
	}
	return conns
}

// A provider whose create is in flight when a server is replaced gets its answer.
func TestRequestsThatWereNotAcceptedYetAreAnsweredAtADrain(t *testing.T) {
	ln := newDrainListener(sample.Listen(t))
	waiting := waitingRequests(t, ln, 3)
	ln.drain()
	served := make(chan error, 1)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {})}
	go func() { served <- server.Serve(ln) }()
	for i, conn := range waiting {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("request %d is answered %v, %v; want 200", i+1, resp, err)
		}
	}
	<-served
	if conn, err := net.Dial("tcp", ln.Addr().String()); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a later connection is established: %v, %v; want it refused", conn, err)
	}
}
