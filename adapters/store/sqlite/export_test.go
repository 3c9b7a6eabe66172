package sqlite

import (
	"database/sql"

	"github.com/provider-checkout/provider-checkout/adapters/store/migration"
)

// Reader returns the connections that read.
func Reader(db *DB) *sql.DB { return db.readers.db }

// CheckPlace looks whether the files of the store are where they were opened, as is done before and after each commit.
func CheckPlace(db *DB) error { return db.writer.place.check() }

// Next returns the options of the program of the next version, which has one more migration.
func (o Options) Next(script string) Options {
	own, err := ownMigrations()
	if err != nil {
		panic(err)
	}
	o.migrations = append(own, migration.New(len(own)+1, script))
	return o
}
