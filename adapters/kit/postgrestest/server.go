package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a temporary PostgreSQL server. It listens on the loopback interface only, and trusts every connection.
type Server struct {
	*machine
	name     string // of its data folder
	port     string
	settings []string
	process  *exec.Cmd // nil while it does not run
	log      bytes.Buffer
}

// start starts a server on a machine of its own.
func start() (*Server, error) {
	m, err := newMachine()
	if err != nil {
		return nil, err
	}
	s, err := m.server("data")
	if err == nil {
		err = s.make()
	}
	if err != nil {
		m.stop()
		return nil, err
	}
	return s, nil
}

// make makes the server's data folder, with further arguments for initdb, and starts it.
func (s *Server) make(args ...string) error {
	err := s.run("initdb", append([]string{"-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"}, args...)...)
	if err != nil {
		return err
	}
	return s.start()
}

func (s *Server) data() string { return filepath.Join(s.folder, s.name) }

func (s *Server) address() string {
	return "postgres://postgres@127.0.0.1:" + s.port + "/postgres?sslmode=disable"
}

// URL returns a connection string as the function URL does, to a schema on this server.
func (s *Server) URL(t testing.TB) string {
	t.Helper()
	place, _ := place(t, s.address())
	return place
}

// At returns a connection string to this server alone, with the schema of a connection string of [Pair.URL].
func (s *Server) At(url string) string {
	_, schema, _ := strings.Cut(url, "search_path=")
	schema, _, _ = strings.Cut(schema, "&")
	return s.address() + "&search_path=" + schema
}

// start starts the server and waits until it answers.
func (s *Server) start() (err error) {
	args := []string{"-D", s.data(), "-p", s.port, "-k", s.folder, "-c", "listen_addresses=127.0.0.1",
		"-c", "max_connections=400", "-c", "fsync=" + syncs()}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	if s.process, err = s.command(filepath.Join(s.programs, "postgres"), args...); err != nil {
		return err
	}
	s.log.Reset()
	s.process.Stderr = &s.log
	if err := s.process.Start(); err != nil {
		s.process = nil
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for ctx.Err() == nil {
		conn, err := pgx.Connect(ctx, s.address())
		if err == nil {
			return conn.Close(ctx)
		}
		<-time.After(5 * time.Millisecond)
	}
	s.Kill()
	return fmt.Errorf("the server does not answer: %s", s.log.String())
}

// syncs returns the setting of fsync: on for benchmarks, and off for tests. Without it a commit still survives each end of the
// server, as the system holds what was written; only the end of the machine loses it. A slow disk that many tests
// wait for would make leases run out in the middle of a case.
func syncs() string {
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" {
		return "on"
	}
	return "off"
}

// execute runs statements, each by itself.
func (s *Server) execute(ctx context.Context, statements ...string) error {
	conn, err := pgx.Connect(ctx, s.address())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// Execute runs statements of the server's operator, each by itself.
func (s *Server) Execute(t testing.TB, statements ...string) {
	t.Helper()
	if err := s.execute(t.Context(), statements...); err != nil {
		t.Fatal(err)
	}
}

// Start starts the server again.
func (s *Server) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatal(err)
	}
}

// Kill ends all processes of the server at once, as the end of its machine does.
func (s *Server) Kill() {
	if s.process == nil {
		return
	}
	children := s.children()
	_ = s.process.Process.Kill()
	for _, pid := range children {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = s.process.Wait() // also until its log is closed by the last of them
	s.process = nil
	_ = os.Remove(filepath.Join(s.data(), "postmaster.pid"))
}

// Stop ends the server as an operator does.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	err := s.process.Process.Signal(syscall.SIGINT)
	if err = errors.Join(err, s.process.Wait()); err != nil {
		t.Fatalf("stop the %s: %v: %s", s.name, err, s.log.String())
	}
	s.process = nil
}

// Freeze keeps every process of the server from running, until Thaw.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw lets a frozen server run again.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sent syscall.Signal) {
	_ = s.process.Process.Signal(sent)
	for _, pid := range s.children() {
		_ = syscall.Kill(pid, sent)
	}
}

func (s *Server) children() (pids []int) {
	pid := s.process.Process.Pid
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for field := range strings.FieldsSeq(string(text)) {
		if child, err := strconv.Atoi(field); err == nil {
			pids = append(pids, child)
		}
	}
	return pids
}

// Promote makes a standby take writes, which wait for no standby.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	if err := s.run("pg_ctl", "-D", s.data(), "-w", "promote"); err != nil {
		t.Fatal(err)
	}
}

// Log returns what the server has logged since it was started. Only a server that was ended may be asked.
func (s *Server) Log() string { return s.log.String() }

// Folder returns a folder that is the server's user's own, and is removed with the server. Its data folder, "data", is in it.
func (s *Server) Folder() string { return s.folder }

// Shell runs a script as an administrator of the server would, as its user and with its programs in PATH. Variables are
// NAME=value. It returns what the script printed.
func (s *Server) Shell(t testing.TB, script string, variables ...string) string {
	t.Helper()
	cmd, err := s.command("/bin/sh", "-e", "-c", script)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Env = append([]string{"PATH=" + s.programs + string(filepath.ListSeparator) + os.Getenv("PATH"), "LC_ALL=C",
		"PGDATA=" + s.data(), "SERVER=" + s.address()}, variables...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}

// machine is a folder for servers. A guard, which is a shell, waits until its own input ends, and then stops the servers and removes the
// folder. Only this process holds the other end of that input, so that it ends with the process, even if that is killed.
type machine struct {
	folder   string
	programs string // folder of the servers' programs
	guard    *exec.Cmd
	input    io.Closer
	servers  []*Server
}

// guardScript gets the folder and the programs' folder.
const guardScript = `
trap '' PIPE
read -r _
for pid in "$1"/*/postmaster.pid; do
	[ -e "$pid" ] || continue
	kill -CONT "$(head -n 1 "$pid")" 2>/dev/null
	"$2/pg_ctl" -D "$(dirname "$pid")" -m immediate -w stop >/dev/null 2>&1
done
rm -rf "$1"
`

// newMachine makes a folder and starts its guard.
func newMachine() (m *machine, err error) {
	m = &machine{}
	if m.programs, err = findPrograms(); err != nil {
		return nil, err
	}
	if m.folder, err = os.MkdirTemp("", "provider-checkout-postgres-"); err != nil {
		return nil, err
	}
	m.guard, err = m.command("/bin/sh", "-c", guardScript, "guard", m.folder, m.programs)
	if err == nil {
		m.input, err = m.guard.StdinPipe()
	}
	if err == nil {
		err = m.guard.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the guard of PostgreSQL: %w", err), os.RemoveAll(m.folder))
	}
	return m, nil
}

// stop ends the servers and waits until the folder is removed.
func (m *machine) stop() {
	m.input.Close()
	_ = m.guard.Wait()
	for _, s := range m.servers {
		if s.process != nil {
			_ = s.process.Wait()
		}
	}
	_ = os.RemoveAll(m.folder)
}

// server returns a server that does not run yet.
func (m *machine) server(name string) (*Server, error) {
	port, err := freePort()
	s := &Server{machine: m, name: name, port: port}
	m.servers = append(m.servers, s)
	return s, err
}

// freePort returns a port of the loopback interface that is free now, below the ports from which the system takes the port of an
// outgoing connection: a server that is started again must find its port free.
func freePort() (port string, err error) {
	for range 100 {
		port = strconv.Itoa(10_000 + rand.IntN(20_000))
		var ln net.Listener
		if ln, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			return port, ln.Close()
		}
	}
	return "", err
}

// run runs a program of PostgreSQL.
func (m *machine) run(program string, args ...string) error {
	cmd, err := m.command(filepath.Join(m.programs, program), args...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

// command returns a command that runs in the folder, in a process group of its own, which an interrupt from the terminal does not
// reach. PostgreSQL refuses to run as root, so that it then runs as another user.
func (m *machine) command(name string, args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = m.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return cmd, nil
	}
	uid, gid, err := unprivilegedUser()
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return cmd, os.Chown(m.folder, uid, gid)
}

// unprivilegedUser returns the user as whom a test that runs as root starts a server.
func unprivilegedUser() (uid, gid int, err error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, lookupErr := user.Lookup(name)
		if lookupErr != nil {
			err = lookupErr
			continue
		}
		uid, uidErr := strconv.Atoi(u.Uid)
		gid, gidErr := strconv.Atoi(u.Gid)
		return uid, gid, errors.Join(uidErr, gidErr)
	}
	return 0, 0, fmt.Errorf("PostgreSQL does not run as root: %w", err)
}

// findPrograms returns the folder of the server's programs: from PATH, or else the newest that Debian installs. A link in PATH may
// stand alone, without the other programs beside it.
func findPrograms() (string, error) {
	path, err := exec.LookPath("initdb")
	if err != nil {
		found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
		if len(found) == 0 {
			return "", errors.Join(errors.New("initdb is neither in PATH nor in /usr/lib/postgresql"), err)
		}
		version := func(path string) int {
			n, _ := strconv.Atoi(strings.Split(path, "/")[4])
			return n
		}
		path = slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })
	}
	path, err = filepath.EvalSymlinks(path)
	return filepath.Dir(path), err
}
