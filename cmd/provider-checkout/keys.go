package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/audit"
	"github.com/provider-checkout/provider-checkout/ports"
)

// issueKey creates a key and prints nothing else.
func issueKey(ctx context.Context, c *call) error {
	db, err := c.openRecords(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	trail, err := c.trail(db)
	if err != nil {
		return err
	}
	text, err := newKey(ctx, db, trail, c.reason, c.provider, c.environment)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, text)
	return err
}

// newKey stores a new key of a provider and returns its text. An empty env means the provider's own.
func newKey(ctx context.Context, db ports.Admin, trail audit.Trail, reason, provider string, env catalogue.Environment) (string, error) {
	p, err := db.Provider(ctx, provider)
	if errors.Is(err, ports.ErrNotFound) {
		return "", fmt.Errorf("there is no provider %q", provider)
	} else if err != nil {
		return "", fmt.Errorf("read provider %s: %w", provider, err)
	}
	var entropy [32]byte
	rand.Read(entropy[:])
	text, key := catalogue.NewKey(p.Code, cmp.Or(env, p.Environment), time.Now(), entropy)
	did, err := trail.Did("keys issue", key.ID, reason, "+ "+describe(key))
	if err != nil {
		return "", err
	}
	if err := db.AddKey(ctx, key, &did); err != nil {
		return "", fmt.Errorf("store key %s: %w", key.ID, err)
	}
	return text, nil
}

// describe returns which key it is, without anything secret.
func describe(k catalogue.Key) string {
	return fmt.Sprintf("key %s: of provider %s, for %s", k.ID, k.Provider, k.Environment)
}

// listKeys prints one line for each key.
func listKeys(ctx context.Context, c *call) error {
	db, err := c.openRecords(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
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
func revokeKey(ctx context.Context, c *call) error {
	db, err := c.openRecords(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	trail, err := c.trail(db)
	if err != nil {
		return err
	}
	all, err := db.Keys(ctx)
	if err != nil {
		return fmt.Errorf("read the keys: %w", err)
	}
	id := catalogue.KeyID(c.Args[0])
	i := slices.IndexFunc(all, func(k catalogue.Key) bool { return k.ID == id })
	if i < 0 {
		return errors.New(`there is no such key; "keys list" names them`) // the argument may be a secret
	}
	did, err := trail.Did("keys revoke", id, c.reason, "- "+describe(all[i])+", live → revoked")
	if err != nil {
		return err
	}
	if err := db.RevokeKey(ctx, id, time.Now(), &did); err != nil {
		return fmt.Errorf("revoke key: %w", err)
	}
	_, err = fmt.Fprintln(c.Stdout, "revoked", id)
	return err
}
