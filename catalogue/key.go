package catalogue

import "time"

// Key is an API key as it is kept: its hash, never its text.
type Key struct {
	ID          string // public part of the text; names the key in lists
	Provider    string // provider code
	Environment Environment
	Hash        [32]byte // SHA-256 of the text
	CreatedAt   time.Time
	RevokedAt   time.Time // zero while the key lives
}

// NewKey makes a key: its text, to be shown once, and what is kept of it. The text is
// pck_<environment>_<id>_<random>_<checksum>, so that a leaked key is recognisable.
func NewKey(provider string, env Environment, now time.Time, entropy [32]byte) (text string, key Key) {
	panic("todo")
}

// HashKey returns the hash under which the key with this text is kept. ok is false for a
// text that cannot be a key (shape or checksum), so that no store needs to be asked.
func HashKey(text string) (hash [32]byte, ok bool) { panic("todo") }

// KeyID returns the id within a key's text, or text itself if it is no key's text:
// an operator may name a key by either.
func KeyID(text string) string { panic("todo") }
