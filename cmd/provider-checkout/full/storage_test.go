package full_test

import (
	"testing"
)

// TestStores takes away from a server what its store is kept on, under load: the disk is full, the file is moved,
// deleted or replaced, or a store is restored from an older backup and life goes on. It compares all answers and deliveries
// with what is on record. On every change a few rounds are run; a long run says the number of each:
//
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=20 go test -run 'TestStores/(full|moved|deleted|replaced)' -timeout 1h -v ./cmd/provider-checkout/full
//	PROVIDER_CHECKOUT_TEST=full PROVIDER_CHECKOUT_TEST_RUNS=50 go test -run TestStores/restored -timeout 2h -v ./cmd/provider-checkout/full
//
// A full disk needs root.
func TestStores(t *testing.T) {
	t.Parallel()
	b := newSuite(t)
	t.Run("full", b.onAFullDisk)
	t.Run("moved", b.moved)
	t.Run("deleted", b.deleted)
	t.Run("replaced", b.replaced)
	t.Run("restored", func(t *testing.T) {
		t.Run("SQLite", b.restoredSQLite)
		t.Run("PostgreSQL", b.restoredPostgreSQL)
	})
}
