// Package postgrestest gives tests a PostgreSQL server: the one whose URL is in PROVIDER_CHECKOUT_TEST_POSTGRES, or else, at
// the full level and in benchmarks, a temporary one, which it starts from the server programs on the machine. The temporary
// server has its own folder and port, syncs as a real one does where benchmarks run, and ends with the test process, even if
// that is killed. If there is neither, tests of the full level fail, and all others are skipped.
package postgrestest

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
)

const urlVariable = "PROVIDER_CHECKOUT_TEST_POSTGRES"

// shared is the server of this process's tests, started when the first of them asks for it.
var shared = sync.OnceValues(start)

// URL returns a connection string to an empty schema of the test's own, which is alone in the search path. It is
// removed after the test, or with the temporary server. The schema's name is also the application name of the
// connections, so that a test finds them.
func URL(t testing.TB) string {
	t.Helper()
	if given := os.Getenv(urlVariable); given != "" {
		place, schema := place(t, given)
		t.Cleanup(func() { execute(t, given, "DROP SCHEMA "+schema+" CASCADE") })
		return place
	}
	if _, isBenchmark := t.(*testing.B); !isBenchmark {
		testlevel.Full(t)
	}
	s, err := shared()
	if err != nil {
		testlevel.Missing(t, missing(err))
	}
	return s.URL(t)
}

// missing says that there is no server.
func missing(err error) error {
	return fmt.Errorf("there is no PostgreSQL: %w; install it, or set %s", err, urlVariable)
}

// place makes a schema on the server, and returns a connection string to it and its name.
func place(t testing.TB, server string) (connection, schema string) {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatalf("%s is not a URL", urlVariable) // the error would repeat it, password and all
	}
	schema = "test_" + strings.ToLower(rand.Text())
	execute(t, server, "CREATE SCHEMA "+schema)
	q := u.Query()
	q.Set("search_path", schema)
	q.Set("application_name", schema)
	u.RawQuery = q.Encode()
	return u.String(), schema
}

func execute(t testing.TB, server, statement string) {
	t.Helper()
	ctx := context.Background() // a cleanup comes after the test's context has ended
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("connect to the test's PostgreSQL: %v", err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, statement); err != nil {
		t.Errorf("%s: %v", statement, err)
	}
}

// New starts a server for this test alone. It ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	testlevel.Full(t)
	s, err := start()
	if err != nil {
		testlevel.Missing(t, missing(err))
	}
	t.Cleanup(s.stop)
	return s
}
