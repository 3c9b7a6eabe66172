package storetest

import (
	"testing"

	"github.com/provider-checkout/provider-checkout/ports"
)

// NextMigration is the script of a migration that the program of the next version has, and BrokenMigration a
// script that fails after it has changed the schema.
const (
	NextMigration   = `CREATE TABLE next (note text); ALTER TABLE checkouts ADD COLUMN next text`
	BrokenMigration = NextMigration + `; ALTER TABLE missing ADD COLUMN next text`
)

// Upgrade tests that a store is migrated to the schema of the next version with all that is on record, and that both
// versions then have it open. The places are one place, opened by the program of this version, by that of the next one,
// which has NextMigration, and by a program that has BrokenMigration.
func Upgrade(t *testing.T, this, next, broken Place) {
	old := this.open(t, "")
	configure(t, old, configuration("KOWHAI"), legacy("RIMU"))
	addKeys(t, old, key(1))
	insert(t, old, opened(1), opened(2), opened(3))
	confirm(t, old, opened(1).Next.ID, 1)
	want := export(t, old)

	broken.fails(t, "missing", "")
	same(t, "record after a migration that failed", export(t, this.open(t, "")), want)

	for _, err := range concurrently(4, func(int) error {
		s, err := next("")
		if err == nil {
			err = s.Close()
		}
		return err
	}) {
		must(t, "open by the next version", err)
	}
	upgraded := next.open(t, "")
	same(t, "record", export(t, upgraded), want)
	for n, s := range []ports.Admin{old, upgraded, this.open(t, "")} {
		must(t, "Ready", s.Ready(t.Context()))
		insert(t, s, opened(10+n))
		confirm(t, s, opened(10+n).Next.ID, int64(10+n))
	}
	same(t, "record as both versions read it", export(t, old), export(t, upgraded))
}
