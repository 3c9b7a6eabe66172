package full_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

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
