package bench_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// bulkFiller fills a store by SQL, which is faster than the store itself, and measures it.
type bulkFiller interface {
	// copy copies the first checkout of the store n times, and its first event, under ids, orders and times of their own.
	copy(b *testing.B, n int)
	exec(b *testing.B, statement string)
	size(b *testing.B) float64 // bytes
}

// newBulkFiller returns the filler of the store that --store names.
func newBulkFiller(spec string) bulkFiller {
	if path, ok := strings.CutPrefix(spec, "sqlite:"); ok {
		return sqliteFiller(path)
	}
	return postgresFiller(spec)
}

// copying returns the statement that copies a table's first row for each n, with new values for some of its columns.
func copying(table string, columns []string, values map[string]string) string {
	from := make([]string, len(columns))
	for i, name := range columns {
		from[i] = "t." + name
		if value, ok := values[name]; ok {
			from[i] = value
		}
	}
	return fmt.Sprintf(`INSERT INTO %s (%s) SELECT %s FROM numbers, (SELECT * FROM %[1]s ORDER BY seq LIMIT 1) AS t`,
		table, strings.Join(columns, ", "), strings.Join(from, ", "))
}

// copyBatch is the number of rows that are copied into a table before the next table's, so that their pages alternate
// as in a file that grows slowly.
const copyBatch = 20_000

// eachBatch passes the numbers from 1 to n to copy, some at a time.
func eachBatch(b *testing.B, n int, copy func(first, last int) error) {
	b.Helper()
	for first := 1; first <= n; first += copyBatch {
		if err := copy(first, min(first+copyBatch-1, n)); err != nil {
			b.Fatal(err)
		}
	}
}

// The nth checkout has an id and an order that SQL and Go compute alike, and was created in the nth millisecond.
const grownSince = 1_700_000_000_000

func grownID(n int) string { return fmt.Sprintf("TUI-%d-%016d", grownSince+n, n) }

// sqliteFiller is the path of an SQLite file.
type sqliteFiller string

func (f sqliteFiller) copy(b *testing.B, n int) {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+string(f)+"?_pragma=journal_mode(off)&_pragma=synchronous(off)&_pragma=cache_size(-4000000)")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	const id = `'TUI-' || (1700000000000 + n) || '-' || printf('%016d', n)`
	const order = `printf('%016x', n * 2654435761 % 4294967296)`
	const numbers = `WITH RECURSIVE numbers (n) AS (VALUES (?1) UNION ALL SELECT n + 1 FROM numbers WHERE n < ?2) `
	checkouts := numbers + copying("checkouts", f.columns(b, db, "checkouts"), map[string]string{
		"id": id, "provider_order_id": order, "idempotency_key": `'TUI:' || ` + order, "created_ms": "1700000000000 + n"})
	events := numbers + copying("events", f.columns(b, db, "events"), map[string]string{
		"id": `'evt_' || lower(hex(randomblob(18)))`, "checkout_id": id, "provider_order_id": order, "created_ms": "1700000000000 + n"})
	eachBatch(b, n, func(first, last int) error {
		for _, statement := range []string{checkouts, events} {
			if _, err := db.Exec(statement, first, last); err != nil {
				return err
			}
		}
		return nil
	})
}

// columns returns the columns of a table, except its own number.
func (sqliteFiller) columns(b *testing.B, db *sql.DB, table string) (names []string) {
	b.Helper()
	rows, err := db.Query(`SELECT name FROM pragma_table_info(?) WHERE name <> 'seq'`, table)
	if err != nil {
		b.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			b.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		b.Fatal(err)
	}
	return names
}

func (f sqliteFiller) exec(b *testing.B, statement string) {
	b.Helper()
	db, err := sql.Open("sqlite", "file:"+string(f))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		b.Fatal(err)
	}
}

func (f sqliteFiller) size(b *testing.B) float64 {
	b.Helper()
	info, err := os.Stat(string(f))
	if err != nil {
		b.Fatal(err)
	}
	return float64(info.Size())
}

// postgresFiller is the address of a database in PostgreSQL.
type postgresFiller string

// on calls do with a connection to the database.
func (s postgresFiller) on(b *testing.B, do func(ctx context.Context, conn *pgx.Conn) error) {
	b.Helper()
	ctx := context.WithoutCancel(b.Context())
	conn, err := pgx.Connect(ctx, string(s))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(ctx)
	if err := do(ctx, conn); err != nil {
		b.Fatal(err)
	}
}

func (s postgresFiller) copy(b *testing.B, n int) {
	b.Helper()
	const id = `'TUI-' || (1700000000000 + n) || '-' || lpad(n::text, 16, '0')`
	const order = `lpad(to_hex(n * 2654435761 % 4294967296), 16, '0')`
	s.on(b, func(ctx context.Context, conn *pgx.Conn) error {
		tables := []struct {
			name   string
			values map[string]string
		}{
			{"checkouts", map[string]string{"id": id, "provider_order_id": order, "idempotency_key": `'TUI:' || ` + order,
				"created_ms": "1700000000000 + n"}},
			{"events", map[string]string{"id": `'evt_' || gen_random_uuid()`, "checkout_id": id, "provider_order_id": order,
				"created_ms": "1700000000000 + n"}},
		}
		var statements []string
		for _, table := range tables {
			rows, err := conn.Query(ctx, `SELECT column_name FROM information_schema.columns
				WHERE table_schema = current_schema() AND table_name = $1 AND column_name <> 'seq' ORDER BY ordinal_position`, table.name)
			if err != nil {
				return err
			}
			columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
			if err != nil {
				return err
			}
			statements = append(statements, `WITH numbers AS (SELECT generate_series($1::bigint, $2) AS n) `+
				copying(table.name, columns, table.values))
		}
		eachBatch(b, n, func(first, last int) error {
			for _, statement := range statements {
				if _, err := conn.Exec(ctx, statement, first, last); err != nil {
					return err
				}
			}
			return nil
		})
		_, err := conn.Exec(ctx, `VACUUM ANALYZE`) // as the server would by itself, in its time
		return err
	})
}

func (s postgresFiller) exec(b *testing.B, statement string) {
	b.Helper()
	s.on(b, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, statement)
		return err
	})
}

func (s postgresFiller) size(b *testing.B) (bytes float64) {
	b.Helper()
	s.on(b, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.QueryRow(ctx, `SELECT sum(pg_total_relation_size(oid))::float8 FROM pg_class
			WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`).Scan(&bytes)
	})
	return bytes
}
