package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// What a connection is bounded by. A request waits ten seconds at most for the store.
const (
	maxConns       = 20 // unless the connection string says pool_max_conns; a server takes 100 unless told
	connectTimeout = 3 * time.Second
	pingTimeout    = time.Second
	acquireTimeout = 3 * time.Second
	// commitTimeout is more than the server's own time-outs: only a server that is silent lets it pass.
	commitTimeout = 6 * time.Second

	// The server gives up a statement, a wait for a lock, and a transaction whose process went
	// silent with rows locked. Acknowledged means that it is on the disk, whatever the server's default.
	session = `SET statement_timeout = '5s'; SET lock_timeout = '3s';
		SET idle_in_transaction_session_timeout = '5s'; SET synchronous_commit = 'on'`
)

func (db *DB) poolConfig(url string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil || url == "" {
		// What cannot be read may hold a password at any place: nothing of it is repeated.
		return nil, errors.New("the connection string cannot be read; it must be such as postgres://USER:PASSWORD@HOST:PORT/DATABASE")
	}
	if !strings.Contains(url, "pool_max_conns") {
		config.MaxConns = maxConns
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTimeout
	}
	config.PingTimeout = pingTimeout
	config.ShouldPing = db.shouldPing
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.PgConn().Exec(ctx, session).ReadAll()
		return err
	}
	return config, nil
}

// shouldPing has a connection tried before it is used if it was idle for long, or when another was
// lost: a server that restarted has hung up on all of them.
func (db *DB) shouldPing(_ context.Context, p pgxpool.ShouldPingParams) bool {
	sinceLoss := time.Since(db.began) - time.Duration(db.lastLoss.Load())
	return p.IdleDuration > time.Second || p.IdleDuration > sinceLoss
}

func (db *DB) lost() { db.lastLoss.Store(int64(time.Since(db.began))) }

// checkServer returns an error if there is no server, or one that cannot keep text as it is.
func (db *DB) checkServer(ctx context.Context) error {
	encoding, err := one(ctx, db, pgx.RowTo[string], `SHOW server_encoding`)
	if err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database's encoding is %s, not UTF8", encoding)
	}
	return nil
}
