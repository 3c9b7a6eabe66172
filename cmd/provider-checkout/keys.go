package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

// issueKey creates a key and prints nothing else.
func issueKey(ctx context.Context, c *call, _ records, operator operate.Operator) error {
	text, err := operator.IssueKey(ctx, c.provider, c.environment)
	if errors.Is(err, operate.ErrNoProvider) {
		return fmt.Errorf("there is no provider %q", c.provider)
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, text)
	return err
}

// listKeys prints one line for each key.
func listKeys(ctx context.Context, c *call, db records) error {
	keys, err := db.Keys(ctx)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	table := c.table("ID\tPROVIDER\tENVIRONMENT\tCREATED\tREVOKED")
	for _, k := range keys {
		err := table.row(toWireKey(k), k.ID, k.Provider, string(k.Environment), formatTime(k.CreatedAt), formatTime(k.RevokedAt))
		if err != nil {
			return err
		}
	}
	return table.end()
}

// revokeKey revokes the key whose text or id is the argument.
func revokeKey(ctx context.Context, c *call, _ records, operator operate.Operator) error {
	id, err := operator.RevokeKey(ctx, c.Args[0])
	if errors.Is(err, ports.ErrNotFound) {
		return errors.New(`there is no such key; "keys list" names them`) // what was typed may be a secret
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, "revoked", id)
	return err
}
