package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// A request waits for the store for ten seconds at most.
const (
	maxConns       = 20 // unless the connection string says pool_max_conns; a server accepts 100 by default
	warmConns      = 4  // of a server, before its first request
	connectTimeout = 3 * time.Second
	pingTimeout    = time.Second
	acquireTimeout = 3 * time.Second
	// commitTimeout is longer than the server's own time-outs: it ends only the wait for a server that is silent.
	commitTimeout = 6 * time.Second
	proofTimeout  = 2 * time.Second

	// A statement, a wait for a lock, and a transaction whose process hangs while it holds locks are bounded. A commit is
	// acknowledged when it is on the disk, and where the server demands that of standbys, on theirs: only an operator's
	// stronger setting stays. Of notices the server sends warnings, whatever it sends by default.
	timeouts = `set_config('statement_timeout', '5s', %[1]t), set_config('lock_timeout', '3s', %[1]t),
		set_config('idle_in_transaction_session_timeout', '5s', %[1]t)`
	durable = `set_config('client_min_messages', 'warning', %[1]t), set_config('synchronous_commit',
		CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, %[1]t)`
)

var (
	// setSession sets what a session of the store needs. Whatever isolation is the default, statements wait for each
	// other and see what is committed.
	setSession = fmt.Sprintf(`SELECT set_config('default_transaction_isolation', 'read committed', false), set_config('jit', 'off', false), `+timeouts+`, `+durable, false)
	// setTransaction sets it for one transaction.
	setTransaction = fmt.Sprintf(`SELECT `+timeouts+`, `+durable, true)
	// setDurable sets what one transaction needs to be acknowledged, and no time-outs.
	setDurable = fmt.Sprintf(`SELECT `+durable, true)
)

// connect makes the pool.
func (db *DB) connect(ctx context.Context, url string, readOnly bool) error {
	settings := setSession
	if readOnly {
		settings += `, set_config('default_transaction_read_only', 'on', false)`
	}
	config, err := db.poolConfig(url, settings)
	if err != nil {
		return err
	}
	if db.pool, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return errors.New("the connection pool cannot be made") // its error may quote the configuration
	}
	return nil
}

// warm opens some connections at once, so that the first requests need not wait for that. It is not an error that there are
// fewer.
func (db *DB) warm(ctx context.Context) {
	conns := make(chan *pgxpool.Conn, warmConns)
	var opening sync.WaitGroup
	for range min(warmConns, db.pool.Config().MaxConns) {
		opening.Go(func() {
			conn, err := db.acquire(ctx)
			if err == nil {
				_ = (&attempt{conn: conn.Conn(), db: db}).proveConnection(ctx)
				conns <- conn
			}
		})
	}
	opening.Wait()
	close(conns)
	for conn := range conns {
		conn.Release()
	}
}

func (db *DB) poolConfig(url, settings string) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil || url == "" {
		// A string that cannot be parsed may hold a password anywhere, so nothing of it is repeated.
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
		_, err := conn.PgConn().Exec(ctx, settings).ReadAll()
		return err
	}
	return config, nil
}

// shouldPing reports whether a connection is checked before it is used: if it was idle for long, or since another one
// was lost, because a server that restarts closes all of them.
func (db *DB) shouldPing(_ context.Context, p pgxpool.ShouldPingParams) bool {
	sinceLoss := time.Since(db.opened) - time.Duration(db.lastLoss.Load())
	return p.IdleDuration > time.Second || p.IdleDuration > sinceLoss
}

// lost records that a connection was lost.
func (db *DB) lost() { db.lastLoss.Store(int64(time.Since(db.opened))) }

// checkServer returns an error if the server cannot be reached, or cannot keep every text.
func (db *DB) checkServer(ctx context.Context) error {
	encoding, err := sqlstore.One(ctx, engine{db}, sqlstore.ScanValue[string], `SHOW server_encoding`)
	if err != nil {
		return err
	}
	if encoding != "UTF8" {
		return fmt.Errorf("the database's encoding is %s, not UTF8", encoding)
	}
	return nil
}
