package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

var errPooler = errors.New("a pooler is in between that lends its connections by transaction (pgbouncer: pool_mode): " +
	"connect to the server directly, or through a pooler of sessions")

// poolerLooks is the number of looks at a pooler. If other clients use it at the same time, a look may see nothing.
const poolerLooks = 5

// backend asks for the process that answers, and for no prepared statement, of which such a pooler knows nothing.
const backend = `SELECT pg_backend_pid()`

// checkPooler returns errPooler if sessions are not kept: then neither are their settings, on which the promises rest, nor
// what a connection has been found to be. The process that a server names at the login also answers, and a
// pooler in between names no process. If it lends a connection by transaction, another client gets the process that answered before.
func (db *DB) checkPooler(ctx context.Context) error {
	conn, err := db.acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	first := conn.Conn().PgConn()
	before, err := ask(ctx, first, backend)
	if err != nil || before == int(first.PID()) {
		return mapError(err)
	}
	config := db.pool.Config().ConnConfig.Config
	within, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	second, err := pgconn.ConnectConfig(within, &config)
	if err != nil {
		return nil // a pooler with one connection, which is in use, keeps it
	}
	defer second.Close(ctx)
	for range poolerLooks {
		borrowed, err := 0, run(ctx, second, `BEGIN`)
		if err == nil {
			borrowed, err = ask(ctx, second, backend)
		}
		if err != nil {
			return errPooler // even transactions are not kept
		}
		after, err := ask(ctx, first, backend)
		if err == nil {
			err = run(ctx, second, `ROLLBACK`)
		}
		switch {
		case err != nil:
			return mapError(err)
		case borrowed == before || after != before:
			return errPooler
		}
	}
	return nil
}

// run runs a statement.
func run(ctx context.Context, conn *pgconn.PgConn, statement string) error {
	_, err := conn.Exec(ctx, statement).ReadAll()
	return err
}

// ask returns the number that a statement selects.
func ask(ctx context.Context, conn *pgconn.PgConn, statement string) (int, error) {
	results, err := conn.Exec(ctx, statement).ReadAll()
	if err != nil {
		return 0, err
	}
	if len(results) != 1 || len(results[0].Rows) != 1 {
		return 0, fmt.Errorf("%s: no answer", statement)
	}
	return strconv.Atoi(string(results[0].Rows[0][0]))
}
