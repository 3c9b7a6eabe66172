package postgres

import "time"

// GiveUpAfter makes the store wait for a commit no longer than that.
func (db *DB) GiveUpAfter(d time.Duration) { db.commitTimeout = d }
