package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childVariable turns the test binary into a server: the program itself, as main runs it, or the
// floor. What is measured so has a heap, a collector and a processor time of its own.
const childVariable = "PROVIDER_CHECKOUT_TEST_CHILD"

func TestMain(m *testing.M) {
	run := map[string]func(){"service": main, "floor": floorMain}[os.Getenv(childVariable)]
	if run == nil {
		os.Exit(m.Run())
	}
	go func() { // it ends with the test, however that ends
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
	}()
	run()
}

// child is a server in a process of its own.
type child struct {
	addr string
	pid  int
	stop func()
}

// startChild starts a server and waits until it answers a connection. args are followed by
// --addr and a free port. It logs into the void: where the log goes is not the service's cost.
func startChild(b *testing.B, kind string, args ...string) *child {
	b.Helper()
	addr := freeAddr(b)
	cmd := exec.Command(os.Args[0], append(args, "--addr", addr)...)
	cmd.Env = []string{childVariable + "=" + kind}
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
			b.Errorf("the %s ended with %v", kind, err)
		}
		c.stop = func() {}
	}
	b.Cleanup(func() { c.stop() })
	c.await(b, ended)
	return c
}

// await waits until the child takes a connection.
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

// cpu returns the processor time that the child has used, in steps of 10 ms; 0 where the
// system does not tell.
func (c *child) cpu() time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.pid))
	_, after, _ := strings.Cut(string(stat), ") ") // the name of the program may hold blanks
	fields := strings.Fields(after)
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// peak returns the most memory that the child has had resident, in megabytes; 0 where the
// system does not tell.
func (c *child) peak() float64 {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid))
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	kilobytes, _, _ := strings.Cut(after, " kB")
	n, _ := strconv.Atoi(strings.TrimSpace(kilobytes))
	return float64(n) / 1000
}
