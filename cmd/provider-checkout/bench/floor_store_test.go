package bench_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "modernc.org/sqlite"
)

// openFloor opens the floor's store: sqlite:PATH, which batches commits, or the URL of a PostgreSQL, which gets one statement for
// each row and batches commits itself.
func openFloor(ctx context.Context, store string) (floorRows, error) {
	if path, isFile := strings.CutPrefix(store, "sqlite:"); isFile {
		return openFloorFile(ctx, path)
	}
	return openFloorServer(ctx, store)
}

const floorTable = `CREATE TABLE IF NOT EXISTS checkouts (
	id text NOT NULL PRIMARY KEY, order_id text NOT NULL UNIQUE, token text NOT NULL, status text NOT NULL, body text NOT NULL)`

// floorFile is the floor's SQLite file.
type floorFile struct {
	db      *sql.DB
	writer  *sql.Conn
	insert  *sql.Stmt // on the writer, as found is
	found   *sql.Stmt
	state   *sql.Stmt
	ready   chan struct{} // has one value while writes wait
	mu      sync.Mutex
	waiting []*floorWrite
}

// floorWrite is a row on its way to the disk.
type floorWrite struct {
	row  *floorRow
	done chan error
}

func openFloorFile(ctx context.Context, path string) (*floorFile, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=busy_timeout(5000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(5)
	db.SetMaxOpenConns(5)
	f := &floorFile{db: db, ready: make(chan struct{}, 1)}
	if f.writer, err = db.Conn(ctx); err != nil {
		return nil, err
	}
	_, made := f.writer.ExecContext(ctx, floorTable)
	var errs [3]error
	f.insert, errs[0] = f.writer.PrepareContext(ctx, `INSERT INTO checkouts (id, order_id, token, status, body)
		VALUES (?, ?, ?, 'direct_debit_setup_required', ?) ON CONFLICT (order_id) DO NOTHING`)
	f.found, errs[1] = f.writer.PrepareContext(ctx, `SELECT id, token FROM checkouts WHERE order_id = ?`)
	f.state, errs[2] = db.PrepareContext(ctx, `SELECT status FROM checkouts WHERE id = ?`)
	go f.work()
	return f, errors.Join(append(errs[:], made)...)
}

func (f *floorFile) put(_ context.Context, r *floorRow) error {
	w := &floorWrite{r, make(chan error, 1)}
	f.mu.Lock()
	f.waiting = append(f.waiting, w)
	f.mu.Unlock()
	select {
	case f.ready <- struct{}{}:
	default:
	}
	return <-w.done
}

// work commits the rows that arrived during the previous commit.
func (f *floorFile) work() {
	for range f.ready {
		f.mu.Lock()
		group := f.waiting
		f.waiting = nil
		f.mu.Unlock()
		err := f.commit(group)
		for _, w := range group {
			w.done <- err
		}
	}
}

func (f *floorFile) commit(group []*floorWrite) error {
	ctx := context.Background()
	if _, err := f.writer.ExecContext(ctx, `BEGIN IMMEDIATE`); err != nil {
		return err
	}
	for _, w := range group {
		if err := f.store(ctx, w.row); err != nil {
			_, undone := f.writer.ExecContext(ctx, `ROLLBACK`)
			return errors.Join(err, undone)
		}
	}
	_, err := f.writer.ExecContext(ctx, `COMMIT`)
	return err
}

func (f *floorFile) store(ctx context.Context, r *floorRow) error {
	done, err := f.insert.ExecContext(ctx, r.id, r.order, r.token, r.body)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); n == 1 || err != nil {
		return err
	}
	r.found = true
	return f.found.QueryRowContext(ctx, r.order).Scan(&r.id, &r.token)
}

func (f *floorFile) status(ctx context.Context, id string) (status string, err error) {
	err = f.state.QueryRowContext(ctx, id).Scan(&status)
	return status, err
}

// floorServer is the floor's PostgreSQL.
type floorServer struct{ pool *pgxpool.Pool }

func openFloorServer(ctx context.Context, url string) (floorServer, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return floorServer{}, err
	}
	config.MaxConns = 32
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return floorServer{}, err
	}
	_, err = pool.Exec(ctx, floorTable)
	return floorServer{pool}, err
}

func (f floorServer) put(ctx context.Context, r *floorRow) error {
	done, err := f.pool.Exec(ctx, `INSERT INTO checkouts (id, order_id, token, status, body)
		VALUES ($1, $2, $3, 'direct_debit_setup_required', $4) ON CONFLICT (order_id) DO NOTHING`,
		r.id, r.order, r.token, string(r.body))
	if err != nil || done.RowsAffected() == 1 {
		return err
	}
	r.found = true
	return f.pool.QueryRow(ctx, `SELECT id, token FROM checkouts WHERE order_id = $1`, r.order).Scan(&r.id, &r.token)
}

func (f floorServer) status(ctx context.Context, id string) (status string, err error) {
	err = f.pool.QueryRow(ctx, `SELECT status FROM checkouts WHERE id = $1`, id).Scan(&status)
	return status, err
}
