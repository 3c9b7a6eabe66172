package sqlite

import "context"

const (
	keepSandboxRecord   = `INSERT INTO sandbox_records (name, data) VALUES (?, ?) ON CONFLICT (name) DO NOTHING`
	selectSandboxRecord = `SELECT data FROM sandbox_records WHERE name = ?`
	dropSandboxRecords  = `DELETE FROM sandbox_records WHERE name >= ?1 AND substr(name, 1, length(?1)) = ?1`
)

// KeepSandboxRecord stores a record of the fake processor under a name, unless there is one already: that stays.
func (db *DB) KeepSandboxRecord(ctx context.Context, name string, data []byte) error {
	data = append([]byte{}, data...)
	return db.write(ctx, "sandbox record "+name, func(t *tx) { t.exec(keepSandboxRecord, name, data) })
}

// SandboxRecord returns the record under a name, or ports.ErrNotFound.
func (db *DB) SandboxRecord(ctx context.Context, name string) ([]byte, error) {
	return get(ctx, db, "sandbox record "+name, func(r value[[]byte]) ([]byte, error) { return r.v, nil }, selectSandboxRecord, name)
}

// DropSandboxRecords removes the records under the names with a prefix.
func (db *DB) DropSandboxRecords(ctx context.Context, prefix string) error {
	return db.write(ctx, "sandbox records "+prefix, func(t *tx) { t.exec(dropSandboxRecords, prefix) })
}
