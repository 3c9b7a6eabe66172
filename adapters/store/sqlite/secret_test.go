package sqlite_test

import (
	"os"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

const (
	signing = "whsec_0123456789abcdefghijklmnop"
)

func under(secrets ...[]byte) sqlite.Options { return sqlite.Options{Secrets: secrets} }

func configure(t *testing.T, db *sqlite.DB) {
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

func decrypts(t *testing.T, db *sqlite.DB) {
	t.Helper()
	p, err := db.Provider(t.Context(), "KOWHAI")
	if err != nil || p.Destination.Secret != signing {
		t.Errorf("signing secret = %q, %v; want the one that was stored", p.Destination.Secret, err)
	}
}

func TestWebhookSecretsAreEncrypted(t *testing.T) {
	path := file(t)
	db := open(t, path, under(secret('a')))
	configure(t, db)
	decrypts(t, db)
	for _, suffix := range []string{"", "-wal"} {
		if data := read(t, path+suffix); strings.Contains(data, signing) {
			t.Errorf("store%s holds the signing secret in the clear", suffix)
		}
	}
	var encrypted int
	err := shell(t, path).QueryRow(`SELECT count(webhook_secret) FROM providers`).Scan(&encrypted)
	if err != nil || encrypted != 1 {
		t.Errorf("encrypted secrets = %d, %v; want 1", encrypted, err)
	}
}

func TestOwnSecret(t *testing.T) {
	path := file(t)
	first := open(t, path, sqlite.Options{Environment: catalogue.Sandbox})
	configure(t, first)
	own := strings.TrimSpace(read(t, path+".secret"))
	if len(own) != 64 || len(first.Secrets()) != 1 || string(first.Secrets()[0]) != own {
		t.Errorf("Secrets = %q, want the 64 digits of the file, %q", first.Secrets(), own)
	}
	rename(t, path+".secret", path+".lost")
	openFails(t, path, sqlite.Options{}, "put it back")
	if _, err := os.Stat(path + ".secret"); err == nil {
		t.Error("a secret was made that decrypts nothing")
	}
}

func TestProductionMakesNoSecret(t *testing.T) {
	path := file(t)
	open(t, path, sqlite.Options{Environment: catalogue.Production, Secrets: [][]byte{secret('a')}})
	openFails(t, path, sqlite.Options{}, "production needs the operator's secret")
	if _, err := os.Stat(path + ".secret"); err == nil {
		t.Error("a secret was made for a production store")
	}
}

func TestShortSecretFileIsRefused(t *testing.T) {
	path := file(t)
	write(t, path+".secret", "short\n")
	openFails(t, path, sqlite.Options{}, "at least 32")
}
