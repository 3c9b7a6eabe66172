package postgres_test

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
)

// untilStdinEnds runs a program until standard input ends, which is when the test ends, even if it is killed.
const untilStdinEnds = `exec 3<&0 </dev/null; { cat <&3 && kill $$; } >/dev/null & exec "$0" "$@" 3<&-`

// pgbouncer runs the pooler in front of the server, and returns the connection string through it.
func pgbouncer(t *testing.T, server, mode string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		testlevel.Missing(t, err)
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	ln.Close()
	folder := t.TempDir()
	config, users := filepath.Join(folder, "pgbouncer.ini"), filepath.Join(folder, "users")
	text := fmt.Sprintf(`[databases]
postgres = host=%s port=%s user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %s
unix_socket_dir =
auth_type = any
auth_file = %s
pool_mode = %s
ignore_startup_parameters = search_path
`, u.Hostname(), u.Port(), port, users, mode)
	for path, text := range map[string]string{config: text, users: "\"postgres\" \"\"\n"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"-c", untilStdinEnds, program, "-q", config}
	if os.Geteuid() == 0 { // it refuses to run as root
		args = append(args, "-u", "nobody")
		for dir := folder; dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command("/bin/sh", args...)
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		_ = cmd.Wait()
	})
	through := "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable&default_query_exec_mode=simple_protocol"
	for limit := time.Now().Add(patience); ; <-time.After(10 * time.Millisecond) {
		conn, err := pgx.Connect(t.Context(), through)
		if err == nil {
			conn.Close(t.Context())
			return strings.Replace(through, "&default_query_exec_mode=simple_protocol", "", 1)
		}
		if time.Now().After(limit) {
			t.Fatalf("pgbouncer: %v", err)
		}
	}
}

// A pooler that lends its connections by transaction is refused in one line, however statements are sent; one of sessions
// is not.
func TestPoolers(t *testing.T) {
	server := postgrestest.New(t).URL(t)
	for _, mode := range []string{"transaction", "statement"} {
		url := pgbouncer(t, server, mode)
		for _, send := range []string{"cache_statement", "exec", "simple_protocol"} {
			url := url + "&default_query_exec_mode=" + send
			openFails(t, url, postgres.Options{Schema: "pooled"}, "lends its connections by transaction")
			if _, err := postgres.New(t.Context(), hostPool(t, url), postgres.Options{}); err == nil ||
				!strings.Contains(err.Error(), "lends its connections by transaction") {
				t.Errorf("New: got error %v, want one that says that a pooler is in between", err)
			}
		}
	}
	url := pgbouncer(t, server, "session")
	db := open(t, url+"&pool_max_conns=8", postgres.Options{Schema: "pooled"})
	insert(t, db, 1)
	if err := confirm(t.Context(), db, 1, func() {}); err != nil {
		t.Error(err)
	}
	if got := db.Setting(t.Context(), "lock_timeout"); got != "3s" {
		t.Errorf("lock_timeout = %s through a pooler of sessions, want 3s", got)
	}
}
