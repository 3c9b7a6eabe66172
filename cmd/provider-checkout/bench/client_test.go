package bench_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// benchClient has one HTTP/1.1 connection, on which it sends a request, reads the answer and sends the
// next. It implements as little of HTTP as possible, because it shares the CPU with the server.
type benchClient struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte // the request; the next one overwrites it
}

// dial connects a number of clients until the end of the benchmark.
func dial(b *testing.B, addr string, clients int) []*benchClient {
	b.Helper()
	all := make([]*benchClient, clients)
	for i := range all {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
		all[i] = &benchClient{conn: conn, in: bufio.NewReaderSize(conn, 16<<10)}
	}
	return all
}

// ask sends a request and reads the answer, which must have this status.
func (c *benchClient) ask(request []byte, status string) error {
	size, err := c.begin(request, status)
	if err == nil {
		_, err = c.in.Discard(size)
	}
	return err
}

// begin sends a request and reads the answer, which must have this status, up to its body. It returns the size of the body.
func (c *benchClient) begin(request []byte, status string) (size int, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, err
	}
	first, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	good := len(first) > 12 && string(first[9:12]) == status
	size, err = c.skipHeader()
	if err == nil && !good {
		body, _ := c.in.Peek(size)
		err = fmt.Errorf("want %s; the answer to %s is %s", status, request, body)
	}
	return size, err
}

// checkoutOf sends a replay and returns the id of the checkout.
func (c *benchClient) checkoutOf(replay []byte) (id string, err error) {
	size, err := c.begin(replay, "200")
	if err != nil {
		return "", err
	}
	body := make([]byte, size)
	if _, err := io.ReadFull(c.in, body); err != nil {
		return "", err
	}
	_, after, _ := bytes.Cut(body, []byte(`"checkout_id":"`))
	found, _, ok := bytes.Cut(after, []byte(`"`))
	if !ok {
		return "", fmt.Errorf("no checkout in %s", body)
	}
	return string(found), nil
}

// skipHeader reads the header and returns the size of the body.
func (c *benchClient) skipHeader() (size int, err error) {
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil || len(line) == len("\r\n") {
			return size, err
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
}

// errand overwrites to with the next request and returns it, or nil if no request is left. It is called concurrently.
type errand func(to []byte) []byte

// round is the result of a number of clients in a period.
type round struct {
	took  []time.Duration // each answer
	whole time.Duration
}

// rate returns the answers a second.
func (r round) rate() float64 { return float64(len(r.took)) / r.whole.Seconds() }

// goRound has the clients run errands for the given time, or until no errand is left.
func goRound(b *testing.B, clients []*benchClient, next errand, status string, length time.Duration) (r round) {
	b.Helper()
	var together sync.WaitGroup
	var mu sync.Mutex
	var fault error
	began := time.Now()
	end := began.Add(length)
	for _, c := range clients {
		together.Go(func() {
			took, err := c.goUntil(end, next, status)
			mu.Lock()
			defer mu.Unlock()
			r.took = append(r.took, took...)
			if err != nil {
				fault = err
			}
		})
	}
	together.Wait()
	r.whole = time.Since(began)
	if fault != nil {
		b.Fatal(fault)
	}
	return r
}

func (c *benchClient) goUntil(end time.Time, next errand, status string) (took []time.Duration, err error) {
	if err := c.conn.SetDeadline(end.Add(30 * time.Second)); err != nil {
		return nil, err
	}
	for now := time.Now(); now.Before(end); {
		if c.out = next(c.out[:0]); c.out == nil {
			return took, nil
		}
		if err := c.ask(c.out, status); err != nil {
			return took, err
		}
		then := time.Now()
		took = append(took, then.Sub(now))
		now = then
	}
	return took, nil
}

// floorCommand is the first argument that turns the test binary into the floor.
const floorCommand = "floor"

func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != floorCommand {
		os.Exit(m.Run())
	}
	floorMain(os.Args[2:])
}

// child is a server in a process of its own, so that it has its own heap, garbage collector and CPU time.
type child struct {
	addr string
	pid  int
	stop func()
}

// startChild starts a server and waits until it accepts a connection. The command is given --addr and a free port.
// Its log is discarded: writing the log somewhere is not a cost of the service.
func startChild(b *testing.B, server *exec.Cmd) *child {
	b.Helper()
	addr := proc.QuietAddr(b, rand.New(rand.NewPCG(rand.Uint64(), 0)))
	server.Args = append(server.Args, "--addr", addr)
	if err := server.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	c := &child{addr: addr, pid: server.Process.Pid}
	c.stop = sync.OnceFunc(func() {
		_ = server.Process.Signal(syscall.SIGTERM) // unless it has ended
		if err := <-ended; err != nil {
			b.Errorf("%q ended with %v", server.Args, err)
		}
	})
	b.Cleanup(c.stop)
	c.await(b, ended)
	return c
}

// await waits until the child accepts a connection.
func (c *child) await(b *testing.B, ended chan error) {
	b.Helper()
	for range time.Tick(time.Millisecond) {
		if conn, err := net.Dial("tcp", c.addr); err == nil {
			conn.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- nil
			b.Fatalf("the server ended before it listened: %v", err)
		default:
		}
	}
}

// cpu returns the CPU time that the child has used, in steps of 10 ms; 0 if the system has no
// /proc.
func (c *child) cpu() time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid))
	_, after, _ := strings.Cut(string(stat), ") ") // the name of the program may contain spaces
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
