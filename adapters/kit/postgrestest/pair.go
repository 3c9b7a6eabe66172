package postgrestest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

// Pair is a primary server and a standby. A commit of the primary waits for the standby, which receives it over a link that a test can cut.
type Pair struct {
	Primary, Standby *Server
	Link             *Link
}

// standbyName is the name under which the standby asks the primary for its log.
const standbyName = "standby"

// NewPair starts a pair for this test alone. It ends with the test.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	testlevel.Full(t)
	m, err := newMachine()
	if err != nil {
		testlevel.Missing(t, missing(err))
	}
	t.Cleanup(m.stop)
	p := &Pair{}
	if err := p.make(t, m); err != nil {
		t.Fatal(err)
	}
	return p
}

// make makes the primary, copies it to the standby, and starts both.
func (p *Pair) make(t testing.TB, m *machine) (err error) {
	if p.Primary, err = m.server("primary"); err != nil {
		return err
	}
	if p.Standby, err = m.server("standby"); err != nil {
		return err
	}
	if p.Link, err = newLink("127.0.0.1:" + p.Primary.port); err != nil {
		return err
	}
	t.Cleanup(p.Link.close)
	p.Primary.settings = []string{"min_wal_size=2MB"} // small files, because a test may copy them often
	if err := p.Primary.make("--wal-segsize=1"); err != nil {
		return err
	}
	if err := m.run("pg_basebackup", "-D", p.Standby.data(), "-d", p.Primary.address(), "-c", "fast", "--no-sync"); err != nil {
		return err
	}
	// Of the primary alone, so that the standby, once it is promoted, waits for no other server.
	if err := p.Primary.execute(t.Context(), `ALTER SYSTEM SET synchronous_standby_names = `+standbyName, `SELECT pg_reload_conf()`); err != nil {
		return err
	}
	return p.startStandby(t.Context())
}

// startStandby starts the standby and waits until the primary waits for it.
func (p *Pair) startStandby(ctx context.Context) error {
	if err := os.WriteFile(filepath.Join(p.Standby.data(), "standby.signal"), nil, 0o666); err != nil {
		return err
	}
	p.Standby.settings = []string{fmt.Sprintf("primary_conninfo=host=127.0.0.1 port=%s user=postgres application_name=%s",
		p.Link.port, standbyName), "min_wal_size=2MB", "wal_retrieve_retry_interval=100ms"}
	if err := p.Standby.start(); err != nil {
		return err
	}
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
	for _, s := range []*Server{p.Primary, p.Standby} { // in this order, so that the standby has everything
		s.Stop(t)
		s.Shell(t, `cp -a "$PGDATA" "$PGDATA.saved"`)
	}
	p.start(t)
}

// Restore brings both servers back to where Save kept them, whatever became of them.
func (p *Pair) Restore(t testing.TB) {
	t.Helper()
	for _, s := range []*Server{p.Primary, p.Standby} {
		s.Kill()
		s.Shell(t, `rm -rf "$PGDATA"; cp -a "$PGDATA.saved" "$PGDATA"`)
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

// URL returns a connection string to whichever of the two takes writes, with an empty schema of the test's own.
func (p *Pair) URL(t testing.TB) string {
	t.Helper()
	url, _ := place(t, p.Primary.address())
	primary, standby := "127.0.0.1:"+p.Primary.port, "127.0.0.1:"+p.Standby.port
	return strings.Replace(url, primary, primary+","+standby, 1) + "&target_session_attrs=read-write"
}
