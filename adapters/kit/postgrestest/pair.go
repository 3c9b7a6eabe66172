package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

// Pair is a primary server and a standby, temporary as a [Server] is. A commit of the primary waits for the standby, which
// receives it over a link that a test can cut.
type Pair struct {
	Primary, Standby *Node
	Link             *Link

	server *Server // whose folder has both
}

// standbyName is the name under which the standby asks the primary for its log.
const standbyName = "standby"

// pairGuard gets the folder and the programs' folder, waits until its own input ends, and then stops what still runs.
const pairGuard = `
trap '' PIPE
read -r _
for data in "$1/primary" "$1/standby"; do
	[ -e "$data/postmaster.pid" ] || continue
	kill -CONT "$(head -n 1 "$data/postmaster.pid")" 2>/dev/null
	"$2/pg_ctl" -D "$data" -m immediate -w stop >/dev/null 2>&1
done
rm -rf "$1"
`

// NewPair starts a pair for this test alone. It ends with the test.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	testlevel.Full(t)
	server, _, err := guard("pair", pairGuard)
	if err != nil {
		testlevel.Missing(t, missing(err))
	}
	p := &Pair{server: server}
	t.Cleanup(p.stop)
	if err := p.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// stop ends both servers and removes the folder.
func (p *Pair) stop() {
	for _, n := range []*Node{p.Primary, p.Standby} {
		if n != nil {
			n.Kill()
		}
	}
	if p.Link != nil {
		p.Link.close()
	}
	p.server.stop()
}

// make makes the primary, copies it to the standby, and starts both.
func (p *Pair) make(ctx context.Context) (err error) {
	if p.Primary, err = p.node("primary"); err != nil {
		return err
	}
	if p.Standby, err = p.node("standby"); err != nil {
		return err
	}
	if p.Link, err = newLink("127.0.0.1:" + p.Primary.port); err != nil {
		return err
	}
	// Small files, because a test may copy them often.
	if err := p.run("initdb", "-D", p.Primary.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync",
		"--wal-segsize=1"); err != nil {
		return err
	}
	if err := p.Primary.start(); err != nil {
		return err
	}
	if err := p.run("pg_basebackup", "-D", p.Standby.data(), "-d", "postgres://postgres@127.0.0.1:"+p.Primary.port+"/postgres",
		"-c", "fast", "--no-sync"); err != nil {
		return err
	}
	// Of the primary alone, so that the standby, once it is promoted, waits for no other server.
	if err := p.Primary.execute(ctx, `ALTER SYSTEM SET synchronous_standby_names = `+standbyName, `SELECT pg_reload_conf()`); err != nil {
		return err
	}
	return p.startStandby(ctx)
}

func (p *Pair) node(name string) (*Node, error) {
	port, err := freePort()
	return &Node{pair: p, name: name, port: port}, err
}

// startStandby starts the standby and waits until the primary waits for it.
func (p *Pair) startStandby(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(p.Standby.data(), "standby.signal"), nil, 0o666); err != nil {
		return err
	}
	p.Standby.settings = []string{fmt.Sprintf("primary_conninfo=host=127.0.0.1 port=%s user=postgres application_name=%s",
		p.Link.port, standbyName), "wal_retrieve_retry_interval=100ms"}
	if err := p.Standby.start(); err != nil {
		return err
	}
	return p.awaitStandby(ctx)
}

// awaitStandby waits until the primary waits for the standby.
func (p *Pair) awaitStandby(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	conn, err := pgx.Connect(ctx, p.Primary.address())
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for synced := 0; ; <-time.After(10 * time.Millisecond) {
		err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'`).Scan(&synced)
		if err != nil || synced > 0 {
			return err
		}
	}
}

// Save keeps both servers as they are now, for Restore. It stops them for a moment.
func (p *Pair) Save(t testing.TB) {
	t.Helper()
	for _, n := range []*Node{p.Primary, p.Standby} { // in this order, so that the standby has everything
		n.Stop(t)
		if err := p.copy(n.data(), n.data()+".saved"); err != nil {
			t.Fatal(err)
		}
	}
	p.start(t)
}

// Restore brings both servers back to where Save kept them, whatever became of them.
func (p *Pair) Restore(t testing.TB) {
	t.Helper()
	for _, n := range []*Node{p.Primary, p.Standby} {
		n.Kill()
		if err := errors.Join(os.RemoveAll(n.data()), p.copy(n.data()+".saved", n.data())); err != nil {
			t.Fatal(err)
		}
	}
	p.Link.Mend()
	p.start(t)
}

func (p *Pair) start(t testing.TB) {
	t.Helper()
	err := p.Primary.start()
	if err == nil {
		err = p.startStandby(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *Pair) copy(from, to string) error {
	cmd, err := p.server.command("cp", "-a", from, to)
	if err != nil {
		return err
	}
	return cmd.Run()
}

// run runs a program of PostgreSQL.
func (p *Pair) run(program string, args ...string) error {
	cmd, err := p.server.command(filepath.Join(p.server.programs, program), args...)
	if err != nil {
		return err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

// URL returns a connection string to whichever of the two takes writes, with an empty schema of the test's own.
func (p *Pair) URL(t testing.TB) string {
	t.Helper()
	url, _ := place(t, p.Primary.address())
	primary, standby := "127.0.0.1:"+p.Primary.port, "127.0.0.1:"+p.Standby.port
	return strings.Replace(url, primary, primary+","+standby, 1) + "&target_session_attrs=read-write"
}
