package catalogue

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"hash/crc32"
	"strings"
	"time"
)

// Key is an API key as it is kept: its hash, never its text.
type Key struct {
	ID          string // public part of the text; names the key in lists
	Provider    string // provider code
	Environment Environment
	Hash        [32]byte // SHA-256 of the text
	CreatedAt   time.Time
	RevokedAt   time.Time // zero while the key lives
	Label       string    // the operator's words for what it is used; ""
	ExpiresAt   time.Time // from when on it is refused; zero: never
	LastUsed    time.Time // the minute; zero for a key that was not used
}

// KeyIDSize is the number of the first bytes of a key's entropy that make its id; the others are the secret.
const KeyIDSize = 5

// The parts of a key's text are lower-case base32 (a-z2-7): none of them contains the underscore that
// separates them, and a double click selects the whole key.
const (
	keyPrefix    = "pck"
	idLength     = 8
	randomLength = 44
	sumLength    = 7
	maxKey       = len("pck_production_") + idLength + 1 + randomLength + 1 + sumLength
)

// NewKey returns a new API key for a valid environment: its text, which is shown once, and the Key to store. The text is
// pck_<environment>_<id>_<random>_<checksum>, so that a leaked key is recognisable. The same entropy makes the same key: it must
// come from a cryptographic source.
func NewKey(provider string, env Environment, now time.Time, entropy [32]byte) (text string, key Key) {
	id := encode(entropy[:KeyIDSize])
	body := strings.Join([]string{keyPrefix, string(env), id, encode(entropy[KeyIDSize:])}, "_")
	text = body + "_" + checksum(body)
	return text, Key{
		ID:          id,
		Provider:    provider,
		Environment: env,
		Hash:        sha256.Sum256([]byte(text)),
		CreatedAt:   now.UTC().Truncate(time.Millisecond),
	}
}

// HashKey returns the hash under which the key with this text is stored. ok is false for a
// text that cannot be a key (format or checksum), so that the store need not be asked.
func HashKey(text string) (hash [32]byte, ok bool) {
	if _, ok := parseKey(text); !ok {
		return hash, false
	}
	return sha256.Sum256([]byte(text)), true
}

// KeyID returns the id in a key's text, or text itself if it is not the text of a key:
// an operator may name a key by either.
func KeyID(text string) string {
	if id, ok := parseKey(text); ok {
		return id
	}
	return text
}

// parseKey returns the id in a key's text; ok is false if the text is not a complete key.
func parseKey(text string) (id string, ok bool) {
	if len(text) > maxKey {
		return "", false
	}
	parts := strings.Split(text, "_")
	if len(parts) != 5 {
		return "", false
	}
	id, random, sum := parts[2], parts[3], parts[4]
	ok = parts[0] == keyPrefix && Environment(parts[1]).Valid() &&
		isBase32(id, idLength) && isBase32(random, randomLength) && isBase32(sum, sumLength) &&
		sum == checksum(strings.TrimSuffix(text, "_"+sum))
	return id, ok
}

// checksum distinguishes a mistyped key from an unknown one. It proves nothing.
func checksum(body string) string {
	return encode(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(body))))
}

func encode(b []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}

func isBase32(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz234567") == ""
}
