package postgrestest

import (
	"errors"
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
)

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
