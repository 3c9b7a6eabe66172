package bench_test

import (
	"math/rand/v2"
	"sync"
	"syscall"

	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
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
