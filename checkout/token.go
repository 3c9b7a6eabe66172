package checkout

import "time"

// Token is one setup token of a checkout, as far as it is kept: the text is derived from it
// and the operator's secret whenever it is needed, so that no token is stored.
type Token struct {
	Epoch   int       // from 1; the highest is the latest
	KID     string    // which of the operator's secrets signs it
	Expires time.Time // the page opens until then
}

// Keyring signs and verifies setup tokens under keys derived from the operator's secrets.
// It is safe for concurrent use.
type Keyring struct {
	keys []tokenKey // the first signs, all verify
}

type tokenKey struct {
	kid string
	key []byte
}

// NewKeyring derives a keyring from the operator's secrets, of at least 32 bytes each.
func NewKeyring(secrets ...[]byte) (Keyring, error) { panic("todo") }
