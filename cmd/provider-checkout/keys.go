package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/cli"
	"github.com/provider-checkout/provider-checkout/ports"
)

// issueKey creates a key and prints nothing else.
func issueKey(c *call) action {
	c.changeFlags()
	provider := c.requiredFlag("provider", "provider `CODE`")
	var environment catalogue.Environment
	cli.Var(c.flags, &environment, "environment", "", parseEnvironment, "`sandbox|production` (default the provider's)")
	label := c.flags.String("label", "", "words for what the key is used, shown by keys list: `TEXT`")
	var expires time.Time
	cli.Var(c.flags, &expires, "expires", "", parseLastDay, "the last `DATE` on which the key works, in New Zealand; without it the key never expires")
	return c.operating(func(ctx context.Context, _ records, operator operate.Operator) error {
		text, err := operator.IssueKey(ctx, *provider, operate.KeyOptions{Environment: environment, Label: *label, ExpiresAt: expires})
		if errors.Is(err, operate.ErrNoProvider) {
			return noProvider(*provider)
		} else if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.Stdout, text)
		return err
	})
}

// listKeys prints one line for each key.
func listKeys(c *call) action {
	c.listFlags()
	return c.onRecords(func(ctx context.Context, db records) error {
		keys, err := db.Keys(ctx)
		if err != nil {
			return fmt.Errorf("read the keys: %w", err)
		}
		var rows []record
		for _, k := range keys {
			rows = append(rows, record{
				{"key_id", "id", k.ID},
				{"provider_code", "provider", k.Provider},
				{"environment", "environment", string(k.Environment)},
				{"label", "label", k.Label},
				{"created_at", "created", k.CreatedAt},
				{"last_used", "last used", k.LastUsed},
				{"expires_at", "expires", k.ExpiresAt},
				{"revoked_at", "revoked", k.RevokedAt},
			})
		}
		return c.table(rows, "id", "provider", "environment", "label", "created", "last used", "expires", "revoked")
	})
}

// revokeKey revokes the key whose text or id is the argument.
func revokeKey(c *call) action {
	c.changeFlags()
	return c.operating(func(ctx context.Context, _ records, operator operate.Operator) error {
		id, err := operator.RevokeKey(ctx, c.Args[0])
		if errors.Is(err, ports.ErrNotFound) {
			return errors.New(`there is no such key; "keys list" names them`) // what was typed may be a secret
		} else if err != nil {
			return err
		}
		_, err = fmt.Fprintln(c.Stdout, "revoked", id)
		return err
	})
}

func noProvider(code string) error { return fmt.Errorf("there is no provider %q", code) }
