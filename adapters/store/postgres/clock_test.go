package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/storetest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// timed is a store whose database has the clock of package storetest.
type timed struct {
	*postgres.DB
	shell *pgx.Conn
	now   time.Time
}

// onItsClock returns a connection string for sessions that find the functions of their own schema before PostgreSQL's, so that
// setClock decides what their time is.
func onItsClock(url string) string {
	before, rest, _ := strings.Cut(url, "search_path=")
	schema, rest, _ := strings.Cut(rest, "&")
	return before + "search_path=" + schema + ",pg_catalog&" + rest
}

// setClock stops the clock of a database at a time. The fraction is less than the store's millisecond.
func setClock(t *testing.T, shell *pgx.Conn, now time.Time) {
	t.Helper()
	schema := ""
	if err := shell.QueryRow(t.Context(), `SELECT current_schema()`).Scan(&schema); err != nil {
		t.Fatal(err)
	}
	execute(t, shell, fmt.Sprintf(`CREATE OR REPLACE FUNCTION %s.statement_timestamp() RETURNS timestamptz STABLE LANGUAGE sql AS
		$$ SELECT TIMESTAMPTZ '%s' $$`, pgx.Identifier{schema}.Sanitize(), now.UTC().Add(time.Millisecond/2).Format("2006-01-02 15:04:05.999999Z07:00")))
}

// newTimed returns the store with its clock at the beginning. shell is in the schema that the store's sessions search first.
func newTimed(t *testing.T, db *postgres.DB, shell *pgx.Conn) *timed {
	t.Helper()
	setClock(t, shell, storetest.Began())
	return &timed{db, shell, storetest.Began()}
}

// Now implements [storetest.Timed].
func (s *timed) Now() time.Time { return s.now }

// Pass implements [storetest.Timed].
func (s *timed) Pass(t *testing.T, d time.Duration) {
	s.now = s.now.Add(d)
	setClock(t, s.shell, s.now)
}

// restart sets the clock to its beginning.
func (s *timed) restart(t *testing.T) {
	if s.now != storetest.Began() {
		s.Pass(t, storetest.Began().Sub(s.now))
	}
}

// The clock of a server without a test's function goes on by itself, and ends leases whatever the clocks of their holders say.
func TestLeasesEndByTheServersOwnClock(t *testing.T) {
	place := postgrestest.QuickURL(t)
	db, shell := open(t, place, postgres.Options{}), connect(t, place)
	server := func() (ms int64) {
		if err := shell.QueryRow(t.Context(), `SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint`).Scan(&ms); err != nil {
			t.Fatal(err)
		}
		return ms
	}
	if _, err := db.Enqueue(t.Context(), []checkout.Job{{ID: "pull", Kind: checkout.JobPull, CreatedAt: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	const lasts = 200 * time.Millisecond
	var last int64 // when the lease before was asked for
	for token, off := range []time.Duration{time.Hour, -time.Hour, time.Hour, 0} {
		for leased, end := 0, time.Now().Add(patience); leased == 0; {
			asked := server()
			list, err := db.Lease(t.Context(), checkout.JobQuery{Now: time.Now().Add(off), For: lasts, Kinds: checkout.JobKinds(), Limit: 1})
			if err != nil {
				t.Fatal(err)
			}
			if leased = len(list); leased == 0 && time.Now().After(end) {
				t.Fatalf("lease %d is not over", token)
			}
			if leased == 0 {
				continue
			}
			if took := server() - last; took < lasts.Milliseconds() {
				t.Errorf("lease %d was over after %d ms, want %v", token, took, lasts)
			}
			last = asked
		}
	}
}
