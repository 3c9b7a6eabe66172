package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Node is one of the servers of a [Pair].
type Node struct {
	pair     *Pair
	name     string
	port     string
	settings []string
	server   *exec.Cmd // nil while it does not run
	log      bytes.Buffer
}

func (n *Node) data() string { return filepath.Join(n.pair.server.folder, n.name) }

func (n *Node) address() string {
	return "postgres://postgres@127.0.0.1:" + n.port + "/postgres?sslmode=disable"
}

// At returns a connection string to this server alone, with the schema of a connection string of [Pair.URL].
func (n *Node) At(url string) string {
	_, schema, _ := strings.Cut(url, "search_path=")
	schema, _, _ = strings.Cut(schema, "&")
	return n.address() + "&search_path=" + schema
}

// start starts the server and waits until it answers.
func (n *Node) start() (err error) {
	args := []string{"-D", n.data(), "-p", n.port, "-k", n.pair.server.folder, "-c", "listen_addresses=127.0.0.1",
		"-c", "max_connections=200", "-c", "min_wal_size=2MB", "-c", "fsync=" + syncs()}
	for _, s := range n.settings {
		args = append(args, "-c", s)
	}
	if n.server, err = n.pair.server.command(filepath.Join(n.pair.server.programs, "postgres"), args...); err != nil {
		return err
	}
	n.log.Reset()
	n.server.Stderr = &n.log
	if err := n.server.Start(); err != nil {
		n.server = nil
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		conn, err := pgx.Connect(ctx, n.address())
		if err == nil {
			return conn.Close(ctx)
		}
		<-time.After(5 * time.Millisecond)
	}
	n.Kill()
	return fmt.Errorf("the %s does not answer: %s", n.name, n.log.String())
}

// execute runs statements, each by itself.
func (n *Node) execute(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, n.address())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, s := range statements {
		if _, err := conn.Exec(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// Execute runs statements of the server's operator, each by itself.
func (n *Node) Execute(t testing.TB, statements ...string) {
	t.Helper()
	if err := n.execute(t.Context(), statements...); err != nil {
		t.Fatal(err)
	}
}

// Start starts the server again.
func (n *Node) Start(t testing.TB) {
	t.Helper()
	if err := n.start(); err != nil {
		t.Fatal(err)
	}
}

// Kill ends all processes of the server at once, as the end of its machine does.
func (n *Node) Kill() {
	if n.server == nil {
		return
	}
	children := n.children()
	_ = n.server.Process.Kill()
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = n.server.Wait() // also until its log is closed by the last of them
	n.server = nil
	_ = os.Remove(filepath.Join(n.data(), "postmaster.pid"))
}

// Stop ends the server as an operator does.
func (n *Node) Stop(t testing.TB) {
	t.Helper()
	err := n.server.Process.Signal(syscall.SIGINT)
	if err = errors.Join(err, n.server.Wait()); err != nil {
		t.Fatalf("stop the %s: %v: %s", n.name, err, n.log.String())
	}
	n.server = nil
}

// Freeze keeps every process of the server from running, until Thaw.
func (n *Node) Freeze() { n.signal(syscall.SIGSTOP) }

// Thaw lets a frozen server run again.
func (n *Node) Thaw() { n.signal(syscall.SIGCONT) }

func (n *Node) signal(s syscall.Signal) {
	_ = n.server.Process.Signal(s)
	for _, pid := range n.children() {
		_ = syscall.Kill(pid, s)
	}
}

func (n *Node) children() (pids []int) {
	pid := n.server.Process.Pid
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for field := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// Promote makes a standby take writes, which wait for no standby.
func (n *Node) Promote(t testing.TB) {
	t.Helper()
	if err := n.pair.run("pg_ctl", "-D", n.data(), "-w", "promote"); err != nil {
		t.Fatal(err)
	}
}

// Log returns what the server has logged since it was started. Only a server that was ended may be asked.
func (n *Node) Log() string { return n.log.String() }
