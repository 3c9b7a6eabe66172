package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

// TestBinary holds the program that is shipped to what only a process can show: that it starts, stops
// and is killed without harm. The other tests run its commands within their own process.
func TestBinary(t *testing.T) {
	b := build(t)
	t.Run("answers soon after its start", b.answersSoon)
	t.Run("keeps its files to their owner", b.keepsItsFilesToTheirOwner)
	t.Run("finishes a first start that was killed", b.finishesAKilledFirstStart)
	t.Run("drains on SIGTERM", b.drains)
	t.Run("demonstrates itself in a shell until SIGINT", b.demonstrates)
	t.Run("survives being killed at any moment", b.survivesKills)
}

// binary is the path of the program.
type binary string

func build(t testing.TB, flags ...string) binary {
	t.Helper()
	path := filepath.Join(t.TempDir(), program)
	args := append(append([]string{"build", "-o", path}, flags...), ".")
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return binary(path)
}

// does runs a command that ends by itself and must succeed, and returns its standard output.
func (b binary) does(t testing.TB, args ...string) string {
	t.Helper()
	cmd := exec.Command(string(b), args...)
	cmd.Env = []string{} // nobody's settings but the flags
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// process is a running program. It is killed at the end of the test, if not before.
type process struct {
	cmd        *exec.Cmd
	milestones chan milestone // what its log says, but of requests and failures
	told       bool           // to end
	ended      chan struct{}  // closed when it is gone
	err        error          // how it ended; only once it has

	mu   sync.Mutex
	tail []string // the last lines of its log
}

// milestone is a line of the log.
type milestone struct {
	Msg, Addr string
	OpsAddr   string `json:"ops_addr"`
}

// serveArgs are those of a server over the store that sends events to loopback too.
func serveArgs(store string) []string {
	return []string{"serve", "--store", store, "--addr", "127.0.0.1:0",
		"--allow-private-destinations", "--rate-limit", "0"}
}

// serve starts a server.
func (b binary) serve(t testing.TB, store string) *process {
	t.Helper()
	return start(t, exec.Command(string(b), serveArgs(store)...))
}

func start(t testing.TB, cmd *exec.Cmd) *process {
	t.Helper()
	p := &process{cmd: cmd, milestones: make(chan milestone, 16), ended: make(chan struct{})}
	if cmd.Env == nil {
		cmd.Env = []string{}
	}
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

// watch reads the log to its end, and then sees the process off.
func (p *process) watch(stderr io.Reader) {
	defer close(p.ended)
	defer close(p.milestones)
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		p.mu.Lock()
		p.tail = append(p.tail[max(0, len(p.tail)-19):], lines.Text())
		p.mu.Unlock()
		var m milestone
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.Msg == "request" || m.Msg == "failure" {
			continue
		}
		select {
		case p.milestones <- m:
		default: // nobody waits for the seventeenth
		}
	}
	p.err = p.cmd.Wait()
}

// log returns the last lines of the process's log.
func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.tail, "\n")
}

// await waits until the log says msg.
func (p *process) await(t testing.TB, msg string) milestone {
	t.Helper()
	limit := time.After(20 * time.Second)
	for {
		select {
		case m, alive := <-p.milestones:
			if !alive {
				t.Fatalf("the process ended before it said %q:\n%s", msg, p.log())
			}
			if m.Msg == msg {
				return m
			}
		case <-limit:
			t.Fatalf("the process did not say %q within 20 s:\n%s", msg, p.log())
		}
	}
}

// listening waits until the server listens, and returns its base URL.
func (p *process) listening(t testing.TB) string {
	t.Helper()
	return "http://" + p.await(t, "listening").Addr
}

// kill kills a process, which must not have ended untold.
func (p *process) kill(t testing.TB) {
	t.Helper()
	select {
	case <-p.ended:
		if !p.told || p.err != nil {
			t.Errorf("the process ended by itself: %v\n%s", p.err, p.log())
		}
	default:
		p.cmd.Process.Kill()
		<-p.ended
	}
}

// signal tells the process to end.
func (p *process) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	p.told = true
	if err := p.cmd.Process.Signal(signal); err != nil {
		t.Fatalf("%v: %v\n%s", signal, err, p.log())
	}
}

// stop tells the process to end, and waits for its end, which must be a good one.
func (p *process) stop(t testing.TB, signal syscall.Signal) {
	t.Helper()
	p.signal(t, signal)
	p.endsWell(t)
}

func (p *process) endsWell(t testing.TB) {
	t.Helper()
	select {
	case <-p.ended:
		if p.err != nil {
			t.Errorf("the process ended with %v, want status 0:\n%s", p.err, p.log())
		}
	case <-time.After(30 * time.Second):
		t.Errorf("the process did not end within 30 s:\n%s", p.log())
	}
}

// configure puts the contract tests' providers into a store, whose events go to hooks, and makes a key
// for each, all by the operator's own commands.
func (b binary) configure(t *testing.T, store string, h *sandbox.Receiver) (keys map[string]string) {
	t.Helper()
	b.does(t, "apply", "-f", file(t, strings.ReplaceAll(sandbox.Providers, "HOOKS", h.URL)), "--store", store)
	keys = make(map[string]string)
	for _, code := range []string{"KOWHAI", "TUI"} {
		keys[code] = strings.TrimSpace(b.does(t, "keys", "issue", "--provider", code, "--store", store))
	}
	return keys
}

// ownersAlone checks that nobody but the owner may open any file of the folder, and returns their names.
func ownersAlone(t testing.TB, dir string) string {
	t.Helper()
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("the mode of %s is %v, want 0600", e.Name(), info.Mode())
		}
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}
