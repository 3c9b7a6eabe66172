package postgrestest

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// Server is a temporary PostgreSQL server. A guard, which is a shell, starts it, waits until its own input ends, and then
// stops the server and removes its folder. Only this process holds the other end of that input, so that it ends
// with the process, even if that is killed.
type Server struct {
	url      string
	folder   string
	programs string // folder of the server's programs
	guard    *exec.Cmd
	input    io.Closer
}

// guardScript gets the folder, the programs' folder, the port and the setting of fsync as arguments. It prints "ready", or why
// it failed. The server listens on the loopback interface only, and trusts every connection.
const guardScript = `
data=$1/data log=$1/log
options="-p $3 -k $1 -c listen_addresses=127.0.0.1 -c max_connections=400 -c fsync=$4"
fail() { tr '\n' ' ' <"$log"; rm -rf "$1"; exit 1; }
"$2/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale=C --no-sync >"$log" 2>&1 || fail "$1"
"$2/pg_ctl" -D "$data" -l "$log" -w -o "$options" start >/dev/null 2>&1 || fail "$1"
trap '' PIPE # the process that waits for this word may have ended
echo ready
read -r _
"$2/pg_ctl" -D "$data" -m immediate -w stop >/dev/null 2>&1
rm -rf "$1"
`

// start starts a server.
func start() (s *Server, err error) {
	for range 3 { // another process may take the port first
		if s, err = launch(); err == nil {
			return s, nil
		}
	}
	return nil, err
}

// launch starts a server and waits until it answers.
func launch() (*Server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	s, output, err := guard("postgres", guardScript, port, syncs())
	if err != nil {
		return nil, err
	}
	said, err := bufio.NewReader(output).ReadString('\n')
	if said != "ready\n" {
		s.stop()
		return nil, fmt.Errorf("start PostgreSQL of %s: %s (%w)", s.programs, said, err)
	}
	s.url = "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"
	return s, nil
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

// guard makes a folder and starts its guard, which gets the folder, the programs' folder and these arguments.
func guard(name, script string, args ...string) (s *Server, output io.Reader, err error) {
	s = &Server{}
	if s.programs, err = findPrograms(); err != nil {
		return nil, nil, err
	}
	if s.folder, err = os.MkdirTemp("", "provider-checkout-"+name+"-"); err != nil {
		return nil, nil, err
	}
	s.guard, err = s.command("/bin/sh", append([]string{"-c", script, "guard", s.folder, s.programs}, args...)...)
	if err == nil {
		s.input, err = s.guard.StdinPipe()
	}
	if err == nil {
		output, err = s.guard.StdoutPipe()
	}
	if err == nil {
		err = s.guard.Start()
	}
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("start the guard of PostgreSQL: %w", err), os.RemoveAll(s.folder))
	}
	return s, output, nil
}

// stop ends the server and waits until its folder is removed.
func (s *Server) stop() {
	s.input.Close()
	_ = s.guard.Wait() // it fails if the server failed
	_ = os.RemoveAll(s.folder)
}

// command returns a command that runs in the server's folder, in a process group of its own, which an interrupt from the
// terminal does not reach. PostgreSQL refuses to run as root, so that it then runs as another user.
func (s *Server) command(name string, args ...string) (*exec.Cmd, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() != 0 {
		return cmd, nil
	}
	uid, gid, err := unprivilegedUser()
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return cmd, os.Chown(s.folder, uid, gid)
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
		"PGDATA=" + filepath.Join(s.folder, "data"), "SERVER=" + s.url}, variables...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, script, out)
	}
	return string(out)
}
