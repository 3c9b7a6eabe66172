package operate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// ErrNoProvider: there is no such provider.
var ErrNoProvider = errors.New("there is no such provider")

// provider returns the provider with a code, or ErrNoProvider.
func (o Operator) provider(ctx context.Context, code string) (catalogue.Provider, error) {
	list, err := o.Store.Providers(ctx, code)
	switch {
	case err != nil:
		return catalogue.Provider{}, fmt.Errorf("read provider %s: %w", code, err)
	case len(list) == 0:
		return catalogue.Provider{}, ErrNoProvider
	}
	return list[0], nil
}

// KeyOptions are the choices for a new API key. The zero KeyOptions is a key without a label that never expires.
type KeyOptions struct {
	Label     string
	ExpiresAt time.Time
}

// maxLabel is the length of the longest label of a key, in characters.
const maxLabel = 80

// Check returns the options as they are stored, or what is wrong with them.
func (k KeyOptions) Check(now time.Time) (KeyOptions, error) {
	k.Label = text.Normalize(k.Label)
	switch fault := text.CheckReadable(k.Label); {
	case k.Label != "" && fault != "":
		return k, errors.New("the label " + fault)
	case utf8.RuneCountInString(k.Label) > maxLabel:
		return k, fmt.Errorf("the label must be at most %d characters", maxLabel)
	case !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now):
		return k, errors.New("the key would have expired already")
	}
	return k, nil
}

// IssueKey stores a new API key of a provider, for the provider's environment, and returns its text, which nothing keeps. The error is
// ErrNoProvider, a fault of the options, or a failure.
func (o Operator) IssueKey(ctx context.Context, provider string, with KeyOptions) (string, error) {
	with, err := with.Check(o.Now())
	if err != nil {
		return "", err
	}
	p, err := o.provider(ctx, provider)
	if err != nil {
		return "", err
	}
	var entropy [32]byte
	if _, err := io.ReadFull(o.Rand, entropy[:]); err != nil {
		return "", fmt.Errorf("generate a key: %w", err)
	}
	now := o.now()
	secret, key := catalogue.NewKey(p.Code, p.Environment, now, entropy)
	key.Label, key.ExpiresAt = with.Label, with.ExpiresAt.UTC()
	act, err := o.act("keys issue", key.ID, p.Code, "+ "+describe(key))
	if err != nil {
		return "", err
	}
	if err := o.Store.AddKey(ctx, key, act); err != nil {
		return "", fmt.Errorf("store key %s: %w", key.ID, err)
	}
	return secret, nil
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
	act, err := o.act("keys revoke", id, all[i].Provider, "- "+describe(all[i])+", live → revoked")
	if err != nil {
		return "", err
	}
	if err := o.Store.RevokeKey(ctx, id, act.At, act); err != nil {
		return "", fmt.Errorf("revoke key: %w", err)
	}
	return id, nil
}

// describe returns which key it is, without anything secret.
func describe(k catalogue.Key) string {
	said := fmt.Sprintf("key %s: of provider %s, for %s", k.ID, k.Provider, k.Environment)
	if k.Label != "" {
		said += fmt.Sprintf(", %q", k.Label)
	}
	if !k.ExpiresAt.IsZero() {
		said += ", until " + k.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return said
}
