package secrets_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

func secret(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

// noise is randomness that is the same in every run.
func noise() io.Reader { return rand.NewChaCha8([32]byte{}) }

func encrypter(t *testing.T, given ...[]byte) *secrets.Encrypter {
	t.Helper()
	b, err := secrets.New(given, noise())
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	return b
}

func encrypted(t *testing.T, e *secrets.Encrypter, text, data string) []byte {
	t.Helper()
	s, err := e.Encrypt([]byte(text), data)
	if err != nil {
		t.Fatalf("Encrypt: %v", err)
	}
	return s
}

func TestDecrypt(t *testing.T) {
	e := encrypter(t, secret('a'), secret('b'))
	good := encrypted(t, e, "whsec_0123456789", "webhook/KOWHAI")
	for _, tt := range []struct {
		name string
		with *secrets.Encrypter
		data string
		ok   bool
	}{
		{"the same encrypter decrypts", e, "webhook/KOWHAI", true},
		{"one with its first secret decrypts", encrypter(t, secret('a')), "webhook/KOWHAI", true},
		{"one with its second secret does not decrypt", encrypter(t, secret('b')), "webhook/KOWHAI", false},
		{"one decrypts under any of its secrets", encrypter(t, secret('c'), secret('a')), "webhook/KOWHAI", true},
		{"another secret does not decrypt", encrypter(t, secret('c')), "webhook/KOWHAI", false},
		{"other associated data does not decrypt", e, "webhook/RIMU", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plain, err := tt.with.Decrypt(good, tt.data)
			if tt.ok && (err != nil || string(plain) != "whsec_0123456789") {
				t.Errorf("Decrypt = %q, %v; want the text that was encrypted", plain, err)
			}
			if !tt.ok && !errors.Is(err, secrets.ErrDecrypt) {
				t.Errorf("Decrypt = %q, %v; want ErrDecrypt", plain, err)
			}
		})
	}
}

func TestEveryFlippedBitShows(t *testing.T) {
	e := encrypter(t, secret('a'))
	good := encrypted(t, e, "text", "data")
	for i := range len(good) * 8 {
		bad := bytes.Clone(good)
		bad[i/8] ^= 1 << (i % 8)
		if plain, err := e.Decrypt(bad, "data"); !errors.Is(err, secrets.ErrDecrypt) {
			t.Errorf("Decrypt with bit %d flipped = %q, %v; want ErrDecrypt", i, plain, err)
		}
	}
	for n := range good {
		if plain, err := e.Decrypt(good[:n], "data"); !errors.Is(err, secrets.ErrDecrypt) {
			t.Errorf("Decrypt of the first %d bytes = %q, %v; want ErrDecrypt", n, plain, err)
		}
	}
}

func TestDecryptReturnsWhatWasEncrypted(t *testing.T) {
	e := encrypter(t, secret('a'))
	rapid.Check(t, func(t *rapid.T) {
		plain := rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		data := rapid.String().Draw(t, "data")
		s, err := e.Encrypt(plain, data)
		if err != nil {
			t.Fatalf("Encrypt: %v", err)
		}
		if len(plain) >= 4 && bytes.Contains(s, plain) {
			t.Errorf("the ciphertext %x shows the plain %x", s, plain)
		}
		again, err := e.Encrypt(plain, data)
		if err != nil || bytes.Equal(s, again) {
			t.Errorf("encrypted twice: %x and %x, %v; want them to differ", s, again, err)
		}
		got, err := e.Decrypt(s, data)
		if err != nil || !bytes.Equal(got, plain) {
			t.Errorf("Decrypt(Encrypt(%x)) = %x, %v", plain, got, err)
		}
	})
}

func TestFingerprints(t *testing.T) {
	two := encrypter(t, secret('a'), secret('b')).Fingerprints()
	if len(two) != 2 || two[0] == two[1] {
		t.Fatalf("Fingerprints of two secrets = %q, want two different ones", two)
	}
	if one := encrypter(t, secret('b')).Fingerprints(); one[0] != two[1] {
		t.Errorf("Fingerprints = %q, want %q: they depend on the secret alone", one, two[1])
	}
}

func TestNewRefuses(t *testing.T) {
	for name, given := range map[string][][]byte{
		"no secret":             nil,
		"a secret of 31 bytes":  {secret('a')[:31]},
		"a short second secret": {secret('a'), []byte("short")},
	} {
		if _, err := secrets.New(given, noise()); err == nil {
			t.Errorf("New with %s: got no error", name)
		}
	}
}

func TestEncryptWithoutRandomness(t *testing.T) {
	dry := errors.New("dry")
	e, err := secrets.New([][]byte{secret('a')}, iotest.ErrReader(dry))
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	if s, err := e.Encrypt([]byte("text"), "data"); !errors.Is(err, dry) {
		t.Errorf("Encrypt = %x, %v; want the error of the source", s, err)
	}
}

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
