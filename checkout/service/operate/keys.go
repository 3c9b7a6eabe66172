package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// ErrNoProvider: there is no such provider.
var ErrNoProvider = errors.New("there is no such provider")

// IssueKey stores a new API key of a provider and returns its text, which nothing keeps. An empty environment is the provider's
// own. The error is ErrNoProvider, or a failure.
func (o Operator) IssueKey(ctx context.Context, provider string, env catalogue.Environment) (string, error) {
	p, err := o.Store.Provider(ctx, provider)
	switch {
	case errors.Is(err, ports.ErrNotFound):
		return "", ErrNoProvider
	case err != nil:
		return "", fmt.Errorf("read provider %s: %w", provider, err)
	}
	var entropy [32]byte
	if _, err := io.ReadFull(o.Rand, entropy[:]); err != nil {
		return "", fmt.Errorf("generate a key: %w", err)
	}
	now := o.now()
	text, key := catalogue.NewKey(p.Code, cmp.Or(env, p.Environment), now, entropy)
	entry, err := o.entry(evidence.Operation{Name: "keys issue", Subject: key.ID, Changes: []string{"+ " + describe(key)}}, now)
	if err != nil {
		return "", err
	}
	if err := o.Store.AddKey(ctx, key, &entry); err != nil {
		return "", fmt.Errorf("store key %s: %w", key.ID, err)
	}
	return text, nil
}

// RevokeKey revokes the API key with this text or id, and returns its id. ports.ErrNotFound if there is no such key; the error does not
// repeat what may be a secret.
func (o Operator) RevokeKey(ctx context.Context, keyOrID string) (id string, err error) {
	all, err := o.Store.Keys(ctx)
	if err != nil {
		return "", fmt.Errorf("read the keys: %w", err)
	}
	id = catalogue.KeyID(keyOrID)
	i := slices.IndexFunc(all, func(k catalogue.Key) bool { return k.ID == id })
	if i < 0 {
		return "", fmt.Errorf("key: %w", ports.ErrNotFound)
	}
	now := o.now()
	change := "- " + describe(all[i]) + ", live → revoked"
	entry, err := o.entry(evidence.Operation{Name: "keys revoke", Subject: id, Changes: []string{change}}, now)
	if err != nil {
		return "", err
	}
	if err := o.Store.RevokeKey(ctx, id, now, &entry); err != nil {
		return "", fmt.Errorf("revoke key: %w", err)
	}
	return id, nil
}

// describe returns which key it is, without anything secret.
func describe(k catalogue.Key) string {
	return fmt.Sprintf("key %s: of provider %s, for %s", k.ID, k.Provider, k.Environment)
}
