package sqlite

import "database/sql"

// Reader returns the connections that read.
func Reader(db *DB) *sql.DB { return db.readers.db }
