package storetest

import (
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Keys tests a store against what ports.Configuration and ports.Configurer promise about API keys.
func Keys(t *testing.T, open Open) {
	run(t, open, []promise{
		{"a key comes back as it was stored, whether its provider is configured or not", func(t *testing.T, s ports.Admin) {
			want := key(1)
			want.Environment = catalogue.Production
			want.CreatedAt = time.Date(2026, time.November, 20, 17, 4, 5, 6_999_999, time.FixedZone("NZDT", 13*60*60))
			addKeys(t, s, key(2), want)
			want.CreatedAt = want.CreatedAt.UTC().Truncate(time.Millisecond)
			gets(t, "key", want)(s.Key(t.Context(), want.Hash))
		}},
		{"keys come in the order of their creation", func(t *testing.T, s ports.Admin) {
			same(t, "keys of a new store", len(allKeys(t, s)), 0)
			made := []catalogue.Key{key(3), key(1), key(2)}
			addKeys(t, s, made...)
			same(t, "keys", allKeys(t, s), []catalogue.Key{key(1), key(2), key(3)})
		}},
		{"a key that does not exist is not found", func(t *testing.T, s ports.Admin) {
			addKeys(t, s, key(1))
			missing(t, "Key")(s.Key(t.Context(), key(2).Hash))
			refused(t, "RevokeKey", s.RevokeKey(t.Context(), "id2", at(9), nil), ports.ErrNotFound)
			same(t, "keys", allKeys(t, s), []catalogue.Key{key(1)})
		}},
		{"an id and a hash are taken once", func(t *testing.T, s ports.Admin) {
			addKeys(t, s, key(1))
			sameID, sameHash := key(2), key(2)
			sameID.ID, sameHash.Hash = key(1).ID, key(1).Hash
			refused(t, "AddKey of a taken id", s.AddKey(t.Context(), sameID, nil), ports.ErrDuplicate)
			refused(t, "AddKey of a taken hash", s.AddKey(t.Context(), sameHash, nil), ports.ErrDuplicate)
			same(t, "keys", allKeys(t, s), []catalogue.Key{key(1)})
		}},
		{"a revoked key is found, with the time of its revocation", func(t *testing.T, s ports.Admin) {
			addKeys(t, s, key(1), key(2))
			must(t, "RevokeKey", s.RevokeKey(t.Context(), key(1).ID, at(9), nil))
			want := key(1)
			want.RevokedAt = at(9)
			gets(t, "key", want)(s.Key(t.Context(), want.Hash))
			same(t, "keys", allKeys(t, s), []catalogue.Key{want, key(2)})
		}},
		{"a key has the latest day on which it was used", func(t *testing.T, s ports.Admin) {
			addKeys(t, s, key(1), key(2))
			for _, day := range []string{"2026-11-20", "2026-11-22", "2026-11-21"} {
				must(t, "UseKeys", s.UseKeys(t.Context(), []string{key(1).ID, "id of no key"}, day))
			}
			want := key(1)
			want.LastUsed = "2026-11-22"
			same(t, "keys", allKeys(t, s), []catalogue.Key{want, key(2)})
		}},
		{"many concurrent keys are all stored", manyKeys},
		{"of many concurrent keys of one id one succeeds", concurrentKeys},
	})
}

func allKeys(t *testing.T, s ports.Admin) []catalogue.Key {
	t.Helper()
	return result(s.Keys(t.Context()))(t)
}

func manyKeys(t *testing.T, s ports.Admin) {
	allSucceed(t, "AddKey", many, func(i int) error { return s.AddKey(t.Context(), key(i), nil) })
	same(t, "keys", len(allKeys(t, s)), many)
}

func concurrentKeys(t *testing.T, s ports.Admin) {
	errs := concurrently(many, func(i int) error {
		k := key(i)
		k.ID = "id"
		return s.AddKey(t.Context(), k, nil)
	})
	winner := oneWins(t, "AddKey", errs, ports.ErrDuplicate)
	want := key(winner)
	want.ID = "id"
	same(t, "keys", allKeys(t, s), []catalogue.Key{want})
}
