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

	"github.com/provider-checkout/provider-checkout/checkout"
)

// ErrDecrypt: the ciphertext was encrypted under another secret or with other associated data, or it is damaged.
var ErrDecrypt = errors.New("encrypted under another secret, for another provider, or damaged")

// A ciphertext is the version, the key's id, the nonce, and the output of GCM.
const (
	version   = 1
	idSize    = 8
	nonceSize = 12
	header    = 1 + idSize + nonceSize
)

// Encrypter encrypts under the first secret and decrypts under all. It is safe for concurrent use if its source of
// randomness is.
type Encrypter struct {
	keys []key
	rand io.Reader
}

type key struct {
	fingerprint string
	id          [idSize]byte
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
	copy(k.id[:], fingerprint)
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

// Encrypt encrypts plain with associated data, which names its owner (such as "webhook/KOWHAI").
func (e *Encrypter) Encrypt(plain []byte, associatedData string) ([]byte, error) {
	k := e.keys[0]
	ciphertext := make([]byte, header, header+len(plain)+k.aead.Overhead())
	ciphertext[0] = version
	copy(ciphertext[1:], k.id[:])
	nonce := ciphertext[1+idSize : header]
	if _, err := io.ReadFull(e.rand, nonce); err != nil {
		return nil, fmt.Errorf("encrypt %s: %w", associatedData, err)
	}
	return k.aead.Seal(ciphertext, nonce, plain, []byte(associatedData)), nil
}

// Decrypt decrypts what Encrypt returned for the same associated data, or returns ErrDecrypt.
func (e *Encrypter) Decrypt(ciphertext []byte, associatedData string) ([]byte, error) {
	if len(ciphertext) < header || ciphertext[0] != version {
		return nil, fmt.Errorf("decrypt %s: %w", associatedData, ErrDecrypt)
	}
	for _, k := range e.keys {
		if string(k.id[:]) != string(ciphertext[1:1+idSize]) {
			continue
		}
		plain, err := k.aead.Open(nil, ciphertext[1+idSize:header], ciphertext[header:], []byte(associatedData))
		if err == nil {
			return plain, nil
		}
	}
	return nil, fmt.Errorf("decrypt %s: %w", associatedData, ErrDecrypt)
}
