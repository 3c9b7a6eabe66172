package postgres_test

import (
	"bytes"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	signing = "whsec_0123456789abcdefghijklmnop"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func under(secrets ...[]byte) postgres.Options { return postgres.Options{Secrets: secrets} }

func configure(t *testing.T, db *postgres.DB) {
	t.Helper()
	err := db.ReplaceProviders(t.Context(), func([]catalogue.Configuration) ([]catalogue.Configuration, *checkout.Act, error) {
		return []catalogue.Configuration{
			{Provider: catalogue.Provider{
				Code: "KOWHAI", Destination: catalogue.Destination{URL: "https://hooks.example", Secret: signing},
			}},
			{Provider: catalogue.Provider{Code: "RIMU"}},
		}, nil, nil
	})
	if err != nil {
		t.Fatalf("ReplaceProviders: %v", err)
	}
}

func TestWebhookSecretsAreEncrypted(t *testing.T) {
	url := postgrestest.URL(t)
	configure(t, open(t, url, under(secret('a'))))
	var encrypted, clear int
	err := connect(t, url).QueryRow(t.Context(), `SELECT count(webhook_secret), count(*) FILTER (
		WHERE position('whsec'::bytea IN webhook_secret) > 0) FROM providers`).Scan(&encrypted, &clear)
	if err != nil || encrypted != 1 || clear != 0 {
		t.Errorf("secrets = %d, in the clear %d, %v; want one, encrypted", encrypted, clear, err)
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
	open(t, url, under(secret('a'), own))
	openFails(t, url, postgres.Options{}, "none was given")
	if left := kept(t, url); left != "" {
		t.Errorf("the store keeps %q after the operator's secret has taken over", left)
	}
}

func TestProductionKeepsNoSecret(t *testing.T) {
	url := postgrestest.URL(t)
	own := open(t, url, postgres.Options{}).Secrets()
	open(t, url, postgres.Options{Environment: catalogue.Production, Secrets: own})
	if left := kept(t, url); left != "" {
		t.Errorf("the store keeps %q, which it made itself", left)
	}
}
