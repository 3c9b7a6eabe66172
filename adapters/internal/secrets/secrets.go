// Package secrets encrypts what a store must not keep in plain text, under keys derived from the operator's secrets,
// and decides whether a store may be opened: [Request.Authorize]. It uses AES-256-GCM, with keys derived by
// HKDF-SHA256.
package secrets

import (
	"cmp"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// ErrDecrypt: the ciphertext was encrypted under another secret or with other associated data, or it is damaged.
var ErrDecrypt = errors.New("encrypted under another secret, for another provider, or damaged")

// Encrypter encrypts under the first secret and decrypts under all. It is safe for concurrent use if its source of
// randomness is.
type Encrypter struct {
	keys []key
	rand io.Reader
}

type key struct {
	fingerprint string
	aead        cipher.AEAD
}

// New derives the keys from the operator's secrets, of at least checkout.MinSecret bytes each.
func New(secrets [][]byte, random io.Reader) (*Encrypter, error) {
	if len(secrets) == 0 {
		return nil, errors.New("no secret to encrypt with")
	}
	if err := checkout.CheckSecrets(secrets); err != nil {
		return nil, err
	}
	e := &Encrypter{rand: cmp.Or(random, rand.Reader)}
	for i, s := range secrets {
		k, err := derive(s)
		if err != nil {
			return nil, fmt.Errorf("derive a key from secret %d of %d: %w", i+1, len(secrets), err)
		}
		e.keys = append(e.keys, k)
	}
	return e, nil
}

// derive returns the key of a secret. The encryption key and the fingerprint are derived under different labels, so
// that neither reveals the other or the secret. The labels are part of the format.
func derive(secret []byte) (k key, err error) {
	encryption, err := hkdf.Key(sha256.New, secret, nil, "provider-checkout seal v1", 32)
	if err != nil {
		return k, err
	}
	fingerprint, err := hkdf.Key(sha256.New, secret, nil, "provider-checkout fingerprint v1", 16)
	if err != nil {
		return k, err
	}
	block, err := aes.NewCipher(encryption)
	if err != nil {
		return k, err
	}
	k.aead, err = cipher.NewGCM(block)
	k.fingerprint = hex.EncodeToString(fingerprint)
	return k, err
}

// Fingerprints returns what identifies the secrets without revealing them, in their order.
func (e *Encrypter) Fingerprints() []string {
	all := make([]string, len(e.keys))
	for i, k := range e.keys {
		all[i] = k.fingerprint
	}
	return all
}

// Encrypt encrypts plain with associated data, which names its owner (such as "webhook/KOWHAI"). The ciphertext is the nonce, and the
// output of GCM.
func (e *Encrypter) Encrypt(plain []byte, associatedData string) ([]byte, error) {
	aead := e.keys[0].aead
	nonce := make([]byte, aead.NonceSize())
	if _, err := io.ReadFull(e.rand, nonce); err != nil {
		return nil, fmt.Errorf("encrypt %s: %w", associatedData, err)
	}
	return aead.Seal(nonce, nonce, plain, []byte(associatedData)), nil
}

// Decrypt decrypts what Encrypt returned for the same associated data, or returns ErrDecrypt.
func (e *Encrypter) Decrypt(ciphertext []byte, associatedData string) ([]byte, error) {
	for _, k := range e.keys {
		n := k.aead.NonceSize()
		if len(ciphertext) < n {
			break
		}
		if plain, err := k.aead.Open(nil, ciphertext[:n], ciphertext[n:], []byte(associatedData)); err == nil {
			return plain, nil
		}
	}
	return nil, fmt.Errorf("decrypt %s: %w", associatedData, ErrDecrypt)
}

// ErrNoSecret: a store of production does not open without the operator's secret.
var ErrNoSecret = errors.New("production needs the operator's secret: none was given")

// Stamp is a store's record of the servers that may open it. A new store has the zero Stamp.
type Stamp struct {
	Environment catalogue.Environment // of the first server; "" before
	Fingerprint string                // of the secret that encrypts; "" before there is one
}

// Request is a request to open a store.
type Request struct {
	Environment catalogue.Environment // "" for an operator's command
	Secrets     [][]byte              // the operator's; empty for the store's own secret
	Rand        io.Reader             // crypto/rand if nil
}

// Grant is the result of an authorized Request.
type Grant struct {
	Stamp     Stamp // to be recorded
	Secrets   [][]byte
	Encrypter *Encrypter
	Reencrypt bool // what is encrypted must be encrypted again under the first secret
}

// Check returns an error for a request that no store can grant.
func (r Request) Check() error {
	switch {
	case r.Environment != "" && !r.Environment.Valid():
		return fmt.Errorf("%q is not an environment", r.Environment)
	case len(r.Secrets) == 0 && r.Environment == catalogue.Production:
		return ErrNoSecret
	case len(r.Secrets) == 0:
		return nil
	}
	_, err := New(r.Secrets, nil)
	return err
}

// Authorize grants the request for the store with this stamp, or returns the reason for refusing it. own returns the
// store's own secret. It is called if the request has no secret and the store is not of production, and it generates
// a secret for a new store.
func (r Request) Authorize(stamp Stamp, own func(isNew bool) ([]byte, error)) (g Grant, err error) {
	if stamp.Environment != "" && r.Environment != "" && stamp.Environment != r.Environment {
		return g, fmt.Errorf("it belongs to the %s environment, and cannot be opened for %s", stamp.Environment, r.Environment)
	}
	g.Stamp.Environment, g.Secrets = cmp.Or(stamp.Environment, r.Environment), r.Secrets // a command binds a new store to nothing
	if len(g.Secrets) == 0 {
		if g.Stamp.Environment == catalogue.Production {
			return g, ErrNoSecret
		}
		secret, err := own(stamp.Fingerprint == "")
		if err != nil {
			return g, err
		}
		g.Secrets = [][]byte{secret}
	}
	if g.Encrypter, err = New(g.Secrets, r.Rand); err != nil {
		return g, err
	}
	all := g.Encrypter.Fingerprints()
	recorded := slices.Index(all, stamp.Fingerprint)
	if stamp.Fingerprint != "" && recorded < 0 {
		return g, errors.New("it is encrypted under another secret than the operator's: " +
			"give the secret that it was opened with before, or a new one followed by that one")
	}
	g.Stamp.Fingerprint, g.Reencrypt = all[0], recorded > 0
	return g, nil
}

// NewSecret generates a store's own secret: the hexadecimal text of 32 random bytes, of crypto/rand if random is nil.
func NewSecret(random io.Reader) (string, error) {
	secret := make([]byte, checkout.MinSecret)
	if _, err := io.ReadFull(cmp.Or(random, rand.Reader), secret); err != nil {
		return "", fmt.Errorf("make a secret: %w", err)
	}
	return hex.EncodeToString(secret), nil
}
