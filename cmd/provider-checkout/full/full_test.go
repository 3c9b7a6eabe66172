// Package full_test has the suites of the full level, in one binary: they run the program, or the whole service, while
// processes are killed, stores and systems outside fail, receivers hang, and payers use a browser, and then compare all
// answers and events with what is on record. At the quick level no test of it runs.
package full_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/proc"
)

// TestMain lets many suites run at the same time: they wait more than they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	if !testlevel.IsFull() {
		fmt.Println("not at the quick level: PROVIDER_CHECKOUT_TEST=full go test ./cmd/provider-checkout/full")
		return
	}
	const suitesAtOnce = "4"
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set(suitesAtOnce)
	}
	testlevel.Elapsed(time.Now()) // it begins to measure
	code := m.Run()
	if folder, err := folder(); err == nil {
		_ = os.RemoveAll(folder)
	}
	os.Exit(code)
}

// folder is that of the program.
var folder = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "provider-checkout-full-") })

// program is the program, which is built once.
var program = sync.OnceValues(func() (proc.Binary, error) {
	path, err := folder()
	if err != nil {
		return "", err
	}
	return proc.BuildIn(path)
})

// built returns the program.
func built(t *testing.T) proc.Binary {
	t.Helper()
	b, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// suite is the program, with tests of it as methods.
type suite struct{ proc.Binary }

func newSuite(t *testing.T) suite {
	t.Helper()
	return suite{built(t)}
}

const (
	// patience is the longest time that anything may take once all faults are over.
	patience = 60 * time.Second
	// calm is the pause between two looks at something that is awaited.
	calm = 100 * time.Millisecond
)

var errBusy = errors.New("the service is busy")

// newFile returns a store in a new file, as --store takes it.
func newFile(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "records.db") }

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); <-time.After(5 * time.Millisecond) {
		if testlevel.Elapsed(began) > patience {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
