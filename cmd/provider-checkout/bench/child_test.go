package bench_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

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

// untilStdinEnds runs a program that gets SIGTERM when standard input ends, which is when the benchmark ends,
// even if it is killed.
const untilStdinEnds = `exec 3<&0 </dev/null; { cat <&3 && kill $$; } >/dev/null & exec "$0" "$@" 3<&-`

// startChild starts a server and waits until it accepts a connection. The command is given --addr and a free port.
// Its log is discarded: writing the log somewhere is not a cost of the service.
func startChild(b *testing.B, server *exec.Cmd) *child {
	b.Helper()
	addr := freeAddr(b)
	cmd := exec.Command("/bin/sh", append([]string{"-c", untilStdinEnds}, append(server.Args, "--addr", addr)...)...)
	cmd.Env = server.Env
	input, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	c := &child{addr: addr, pid: cmd.Process.Pid}
	c.stop = func() {
		input.Close()
		if err := <-ended; err != nil {
			b.Errorf("%q ended with %v", server.Args, err)
		}
		c.stop = func() {}
	}
	b.Cleanup(func() { c.stop() })
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

func freeAddr(b *testing.B) string {
	b.Helper()
	ln, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
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

// peak returns the child's peak resident memory, in megabytes; 0 if the system has no
// /proc.
func (c *child) peak() float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, _, _ := strings.Cut(after, " kB")
	n, _ := strconv.Atoi(strings.TrimSpace(kilobytes))
	return float64(n) / 1000
}
