package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// A store can be spread over the nodes of a cluster of Citus, an extension of PostgreSQL: everything of a provider is on one node, each
// node has a copy of what belongs to no provider alone, and the acts stay where they are.
var (
	copied = []string{"store", "providers", "courses", "api_keys", "sandbox_records"}
	spread = []string{"checkouts", "agreements", "documents", "jobs", "moments"} // the others beside the first
)

const (
	isDistributed = `SELECT count(*) > 0 FROM pg_dist_partition WHERE logicalrelid = CAST($1 AS regclass)`
	copyTable     = `SELECT create_reference_table(CAST($1 AS regclass))`
	spreadTable   = `SELECT create_distributed_table(CAST($1 AS regclass), 'provider_code', colocate_with => $2)`
)

// distributeTimeout is longer than any store takes.
const distributeTimeout = 24 * time.Hour

var errNoCitus = errors.New("the server has no Citus: the store stays on one node")

// Distribute spreads the store, empty or filled, over the nodes of the server's Citus cluster: all of it or nothing. Nobody may use the
// store meanwhile. It does nothing if the store is distributed already.
func (db *DB) Distribute(ctx context.Context) error {
	err := db.locked(ctx, func(ctx context.Context, c *conn, b *batch) error {
		done, err := one[value[bool]](ctx, c, isDistributed, spread[0])
		switch {
		case is(err, noTable):
			return errNoCitus
		case err != nil || done.V:
			return err
		}
		b.timeout = distributeTimeout
		b.Queue(`SELECT set_config('statement_timeout', '0', true)`)
		for _, table := range copied {
			b.Queue(copyTable, table)
		}
		beside := "none"
		for _, table := range spread {
			b.Queue(spreadTable, table, beside)
			beside = spread[0]
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("distribute the store: %w", err)
	}
	return nil
}
