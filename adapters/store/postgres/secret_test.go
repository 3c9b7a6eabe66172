package postgres_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/agreement/evidence"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

const (
	signing = "whsec_0123456789abcdefghijklmnop"
	former  = "whsec_ponmlkjihgfedcba9876543210"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func under(secrets ...[]byte) postgres.Options { return postgres.Options{Secrets: secrets} }

func configure(t *testing.T, db *postgres.DB) {
	t.Helper()
	err := db.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, *evidence.Entry, error) {
		return []catalogue.Configuration{
			{Provider: catalogue.Provider{
				Code: "KOWHAI", Destination: catalogue.Destination{URL: "https://hooks.example", Secret: signing, PreviousSecret: former, PreviousUntil: time.Unix(1, 0)},
			}},
			{Provider: catalogue.Provider{Code: "RIMU"}},
		}, nil, nil
	})
	if err != nil {
		t.Fatalf("ReplaceProviders: %v", err)
	}
}

func decrypts(t *testing.T, db *postgres.DB) {
	t.Helper()
	p, err := db.Provider(t.Context(), "KOWHAI")
	if err != nil || p.Destination.Secret != signing || p.Destination.PreviousSecret != former {
		t.Errorf("signing secret = %q, %v; want the one that was stored", p.Destination.Secret, err)
	}
}

func TestWebhookSecretsAreEncrypted(t *testing.T) {
	url := postgrestest.URL(t)
	configure(t, open(t, url, under(secret('a'))))
	var encrypted, clear int
	err := connect(t, url).QueryRow(t.Context(), `SELECT count(webhook_secret) + count(previous_webhook_secret), count(*) FILTER (
		WHERE position('whsec'::bytea IN webhook_secret) > 0 OR position('whsec'::bytea IN previous_webhook_secret) > 0) FROM providers`).Scan(&encrypted, &clear)
	if err != nil || encrypted != 2 || clear != 0 {
		t.Errorf("secrets = %d, in the clear %d, %v; want two, encrypted", encrypted, clear, err)
	}
}

func TestWebhookSecretDecryptsForItsProviderOnly(t *testing.T) {
	url := postgrestest.URL(t)
	db := open(t, url, under(secret('a')))
	configure(t, db)
	execute(t, connect(t, url), `UPDATE providers SET webhook_secret =
		(SELECT webhook_secret FROM providers WHERE code = 'KOWHAI') WHERE code = 'RIMU'`)
	if p, err := db.Provider(t.Context(), "RIMU"); err == nil {
		t.Errorf("Provider with another's secret = %+v, want an error", p)
	}
	execute(t, connect(t, url), `UPDATE providers SET webhook_secret = previous_webhook_secret WHERE code = 'KOWHAI'`)
	if p, err := db.Provider(t.Context(), "KOWHAI"); err == nil {
		t.Errorf("Provider with its previous secret as the current one = %+v, want an error", p)
	}
}

// kept is the secret that the store keeps of its own.
func kept(t *testing.T, url string) (own string) {
	t.Helper()
	if err := connect(t, url).QueryRow(t.Context(), `SELECT coalesce(own_secret, '') FROM store`).Scan(&own); err != nil {
		t.Fatal(err)
	}
	return own
}

func TestOwnSecret(t *testing.T) {
	url := postgrestest.URL(t)
	first := open(t, url, postgres.Options{Environment: catalogue.Sandbox})
	configure(t, first)
	own := []byte(kept(t, url))
	if len(own) != 64 || len(first.Secrets()) != 1 || !bytes.Equal(first.Secrets()[0], own) {
		t.Errorf("Secrets = %q, want the 64 digits on record, %q", first.Secrets(), own)
	}
	t.Run("it is used again", func(t *testing.T) {
		decrypts(t, open(t, url, postgres.Options{}))
	})
	t.Run("it may be given, and left out again", func(t *testing.T) {
		decrypts(t, open(t, url, under(own)))
		decrypts(t, open(t, url, postgres.Options{}))
	})
	t.Run("another is refused, and changes nothing", func(t *testing.T) {
		openFails(t, url, under(secret('a')), "encrypted under another secret")
		decrypts(t, open(t, url, postgres.Options{}))
	})
	t.Run("the operator's takes over from it, and it is forgotten", func(t *testing.T) {
		decrypts(t, open(t, url, under(secret('a'), own)))
		openFails(t, url, under(own), "encrypted under another secret")
		openFails(t, url, postgres.Options{}, "none was given")
		if left := kept(t, url); left != "" {
			t.Errorf("the store keeps %q", left)
		}
	})
}

func TestProduction(t *testing.T) {
	production := postgres.Options{Environment: catalogue.Production, Secrets: [][]byte{secret('a')}}
	t.Run("needs a given secret", func(t *testing.T) {
		url := postgrestest.URL(t)
		open(t, url, production)
		openFails(t, url, postgres.Options{}, "production needs the operator's secret")
	})
	t.Run("keeps no secret, even if the one given was made by the store", func(t *testing.T) {
		url := postgrestest.URL(t)
		own := open(t, url, postgres.Options{}).Secrets()
		open(t, url, postgres.Options{Environment: catalogue.Production, Secrets: own})
		if left := kept(t, url); left != "" {
			t.Errorf("the store keeps %q", left)
		}
	})
}
