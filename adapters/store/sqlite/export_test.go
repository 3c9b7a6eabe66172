package sqlite

import "database/sql"

// Reader returns the connections that read.
func Reader(db *DB) *sql.DB { return db.readers.db }

// CheckPlace looks whether the files of the store are where they were opened, as is done before and after each commit.
func CheckPlace(db *DB) error { return db.writer.place.check() }
