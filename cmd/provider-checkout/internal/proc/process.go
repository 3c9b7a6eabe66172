package proc

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
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
