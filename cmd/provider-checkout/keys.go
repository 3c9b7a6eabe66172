package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service/operate"
	"github.com/provider-checkout/provider-checkout/ports"
)

// issueKey creates a key and prints nothing else.
type issueKey struct {
	ChangeFlags
	Provider string    `required:"" placeholder:"CODE" help:"whose key it is (required)"`
	Label    string    `placeholder:"TEXT" help:"words for what the key is used, shown by keys list"`
	Expires  time.Time `type:"last-day" placeholder:"DATE" help:"the last day on which the key works, in New Zealand; without it the key never expires"`
}

func (f *issueKey) Run(ctx context.Context, c *call, operator operate.Operator) error {
	text, err := operator.IssueKey(ctx, f.Provider, operate.KeyOptions{Label: f.Label, ExpiresAt: f.Expires})
	if errors.Is(err, operate.ErrNoProvider) {
		return noProvider(f.Provider)
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, text)
	return err
}

// listKeys prints one line for each key.
type listKeys struct{ ListFlags }

func (*listKeys) Run(ctx context.Context, c *call, db reader) error {
	keys, err := db.Keys(ctx)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	return table(c, keys, keyRecord, "id", "provider", "environment", "label", "created", "last used", "expires", "revoked")
}

func keyRecord(k catalogue.Key) record {
	return record{
		{"key_id", "id", k.ID},
		{"provider_code", "provider", k.Provider},
		{"environment", "environment", string(k.Environment)},
		{"label", "label", k.Label},
		{"created_at", "created", k.CreatedAt},
		{"last_used_at", "last used", k.LastUsed},
		{"expires_at", "expires", k.ExpiresAt},
		{"revoked_at", "revoked", k.RevokedAt},
	}
}

// revokeKey revokes the key whose text or id is the argument.
type revokeKey struct {
	ChangeFlags
	Key string `arg:"" name:"key-or-id"`
}

func (f *revokeKey) Run(ctx context.Context, c *call, operator operate.Operator) error {
	id, err := operator.RevokeKey(ctx, f.Key)
	if errors.Is(err, ports.ErrNotFound) {
		return errors.New(`there is no such key; "keys list" names them`) // what was typed may be a secret
	} else if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, "revoked", id)
	return err
}

func noProvider(code string) error { return fmt.Errorf("there is no provider %q", code) }
