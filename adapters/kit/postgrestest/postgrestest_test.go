package postgrestest_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
)

func TestSchemaOnAGivenServerIsRemovedAfterItsTest(t *testing.T) {
	t.Setenv("PROVIDER_CHECKOUT_TEST_POSTGRES", postgrestest.New(t).URL(t))
	var url string
	t.Run("a test with a schema", func(t *testing.T) { url = postgrestest.URL(t) })
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), `CREATE TABLE late (n bigint)`); err == nil {
		t.Error("the schema is still there")
	}
}

const childVariable = "POSTGRESTEST_CHILD"

// A process that is killed cleans up nothing, but leaves neither server nor folder behind.
func TestNothingOutlivesItsProcess(t *testing.T) {
	if os.Getenv(childVariable) != "" {
		fmt.Println(postgrestest.New(t).URL(t)) // read by the parent, which kills this process
		select {}
	}
	folder, err := os.MkdirTemp("", "postgrestest-") // a short path, because a socket's is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o777); err != nil { // the server runs as another user
		t.Fatal(err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestNothingOutlivesItsProcess$")
	child.Env = append(os.Environ(), childVariable+"=1", "TMPDIR="+folder)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	url, _ := bufio.NewReader(out).ReadString('\n')
	conn, connectErr := pgx.Connect(t.Context(), strings.TrimSpace(url))
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if connectErr != nil {
		t.Skipf("the child has no server, and printed %q", url)
	}
	defer conn.Close(context.Background())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := conn.Exec(ctx, `SELECT pg_sleep(60)`); err == nil || ctx.Err() != nil {
		t.Errorf("the server goes on: %v", err)
	}
	for ticks := time.Tick(10 * time.Millisecond); ; <-ticks {
		left, err := os.ReadDir(folder)
		if err != nil || ctx.Err() != nil {
			t.Fatalf("left behind: %v, %v", left, err)
		}
		if len(left) == 0 {
			return
		}
	}
}
