package catalogue

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"hash/crc32"
	"regexp"
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

// keyForm matches a key's text, and finds its text before the checksum, its id and its checksum. The parts are lower-case base32: none of them
// contains the underscore that separates them, and a double click selects the whole key.
var keyForm = regexp.MustCompile(`^(pck_(?:sandbox|production)_([a-z2-7]{8})_[a-z2-7]{44})_([a-z2-7]{7})$`)

// NewKey returns a new API key for a valid environment: its text, which is shown once, and the Key to store. The text is
// pck_<environment>_<id>_<random>_<checksum>, so that a leaked key is recognisable. The same entropy makes the same key: it must
// come from a cryptographic source.
func NewKey(provider string, env Environment, now time.Time, entropy [32]byte) (text string, key Key) {
	id := encode(entropy[:KeyIDSize])
	body := strings.Join([]string{"pck", string(env), id, encode(entropy[KeyIDSize:])}, "_")
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
	parts := keyForm.FindStringSubmatch(text)
	if parts == nil || parts[3] != checksum(parts[1]) {
		return "", false
	}
	return parts[2], true
}

// checksum distinguishes a mistyped key from an unknown one. It proves nothing.
func checksum(body string) string {
	return encode(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE([]byte(body))))
}

func encode(b []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}
