package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money/text"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Change is configuration that takes the place of what is on record.
type Change struct {
	Named            []catalogue.Configuration // replaced whole; they have passed their Check
	Prune            bool                      // providers that are not named are removed; else they stay
	KeepDestinations bool                      // the destination of a provider's events and its rate stay as they are; a new provider has neither
	DryRun           bool                      // nothing is stored
	Expect           string                    // catalogue.Revision of what must be on record before; "" for any
}

// ErrOtherRevision: somebody has changed the providers since the revision that a change expects.
var ErrOtherRevision = errors.New("somebody has changed the providers since")

// errNothingToStore ends a change without a write.
var errNothingToStore = errors.New("nothing to store")

// Configure makes a change of the providers under the name of an operation, and returns what differs, a line each, and the revision
// that is on record then. Nothing is stored if nothing differs. The error wraps ErrOtherRevision where Change.Expect is not met.
func (o Operator) Configure(ctx context.Context, name string, c Change) (differences []string, revision string, err error) {
	return o.replace(ctx, name, c.DryRun, c.On)
}

// replace stores what edit makes of the providers, unless nothing differs or dry is set. It returns what differs, and the revision that
// is on record then.
func (o Operator) replace(ctx context.Context, name string, dry bool,
	edit func([]catalogue.Configuration) ([]catalogue.Configuration, error)) (differences []string, revision string, err error) {
	err = o.Store.ReplaceProviders(ctx, func(before []catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
		after, err := edit(before)
		if err != nil {
			return nil, nil, err
		}
		revision = catalogue.Revision(before)
		if differences = catalogue.Diff(before, after); dry || len(differences) == 0 {
			return nil, nil, errNothingToStore
		}
		revision = catalogue.Revision(after)
		acts, err := o.changes(name, before, after)
		return after, acts, err
	})
	if err != nil && !errors.Is(err, errNothingToStore) {
		return nil, "", err
	}
	return differences, revision, nil
}

// changes returns an act for each provider that differs.
func (o Operator) changes(name string, before, after []catalogue.Configuration) (acts []checkout.Act, err error) {
	only := func(list []catalogue.Configuration, code string) []catalogue.Configuration {
		return slices.DeleteFunc(slices.Clone(list), func(c catalogue.Configuration) bool { return c.Provider.Code != code })
	}
	codes := map[string]bool{}
	for _, c := range slices.Concat(before, after) {
		codes[c.Provider.Code] = true
	}
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		differences := catalogue.Diff(only(before, code), only(after, code))
		if len(differences) == 0 {
			continue
		}
		act, err := o.act(name, code, code, differences...)
		if err != nil {
			return nil, err
		}
		acts = append(acts, act)
	}
	return acts, nil
}

// SetDisabled refuses or accepts a provider's calls. Nothing is recorded if that is so already. ErrNoProvider if there is no such
// provider.
func (o Operator) SetDisabled(ctx context.Context, code string, disabled bool) error {
	name := "providers enable"
	if disabled {
		name = "providers disable"
	}
	_, _, err := o.replace(ctx, name, false, func(before []catalogue.Configuration) ([]catalogue.Configuration, error) {
		i := slices.IndexFunc(before, func(c catalogue.Configuration) bool { return c.Provider.Code == code })
		if i < 0 {
			return nil, ErrNoProvider
		}
		after := slices.Clone(before)
		after[i].Provider.Disabled = disabled
		return after, nil
	})
	return err
}

// On returns what is on record after the change, in the order of the provider codes. A provider that is disabled stays disabled.
func (c Change) On(before []catalogue.Configuration) (after []catalogue.Configuration, err error) {
	if revision := catalogue.Revision(before); c.Expect != "" && c.Expect != revision {
		return nil, fmt.Errorf("on record is revision %s: %w", revision, ErrOtherRevision)
	}
	after = slices.Clone(c.Named)
	named := make(map[string]*catalogue.Configuration, len(after))
	for i := range after {
		named[after[i].Provider.Code] = &after[i]
	}
	var others []catalogue.Configuration
	var faults []error
	for _, b := range before {
		now := named[b.Provider.Code]
		if now != nil {
			now.Provider.Disabled = b.Provider.Disabled
		}
		switch {
		case now != nil && c.KeepDestinations:
			now.Provider.Destination, now.Provider.RateLimit = b.Provider.Destination, b.Provider.RateLimit
			for _, f := range now.Check() {
				faults = append(faults, fmt.Errorf("provider %s: %s on record %s", b.Provider.Code, f.Place, f.Message))
			}
		case now == nil && !c.Prune:
			others = append(others, b)
		}
	}
	after = append(after, others...)
	slices.SortFunc(after, func(a, b catalogue.Configuration) int { return cmp.Compare(a.Provider.Code, b.Provider.Code) })
	return after, errors.Join(faults...)
}

// ErrNoProvider: there is no such provider.
var ErrNoProvider = errors.New("there is no such provider")

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
	list, err := o.Store.Providers(ctx, provider)
	switch {
	case err != nil:
		return "", fmt.Errorf("read provider %s: %w", provider, err)
	case len(list) == 0:
		return "", ErrNoProvider
	}
	p := list[0]
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
