package secrets_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

func TestAuthorize(t *testing.T) {
	const sandbox, production = catalogue.Sandbox, catalogue.Production
	a, b, own := secret('a'), secret('b'), secret('o')
	print := func(s []byte) string { return encrypter(t, s).Fingerprints()[0] }
	for _, tt := range []struct {
		name    string
		stamp   secrets.Stamp
		request secrets.Request
		says    string // of the refusal, if there is to be one
		want    secrets.Grant
	}{
		{"a new store with the operator's secret", secrets.Stamp{}, secrets.Request{Environment: production, Secrets: [][]byte{a}}, "",
			secrets.Grant{Stamp: secrets.Stamp{Environment: production, Fingerprint: print(a)}, Secrets: [][]byte{a}}},
		{"a new store without a secret", secrets.Stamp{}, secrets.Request{Environment: sandbox}, "",
			secrets.Grant{Stamp: secrets.Stamp{Environment: sandbox, Fingerprint: print(own)}, Secrets: [][]byte{own}}},
		{"a command on a new store, which it does not bind", secrets.Stamp{}, secrets.Request{}, "",
			secrets.Grant{Stamp: secrets.Stamp{Fingerprint: print(own)}, Secrets: [][]byte{own}}},
		{"a command on a store of production", secrets.Stamp{Environment: production}, secrets.Request{Secrets: [][]byte{a}}, "",
			secrets.Grant{Stamp: secrets.Stamp{Environment: production, Fingerprint: print(a)}, Secrets: [][]byte{a}}},
		{"the store's own secret", secrets.Stamp{Fingerprint: print(own)}, secrets.Request{}, "",
			secrets.Grant{Stamp: secrets.Stamp{Fingerprint: print(own)}, Secrets: [][]byte{own}}},
		{"a rotated secret", secrets.Stamp{Fingerprint: print(a)}, secrets.Request{Secrets: [][]byte{b, a}}, "",
			secrets.Grant{Stamp: secrets.Stamp{Fingerprint: print(b)}, Secrets: [][]byte{b, a}, Reencrypt: true}},
		{"another secret", secrets.Stamp{Fingerprint: print(a)}, secrets.Request{Secrets: [][]byte{b}}, "encrypted under another secret",
			secrets.Grant{}},
		{"another environment", secrets.Stamp{Environment: production, Fingerprint: print(a)},
			secrets.Request{Environment: sandbox, Secrets: [][]byte{a}}, "belongs to the production environment", secrets.Grant{}},
		{"production without a secret", secrets.Stamp{Environment: production}, secrets.Request{}, "production needs the operator's secret",
			secrets.Grant{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			grant, err := tt.request.Authorize(tt.stamp, func(isNew bool) ([]byte, error) {
				if isNew != (tt.stamp.Fingerprint == "") {
					t.Errorf("the store's own secret is asked for as new: %v", isNew)
				}
				return own, nil
			})
			if tt.says != "" {
				if err == nil || !strings.Contains(err.Error(), tt.says) {
					t.Errorf("Authorize: got error %v, want one that says %q", err, tt.says)
				}
				return
			}
			if err != nil || grant.Stamp != tt.want.Stamp || grant.Reencrypt != tt.want.Reencrypt ||
				!bytes.Equal(bytes.Join(grant.Secrets, nil), bytes.Join(tt.want.Secrets, nil)) || grant.Encrypter == nil {
				t.Errorf("Authorize = %+v, %v; want %+v", grant, err, tt.want)
			}
		})
	}
}

func TestCheckRefusesWhatNoStoreCanGrant(t *testing.T) {
	for says, r := range map[string]secrets.Request{
		"not an environment":                     {Environment: "test"},
		"production needs the operator's secret": {Environment: catalogue.Production},
		"at least 32":                            {Secrets: [][]byte{[]byte("short")}},
	} {
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("Check of %+v: got error %v, want one that says %q", r, err, says)
		}
	}
	if err := (secrets.Request{Environment: catalogue.Sandbox}).Check(); err != nil {
		t.Errorf("Check of a sandbox without a secret: %v", err)
	}
}

func TestNewSecretIsTheTextOfRandomBytes(t *testing.T) {
	got, err := secrets.NewSecret(strings.NewReader(strings.Repeat("\x0f", 32)))
	if want := strings.Repeat("0f", 32); err != nil || got != want {
		t.Errorf("NewSecret = %q, %v; want %q", got, err, want)
	}
	if got, err := secrets.NewSecret(strings.NewReader("too few")); err == nil {
		t.Errorf("NewSecret of too little randomness = %q, want an error", got)
	}
}
