// Package seal encrypts what a store must not keep in the clear, under keys derived from the
// operator's secrets: AES-256-GCM under a key that HKDF-SHA256 derives from each secret.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// MinSecret is the length of the shortest secret, in bytes.
const MinSecret = 32

// ErrSealed is why nothing comes out: sealed under a secret that is not in the box, for
// another place, or damaged.
var ErrSealed = errors.New("sealed under another secret, for another place, or damaged")

// Sealed bytes are the version, the id of the secret, the nonce, and what GCM makes of the
// plain text.
const (
	version   = 1
	idSize    = 8
	nonceSize = 12
	header    = 1 + idSize + nonceSize
)

// Box seals and opens. The first secret seals, all open. It is safe for concurrent use if its
// source of randomness is.
type Box struct {
	keys []sealingKey
	rand io.Reader
}

type sealingKey struct {
	fingerprint string
	id          [idSize]byte
	aead        cipher.AEAD
}

// New derives a box from the operator's secrets, of at least 32 bytes each.
func New(secrets [][]byte, rand io.Reader) (*Box, error) {
	if len(secrets) == 0 {
		return nil, errors.New("no secret to seal with")
	}
	b := &Box{rand: rand}
	for i, s := range secrets {
		if len(s) < MinSecret {
			return nil, fmt.Errorf("secret %d of %d has %d bytes, and needs at least %d", i+1, len(secrets), len(s), MinSecret)
		}
		k, err := derive(s)
		if err != nil {
			return nil, fmt.Errorf("derive from secret %d of %d: %w", i+1, len(secrets), err)
		}
		b.keys = append(b.keys, k)
	}
	return b, nil
}

// derive makes the key that seals under the secret, and names for it that tell nothing of it:
// each has a purpose of its own, so that none can be turned into another.
func derive(secret []byte) (k sealingKey, err error) {
	sealing, err := hkdf.Key(sha256.New, secret, nil, "provider-checkout seal v1", 32)
	if err != nil {
		return k, err
	}
	print, err := hkdf.Key(sha256.New, secret, nil, "provider-checkout fingerprint v1", 16)
	if err != nil {
		return k, err
	}
	block, err := aes.NewCipher(sealing)
	if err != nil {
		return k, err
	}
	k.aead, err = cipher.NewGCM(block)
	k.fingerprint = hex.EncodeToString(print)
	copy(k.id[:], print)
	return k, err
}

// Fingerprints identify the secrets, in their order, without telling anything of them.
func (b *Box) Fingerprints() []string {
	all := make([]string, len(b.keys))
	for i, k := range b.keys {
		all[i] = k.fingerprint
	}
	return all
}

// Seal encrypts plain for the named place (such as "webhook/KOWHAI"); it opens only there.
func (b *Box) Seal(plain []byte, place string) ([]byte, error) {
	k := b.keys[0]
	sealed := make([]byte, header, header+len(plain)+k.aead.Overhead())
	sealed[0] = version
	copy(sealed[1:], k.id[:])
	nonce := sealed[1+idSize : header]
	if _, err := io.ReadFull(b.rand, nonce); err != nil {
		return nil, fmt.Errorf("seal %s: %w", place, err)
	}
	return k.aead.Seal(sealed, nonce, plain, []byte(place)), nil
}

// Open decrypts what Seal returned. What it cannot open is ErrSealed.
func (b *Box) Open(sealed []byte, place string) ([]byte, error) {
	if len(sealed) < header || sealed[0] != version {
		return nil, fmt.Errorf("open %s: %w", place, ErrSealed)
	}
	for _, k := range b.keys {
		if string(k.id[:]) != string(sealed[1:1+idSize]) {
			continue
		}
		plain, err := k.aead.Open(nil, sealed[1+idSize:header], sealed[header:], []byte(place))
		if err == nil {
			return plain, nil
		}
	}
	return nil, fmt.Errorf("open %s: %w", place, ErrSealed)
}
