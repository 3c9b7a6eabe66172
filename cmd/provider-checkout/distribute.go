package main

import (
	"context"
	"errors"
	"fmt"
)

// distributeStore spreads a store in PostgreSQL over the nodes of its cluster.
type distributeStore struct{ StoreFlags }

func (*distributeStore) Run(ctx context.Context, c *call) error {
	return c.onRecords(ctx, func(db records) error {
		cluster, ok := db.(interface{ Distribute(context.Context) error })
		if !ok {
			return errors.New("a SQLite store is one file on one machine: only a store in PostgreSQL can be distributed")
		}
		if err := cluster.Distribute(ctx); err != nil {
			return err
		}
		_, err := fmt.Fprintln(c.Stdout, "the store is distributed: everything of a provider is on one node")
		return err
	})
}
