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

// poolerLooks is how often a pooler is looked at. If other clients use it at the same time, a look may see nothing.
const poolerLooks = 5

// backend asks for the process that answers, and for no prepared statement, of which such a pooler knows nothing.
const backend = `SELECT pg_backend_pid()`

// checkPooler returns errPooler if sessions are not kept: then neither are their settings, on which the promises rest, nor
// what a connection has been found to be. The process that a server names at the login is the one that answers, and a
// pooler in between names none. If it lends a connection by transaction, another client gets the one that answered before.
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
		borrowed, err := ask(ctx, second, `BEGIN; `+backend)
		if err != nil {
			return errPooler // even transactions are not kept
		}
		after, err := ask(ctx, first, backend)
		if err == nil {
			_, err = ask(ctx, second, `ROLLBACK; `+backend)
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

// ask runs statements, and returns the number that the last one selects.
func ask(ctx context.Context, conn *pgconn.PgConn, statements string) (int, error) {
	results, err := conn.Exec(ctx, statements).ReadAll()
	if err != nil {
		return 0, err
	}
	rows := results[len(results)-1].Rows
	if len(rows) != 1 {
		return 0, fmt.Errorf("%s: no answer", statements)
	}
	return strconv.Atoi(string(rows[0][0]))
}
