// Package proc builds the program and runs it in separate processes, for tests that need a real process.
package proc

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

// patience is the time within which a process begins and ends at all, on a slow machine too.
const patience = 2 * time.Minute

// Process is a running program.
type Process struct {
	cmd        *exec.Cmd
	milestones chan Milestone // log lines, except requests and failures
	signalled  bool           // a signal to end was sent
	ended      chan struct{}  // closed when it has ended
	err        error          // of its end; set before ended is closed

	mu   sync.Mutex
	tail []string // the last lines of its log
}

// Start starts a command of the program. The process is killed at the end of the test, if not before.
func Start(t testing.TB, cmd *exec.Cmd) *Process {
	t.Helper()
	p := &Process{cmd: cmd, milestones: make(chan Milestone, 16), ended: make(chan struct{})}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go p.watch(stderr)
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// watch reads the log to its end, and then waits for the end of the process.
func (p *Process) watch(stderr io.Reader) {
	defer close(p.ended)
	defer close(p.milestones)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		p.mu.Lock()
		p.tail = append(p.tail[max(0, len(p.tail)-19):], lines.Text())
		p.mu.Unlock()
		var m Milestone
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.Msg == "request" || m.Msg == "failure" {
			continue
		}
		select {
		case p.milestones <- m:
		default: // no test waits for the seventeenth
		}
	}
	p.err = p.cmd.Wait()
}

// Log returns the last lines that the process has logged.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.tail, "\n")
}

// Await waits until the process logs msg.
func (p *Process) Await(t testing.TB, msg string) Milestone {
	t.Helper()
	limit := time.After(patience)
	for {
		select {
		case m, alive := <-p.milestones:
			if !alive {
				t.Fatalf("the process ended before it logged %q:\n%s", msg, p.Log())
			}
			if m.Msg == msg {
				return m
			}
		case <-limit:
			t.Fatalf("the process did not log %q within %v:\n%s", msg, patience, p.Log())
		}
	}
}

// Listening waits until the server listens, and returns its base URL.
func (p *Process) Listening(t testing.TB) string {
	t.Helper()
	return "http://" + p.Await(t, "listening").Addr
}

// Kill kills the process. It must not have ended by itself, unless it was signalled and ended with status 0.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	select {
	case <-p.ended:
		if !p.signalled || p.err != nil {
			t.Errorf("the process ended by itself: %v\n%s", p.err, p.Log())
		}
	default:
		p.cmd.Process.Kill()
		<-p.ended
	}
}

// Signal sends the process a signal to end.
func (p *Process) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	p.signalled = true
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Errorf("%v: %v\n%s", signal, err, p.Log())
	}
}

// Stop sends the process a signal to end, and waits until it has ended, with status 0.
func (p *Process) Stop(t testing.TB, signal syscall.Signal) {
	t.Helper()
	p.Signal(t, signal)
	p.Wait(t)
}

// Wait waits until the process has ended, which must be with status 0.
func (p *Process) Wait(t testing.TB) {
	t.Helper()
	select {
	case <-p.ended:
		if p.err != nil {
			t.Errorf("the process ended with %v, want status 0:\n%s", p.err, p.Log())
		}
	case <-time.After(patience):
		t.Errorf("the process did not end within %v:\n%s", patience, p.Log())
	}
}

// Binary is the path of the program.
type Binary string

// BuildIn builds the program as a release does, and puts it into a folder. The process may run anywhere in the module.
func BuildIn(folder string) (Binary, error) {
	if err := depend(); err != nil {
		return "", err
	}
	path := filepath.Join(folder, "provider-checkout")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, "github.com/provider-checkout/provider-checkout/cmd/provider-checkout")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return Binary(path), nil
}

// depend has the results of the tests depend on every file of the module: go test would otherwise answer from its cache, for
// it does not see what go build reads.
func depend() error {
	root, err := testlevel.Root()
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		return err // a folder that is read is an input of the test, with the size and time of its files
	})
}

// Command returns a command that runs the program, without any environment variable.
func (b Binary) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(string(b), args...)
	cmd.Env = []string{}
	return cmd
}

// Run runs a command that ends by itself and must succeed, and returns its standard output.
func (b Binary) Run(t testing.TB, args ...string) string {
	t.Helper()
	cmd := b.Command(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// ServeArgs returns the arguments of a server over the store, which sends events to loopback addresses too.
func ServeArgs(store string) []string {
	return []string{"serve", "--store", store, "--addr", "127.0.0.1:0",
		"--allow-private-destinations", "--rate-limit", "0"}
}

// Serve starts a server over the store.
func (b Binary) Serve(t testing.TB, store string) *Process {
	t.Helper()
	return Start(t, b.Command(ServeArgs(store)...))
}

// TempFile writes a file that is removed at the end of the test, and returns its path.
func TempFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// ReadUntil returns the lines before the first one with the prefix.
func ReadUntil(lines *bufio.Scanner, prefix string) string {
	var text strings.Builder
	for lines.Scan() && !strings.HasPrefix(lines.Text(), prefix) {
		text.WriteString(lines.Text() + "\n")
	}
	return text.String()
}

// QuietAddr returns a free address with a port that the kernel does not assign by itself, so that the port refuses
// connections once its process has ended.
func QuietAddr(t testing.TB, rng *rand.Rand) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20000+rng.IntN(12000))
		if ln, err := net.Listen("tcp", addr); err == nil {
			ln.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}
