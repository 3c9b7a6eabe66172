package full_test

import (
	"database/sql"
	"os"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver
)

// TestBinary tests what only a process of the program can show: that it starts, stops and is
// killed without harm. The other tests run its commands within their own process.
func TestBinary(t *testing.T) {
	t.Parallel()
	b := newSuite(t)
	t.Run("answers soon after its start", b.answersSoon)
	t.Run("keeps its files to their owner", b.keepsItsFilesToTheirOwner)
	t.Run("finishes a first start that was killed", b.finishesAKilledFirstStart)
	t.Run("drains on SIGTERM", b.drains)
	t.Run("records its operators", b.recordsItsOperators)
	t.Run("demonstrates itself in a shell until SIGINT", b.demonstrates)
	t.Run("survives being killed at any moment", b.survivesKills)
}

// ownersAlone checks that only the owner may open the files of the folder, and returns their names.
func ownersAlone(t testing.TB, dir string) string {
	t.Helper()
	var names []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != 0o600 {
			t.Errorf("the mode of %s is %v, want 0600", e.Name(), info.Mode())
		}
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// checkIntact runs SQLite's integrity check on a store that is not open.
func checkIntact(t *testing.T, store string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+store+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var verdict string
	if err := db.QueryRow(`PRAGMA quick_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("quick_check says %q, %v", verdict, err)
	}
}
