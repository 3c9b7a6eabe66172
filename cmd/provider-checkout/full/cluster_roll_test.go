package full_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// Every process in turn is terminated and started again, under two hundred requests a second from
// clients that connect elsewhere if a connection is refused, and otherwise take the answer they get.
func (b suite) restartsInTurn(t *testing.T) {
	rolls := testlevel.Runs(t, 2)
	c := newCluster(t, b, postgrestest.URL(t))
	clients := c.newBackend(&c.addrs)
	clients.strict, clients.DisableKeepAlives = true, true
	stop := c.load(t, clients, noError)
	var slowest restart
	for range rolls {
		for i := range clusterSize {
			r := c.restart(t, i, b)
			slowest.drain, slowest.ready = max(slowest.drain, r.drain), max(slowest.ready, r.ready)
		}
	}
	stop()
	t.Logf("a process drained in %v and was ready again in %v, at the most", slowest.drain, slowest.ready)
	if lost := c.completes(t, clients); lost != 0 {
		t.Errorf("%d commits had an answer that was lost, want none", lost)
	}
}

// restart is the time that a process took to end after SIGTERM, and the time that the next took to be ready.
type restart struct{ drain, ready time.Duration }

// restart drains process i, and starts the program in its place.
func (c *cluster) restart(t *testing.T, i int, program suite) (took restart) {
	t.Helper()
	stopped := time.Now()
	c.servers[i].Stop(t, syscall.SIGTERM)
	if took.drain = testlevel.Elapsed(stopped); took.drain > 15*time.Second {
		t.Errorf("the process drained for %v, want 15 s at most", took.drain)
	}
	c.Binary = program.Binary
	began := time.Now()
	c.launch(t, i)
	c.servers[i].awaitListening(t)
	c.servers[i].awaitReadyz(t, http.StatusOK)
	if took.ready = testlevel.Elapsed(began); took.ready > 2*time.Second {
		t.Errorf("the process was ready %v after its start, want within 2 s", took.ready)
	}
	return took
}

// Ten processes start at once on an empty database, and most of them are killed meanwhile. The others
// share one store: a checkout that one opens is confirmed by the next.
func (b suite) startsAtOnce(t *testing.T) {
	const atOnce = 10
	rounds, half := testlevel.Runs(t, 1), 0
	rng := workload.NewRand(t)
	for range rounds {
		store := postgrestest.URL(t)
		var all []*server
		var addrs []string
		for i := range atOnce {
			addrs = append(addrs, proc.QuietAddr(t, rng))
			all = append(all, &server{Process: proc.Start(t, b.Command(clusterArgs(store, addrs[i])...))})
		}
		for _, p := range all[clusterSize:] {
			<-time.After(workload.Within(rng, 0, 30*time.Millisecond))
			p.Kill(t)
			if p.Log() == "" {
				half++
			}
		}
		for _, p := range all[:clusterSize] {
			p.awaitListening(t)
		}
		c := &cluster{Workload: workload.New(t, b.Binary, store), servers: all[:clusterSize]}
		c.addrs.all = addrs // addresses of killed processes refuse connections
		clients := c.newBackend(&c.addrs)
		clients.strict, clients.DisableKeepAlives = true, true
		for range 4 {
			if err := c.Enrolments.Begin().Complete(t.Context(), clients.Client, rng); err != nil {
				t.Error(err)
			}
		}
		c.completes(t, clients)
	}
	t.Logf("%d of %d kills found a process that did not listen yet", half, rounds*(atOnce-clusterSize))
	if half == 0 {
		t.Error("void: every process that was killed listened already")
	}
}

// The newer version is this program with one more, slow migration. It is killed repeatedly while it
// migrates; then two of its processes migrate at once. The processes of this version keep serving
// meanwhile, and are replaced one by one; one of them is even started again. A store that is two
// versions ahead is refused.
func (b suite) isUpgraded(t *testing.T) {
	kills := testlevel.Runs(t, 2)
	newer := buildNext(t)
	c := newCluster(t, b, postgrestest.URL(t))
	schema := connect(t, c.Store)
	was := schema.version(t)
	clients := c.newBackend(&c.addrs)
	clients.strict, clients.DisableKeepAlives = true, true
	stop := c.load(t, clients, noError)

	for range kills {
		schema.awaitMigrations(t, 0) // PostgreSQL notices only after its sleep that the client is gone
		p := newer.beside(t, c)
		schema.awaitMigrations(t, 1)
		<-time.After(workload.Within(c.Rand, 0, 150*time.Millisecond))
		if status := c.servers[c.Rand.IntN(clusterSize)].readyz(t).StatusCode; status != http.StatusOK {
			t.Errorf("a process answers readiness with %d while another migrates, want 200", status)
		}
		p.Kill(t)
		if got := schema.version(t); got != was {
			t.Fatalf("void: the schema has version %d, so that the kill came too late", got)
		}
	}
	for _, p := range []*proc.Process{newer.beside(t, c), newer.beside(t, c)} {
		p.Listening(t)
	}
	if got := schema.version(t); got != was+1 {
		t.Errorf("the schema has version %d, want %d", got, was+1)
	}
	for i, program := range []suite{newer, newer, b, newer, newer} {
		c.restart(t, i%clusterSize, program)
	}
	// The newer version runs on the schema of its successor as this one ran on the newer's.
	schema.exec(t, `ALTER TABLE checkouts ADD COLUMN newest text; INSERT INTO provider_checkout_schema SELECT count(*) + 1, '' FROM provider_checkout_schema`)
	c.restart(t, 0, newer)
	stop()

	out, err := b.Command(clusterArgs(c.Store, "127.0.0.1:0")...).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "run the newer program") {
		t.Errorf("a program two versions behind says %v, %s; want a refusal", err, out)
	}
	if lost := c.completes(t, clients); lost != 0 {
		t.Errorf("%d commits had an answer that was lost, want none", lost)
	}
}

// beside starts another server of this program on the cluster's store. It gets no requests.
func (b suite) beside(t *testing.T, c *cluster) *proc.Process {
	t.Helper()
	return proc.Start(t, b.Command(clusterArgs(c.Store, "127.0.0.1:0")...))
}

// buildNext builds the program with one more migration.
func buildNext(t *testing.T) suite {
	t.Helper()
	folder, err := filepath.Abs("../../../adapters/store/postgres/migrations")
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	name := filepath.Join(folder, fmt.Sprintf("%04d_next.sql", len(have)+1))
	overlay.Replace = map[string]string{name: proc.TempFile(t, "SELECT pg_sleep(1);\nALTER TABLE checkouts ADD COLUMN next text;\n")}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	return suite{proc.Build(t, "-overlay", proc.TempFile(t, string(text)))}
}

// schema looks at a store in PostgreSQL from outside.
type schema struct{ *pgx.Conn }

func connect(t *testing.T, store string) schema {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return schema{conn}
}

func (s schema) version(t *testing.T) int {
	return s.number(t, `SELECT count(*) FROM provider_checkout_schema`)
}

func (s schema) exec(t *testing.T, statements string) {
	t.Helper()
	if _, err := s.PgConn().Exec(t.Context(), statements).ReadAll(); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

func (s schema) number(t *testing.T, query string) (n int) {
	t.Helper()
	if err := s.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// awaitMigrations waits until the given number of processes are migrating the store.
func (s schema) awaitMigrations(t *testing.T, want int) {
	t.Helper()
	const migrating = `SELECT count(*) FROM pg_stat_activity
		WHERE application_name = current_schema() AND wait_event = 'PgSleep'`
	eventually(t, fmt.Sprint(want, " processes migrate"), func() bool { return s.number(t, migrating) == want })
}
