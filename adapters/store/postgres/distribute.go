package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlstore"
)

// A store can be spread over the nodes of a cluster of Citus, an extension of PostgreSQL: everything of a provider is on one node, and
// each node has all that belongs to no provider alone.

// Every node has a copy of these tables. A table comes after the tables that it refers to.
var copied = []string{"provider_checkout_schema", "store", "providers", "courses", "plan_options", "api_keys", "acts", "sandbox_records"}

// The rows of these tables are on the node of their provider. Tables after the first are kept beside it.
var spread = []string{"checkouts", "agreements", "documents", "jobs", "moments"}

// references are the foreign keys between tables that are spread, which cannot refer to one another while some are and some are not.
var references = []struct{ table, name, definition string }{
	{"agreements", "agreements_checkout", `FOREIGN KEY (provider_code, checkout_id) REFERENCES @.checkouts (provider_code, id)`},
	{"documents", "documents_agreement", `FOREIGN KEY (provider_code, agreement_number) REFERENCES @.agreements (provider_code, number)`},
}

const (
	hasCitus      = `SELECT 1 FROM pg_catalog.pg_proc WHERE proname = 'create_distributed_table' AND pg_function_is_visible(oid)`
	isDistributed = `SELECT 1 FROM pg_dist_partition WHERE logicalrelid = CAST(? AS regclass)`
	copyTable     = `SELECT create_reference_table(CAST(? AS regclass))`
	spreadFirst   = `SELECT create_distributed_table(CAST(? AS regclass), 'provider_code')`
	spreadBeside  = `SELECT create_distributed_table(CAST(? AS regclass), 'provider_code', colocate_with => ?)`
	// Foreign keys are made again on each node.
	oneByOne = `SELECT set_config('citus.multi_shard_modify_mode', 'sequential', true)`
)

var errNoCitus = errors.New("the server has no Citus (create_distributed_table): the store stays on one node")

// findNodes finds out whether the store is spread over several nodes.
func (db *DB) findNodes(ctx context.Context) (err error) {
	citus, err := sqlstore.Has(ctx, engine{db}, hasCitus)
	if err == nil && citus {
		db.Distributed, err = sqlstore.Has(ctx, engine{db}, isDistributed, db.schema.table("checkouts"))
	}
	if err != nil {
		return fmt.Errorf("look for nodes: %w", err)
	}
	return nil
}

// Distribute spreads the store, empty or filled, over the nodes of the server's Citus cluster: all of it or nothing. Nobody may use the
// store meanwhile. It does nothing if the store is distributed already.
func (db *DB) Distribute(ctx context.Context) error {
	switch citus, err := sqlstore.Has(ctx, engine{db}, hasCitus); {
	case err != nil:
		return fmt.Errorf("distribute the store: %w", err)
	case !citus:
		return errNoCitus
	case db.Distributed:
		return nil
	}
	err := db.do(ctx, func(ctx context.Context, t *attempt) error {
		if err := t.run(ctx, append(beginMigration, oneByOne)...); err != nil {
			return err
		}
		if t.outcomeUnknown {
			if done, err := sqlstore.Has(ctx, t, isDistributed, db.schema.table("checkouts")); done || err != nil {
				return err
			}
		}
		for _, r := range references {
			if err := t.run(ctx, db.schema.qualify(`ALTER TABLE @.`+r.table+` DROP CONSTRAINT `+r.name)); err != nil {
				return err
			}
		}
		for _, table := range copied {
			if _, err := sqlstore.Has(ctx, t, copyTable, db.schema.table(table)); err != nil {
				return fmt.Errorf("copy %s to every node: %w", table, err)
			}
		}
		if err := t.spread(ctx); err != nil {
			return err
		}
		for _, r := range references {
			if err := t.run(ctx, db.schema.qualify(`ALTER TABLE @.`+r.table+` ADD CONSTRAINT `+r.name+` `+r.definition)); err != nil {
				return err
			}
		}
		return t.commit(ctx, t.batch())
	})
	if err != nil {
		return fmt.Errorf("distribute the store: %w", err)
	}
	return db.findNodes(ctx)
}

// spread has the cluster spread the tables: the others beside the first.
func (t *attempt) spread(ctx context.Context) error {
	first := t.db.schema.table(spread[0])
	for i, table := range spread {
		statement, args := spreadFirst, []any{t.db.schema.table(table)}
		if i > 0 {
			statement, args = spreadBeside, append(args, first)
		}
		if _, err := sqlstore.Has(ctx, t, statement, args...); err != nil {
			return fmt.Errorf("spread %s over the nodes: %w", table, err)
		}
	}
	return nil
}
