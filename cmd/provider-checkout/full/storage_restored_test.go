package full_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// keeper backs a store up and brings it back.
type keeper interface {
	// store returns the value of --store.
	store() string
	// backup prepares for a round while the store is served. point makes the point to which the store is restored.
	backup(t *testing.T, round int) (point func(*testing.T))
	// restore brings the store back to the latest point. Nobody has it open.
	restore(t *testing.T)
}

func (b suite) restoredSQLite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records.db")
	b.restored(t, &sqliteFile{Binary: b.Binary, path: path})
}

func (b suite) restoredPostgreSQL(t *testing.T) {
	b.restored(t, newPostgresServer(t))
}

// restored serves a store under load, kills the server, restores the store to an earlier moment, and lets life go on: again
// and again.
func (b suite) restored(t *testing.T, k keeper) {
	w := newWorkload(t, b.Binary, k.store())
	w.verdicts.acceptAll = true
	n, lost := testlevel.Runs(t, 2), 0
	for round := range n {
		p := w.Serve(t, k.store())
		c := apiclient.New(p.Listening(t), w.keys)
		stop := load{clients: storageClients, excused: apiclient.IsCut, once: true}.enrol(t, w, c)
		awaitDeliveries(t, w, 20)
		point := k.backup(t, round)
		awaitDeliveries(t, w, 20)
		acknowledged := w.records(t)
		point(t)
		awaitDeliveries(t, w, 40)
		p.Kill(t)
		stop()
		gone := w.records(t)
		k.restore(t)
		on := w.records(t)
		if missing := missingOrders(on, acknowledged); len(missing) > 0 {
			t.Errorf("%q were on record before the point to which the store was restored, and are not", missing)
		}
		lost += len(gone) - len(on)
		t.Logf("restore %d: %d of %d checkouts were lost", round+1, len(gone)-len(on), len(gone))
		w.rewind(on)
	}
	p := w.Serve(t, k.store())
	w.finish(t, apiclient.New(p.Listening(t), w.keys))
	w.settle(t)
	p.Stop(t, syscall.SIGTERM)
	w.check(t)
	t.Logf("%d restores: %d enrolments, %d checkouts were lost, and %d orders had a second checkout or agreement", n, len(w.enrolments.all), lost, w.ledger.twice())
	if lost < n || w.ledger.twice() < n {
		t.Errorf("void: %d checkouts were lost and %d orders were enrolled again in %d restores", lost, w.ledger.twice(), n)
	}
}

// awaitDeliveries waits until more events have arrived, so that life has gone on.
func awaitDeliveries(t *testing.T, w *workload, more int) {
	t.Helper()
	want := len(w.receiver.Deliveries()) + more
	eventually(t, fmt.Sprint(more, " more deliveries"), func() bool { return len(w.receiver.Deliveries()) >= want })
}

// sqliteFile is a store that backup keeps.
type sqliteFile struct {
	proc.Binary
	path, latest string
}

func (s *sqliteFile) store() string { return "sqlite:" + s.path }

func (s *sqliteFile) backup(t *testing.T, round int) (point func(*testing.T)) {
	return func(t *testing.T) {
		s.latest = filepath.Join(t.TempDir(), fmt.Sprintf("backup-%d.db", round))
		s.Run(t, "backup", "--store", s.store(), "--out", s.latest)
	}
}

func (s *sqliteFile) restore(t *testing.T) {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Rename(s.path+suffix, s.path+suffix+".before"); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	backup, err := os.ReadFile(s.latest)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.path, backup, 0o600); err != nil {
		t.Fatal(err)
	}
}

// postgresServer is a server of its own, which is kept as cmd/provider-checkout/docs/operating.md says.
type postgresServer struct {
	*postgrestest.Server
	url       string
	variables []string
	steps     []string // the commands of the page: archive, base backup, recovery
	moment    string
}

func newPostgresServer(t *testing.T) *postgresServer {
	page, err := os.ReadFile("../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n### PostgreSQL\n")
	section, _, _ = strings.Cut(section, "\n### ")
	s := &postgresServer{Server: postgrestest.New(t)}
	for i, block := range strings.Split(section, "```") {
		if script, ok := strings.CutPrefix(block, "sh\n"); ok && i%2 == 1 {
			s.steps = append(s.steps, script)
		}
	}
	if len(s.steps) != 3 {
		t.Fatalf("the section has %d scripts, want those of the archive, the base backup and the recovery", len(s.steps))
	}
	s.url = s.URL(t)
	archive := filepath.Join(s.Folder(), "archive")
	s.variables = []string{"ARCHIVE=" + archive}
	// What the test's server has on its command line, so that the page's commands start it as it was.
	s.Shell(t, `mkdir "$ARCHIVE"
		for name in port unix_socket_directories listen_addresses max_connections; do
			value=$(psql -X -A -t -d "$SERVER" -c "SHOW $name"); psql -X -q -d "$SERVER" -c "ALTER SYSTEM SET $name = '$value'"
		done`, s.variables...)
	s.Shell(t, s.steps[0], s.variables...)
	return s
}

func (s *postgresServer) store() string { return s.url }

func (s *postgresServer) backup(t *testing.T, round int) (point func(*testing.T)) {
	base := filepath.Join(s.Folder(), fmt.Sprintf("base-%d", round))
	s.variables = append(s.variables[:1:1], "BACKUP="+base)
	s.Shell(t, s.steps[1], s.variables...)
	return func(t *testing.T) {
		s.moment = strings.TrimSpace(s.Shell(t, `psql -X -A -t -d "$SERVER" -c "SELECT clock_timestamp()"`))
	}
}

func (s *postgresServer) restore(t *testing.T) {
	s.Shell(t, s.steps[2], append(s.variables, "MOMENT="+s.moment)...)
	s.Shell(t, `rm -rf "$PGDATA.before" "$BACKUP"`, s.variables...)
}
