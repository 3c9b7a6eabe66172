package postgrestest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
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

// Link carries everything between a primary and its standby. It may be cut.
type Link struct {
	to   string
	port string
	ln   net.Listener

	mu    sync.Mutex
	state linkState
	open  map[net.Conn]bool
	mend  chan struct{} // closed when a link that holds everything back is mended
	busy  sync.WaitGroup
}

type linkState int

const (
	linked linkState = iota
	silent           // nothing passes, and neither side gets an error
	broken           // connections are reset, and new ones too
)

func newLink(to string) (*Link, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Link{to: to, ln: ln, open: make(map[net.Conn]bool), mend: make(chan struct{})}
	if _, l.port, err = net.SplitHostPort(ln.Addr().String()); err != nil {
		return nil, err
	}
	l.busy.Go(l.serve)
	return l, nil
}

// Cut holds everything back, as a cable does that is pulled: neither end is told.
func (l *Link) Cut() { l.become(silent) }

// Reset resets every connection and refuses new ones.
func (l *Link) Reset() { l.become(broken) }

// Mend lets new connections pass. Older connections are reset: the bytes that they held back are lost.
func (l *Link) Mend() {
	l.become(broken)
	l.become(linked)
}

func (l *Link) become(s linkState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == silent && s != silent {
		close(l.mend)
		l.mend = make(chan struct{})
	}
	l.state = s
	if s == broken {
		for c := range l.open {
			reset(c)
		}
		clear(l.open)
	}
}

func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

// close ends the link.
func (l *Link) close() {
	_ = l.ln.Close()
	l.become(broken)
	l.busy.Wait()
}

func (l *Link) serve() {
	for {
		from, err := l.ln.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", l.to)
		if err != nil {
			reset(from)
			continue
		}
		if !l.keep(from, to) {
			reset(from)
			reset(to)
			continue
		}
		l.busy.Go(func() { l.carry(from, to) })
		l.busy.Go(func() { l.carry(to, from) })
	}
}

// keep records open connections, unless they are reset.
func (l *Link) keep(conns ...net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range conns {
		if l.state != broken {
			l.open[c] = true
		}
	}
	return l.state != broken
}

// carry carries what one end sends. While the link is silent it drops it, and waits.
func (l *Link) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	_, _ = io.Copy(&end{l, to}, from)
}

// end is the receiving side of a link.
type end struct {
	link *Link
	to   net.Conn
}

// Write implements [io.Writer].
func (e *end) Write(text []byte) (int, error) {
	e.link.mu.Lock()
	silent, mend := e.link.state == silent, e.link.mend
	e.link.mu.Unlock()
	if silent {
		<-mend
		return 0, io.ErrClosedPipe
	}
	return e.to.Write(text)
}
