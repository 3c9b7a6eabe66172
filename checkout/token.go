package checkout

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Token is the stored part of a setup token of a checkout. Its text is derived from it and the
// operator's secret whenever it is needed.
type Token struct {
	Epoch   int       // from 1; the highest is the latest
	KID     string    // which of the operator's secrets signs it
	Expires time.Time // the setup page opens until then
	Renewed time.Time // when a create renewed the link with it; zero for any other token
	Mailed  bool      // sent to the payer by e-mail: its provider does not know it, and no confirm carries it
}

// minTokenLife is the time for which the latest token must still be valid for a replay to return it again.
const minTokenLife = 24 * time.Hour

// maxTokens limits the valid tokens of a checkout. They accumulate only if tokens live for less
// than minTokenLife, so that every replay issues a new one.
const maxTokens = 64

// MinSecret is the shortest secret of an operator, in bytes.
const MinSecret = 32

// Keyring signs and verifies setup tokens under keys derived from the operator's
// secrets. It is safe for concurrent use.
type Keyring struct {
	keys []derivedKeys // the first signs, all verify
}

type derivedKeys struct {
	kid   string
	token []byte
}

// NewKeyring derives a keyring from the operator's secrets, of at least 32 bytes each.
func NewKeyring(secrets ...[]byte) (Keyring, error) {
	if len(secrets) == 0 {
		return Keyring{}, fmt.Errorf("there is no secret to sign setup tokens with")
	}
	var r Keyring
	if err := CheckSecrets(secrets); err != nil {
		return Keyring{}, err
	}
	for _, secret := range secrets {
		token, err := hkdf.Key(sha256.New, secret, nil, "provider-checkout setup token v1", 36)
		if err != nil {
			return Keyring{}, fmt.Errorf("derive the key of setup tokens: %w", err)
		}
		r.keys = append(r.keys, derivedKeys{kid: hex.EncodeToString(token[32:]), token: token[:32]})
	}
	return r, nil
}

// ParseSecrets reads a list of operator's secrets with white space around each: the first signs and encrypts, all
// verify and decrypt. A secret under 32 bytes is an error, which does not repeat it. The separator is a comma in an environment
// variable, and a line break in a file, whose secrets may hold commas.
func ParseSecrets(list, separator string) ([][]byte, error) {
	var secrets [][]byte
	for text := range strings.SplitSeq(strings.TrimSpace(list), separator) {
		secrets = append(secrets, []byte(strings.TrimSpace(text)))
	}
	if err := CheckSecrets(secrets); err != nil {
		return nil, err
	}
	return secrets, nil
}

// CheckSecrets returns an error for the first secret under MinSecret bytes, which does not repeat it.
func CheckSecrets(secrets [][]byte) error {
	for i, secret := range secrets {
		if len(secret) < MinSecret {
			return fmt.Errorf("secret %d has %d bytes; at least %d are needed", i+1, len(secret), MinSecret)
		}
	}
	return nil
}

// Valid reports whether the keyring can sign.
func (r Keyring) Valid() bool { return len(r.keys) > 0 }

func (r Keyring) find(kid string) ([]byte, bool) {
	for _, k := range r.keys {
		if k.kid == kid {
			return k.token, true
		}
	}
	return nil, false
}

// Issue returns a token that is signed by the first secret. It panics on an empty keyring.
func (r Keyring) Issue(epoch int, expires time.Time) Token {
	return Token{Epoch: epoch, KID: r.keys[0].kid, Expires: expires}
}

// Text returns the text of a checkout's token: <checkout_id>.<epoch>.<kid>.<base64url HMAC-SHA256>.
// ok is false if the secret that signed it is no longer in the keyring.
func (r Keyring) Text(checkoutID string, t Token) (text string, ok bool) {
	key, ok := r.find(t.KID)
	if !ok {
		return "", false
	}
	signed := checkoutID + "." + strconv.Itoa(t.Epoch) + "." + t.KID
	return signed + "." + mac(key, signed), true
}

// LatestText returns the text of the token that a confirm must carry, or "" if its secret is not in the keyring any more.
func (r Keyring) LatestText(c Checkout) string {
	text, _ := r.Text(c.ID, c.Latest())
	return text
}

// MailedText returns the text of the latest token that was sent by e-mail, or "".
func (r Keyring) MailedText(c Checkout) string {
	text, _ := r.Text(c.ID, c.latest(true))
	return text
}

func mac(key []byte, signed string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(signed))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// Read returns the checkout and epoch of a token's text; ok is false for a text that no secret of the keyring signed.
func (r Keyring) Read(text string) (checkoutID string, epoch int, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 4 {
		return "", 0, false
	}
	key, known := r.find(parts[2])
	epoch, err := strconv.Atoi(parts[1])
	if !known || err != nil || epoch < 1 || strconv.Itoa(epoch) != parts[1] {
		return "", 0, false
	}
	signed := parts[0] + "." + parts[1] + "." + parts[2]
	if !hmac.Equal([]byte(mac(key, signed)), []byte(parts[3])) {
		return "", 0, false
	}
	return parts[0], epoch, true
}

// Latest returns the token that a confirm must carry; the zero Token, of epoch 0, once the personal data is erased.
func (c Checkout) Latest() Token { return c.latest(false) }

func (c Checkout) latest(mailed bool) Token {
	for _, t := range slices.Backward(c.Tokens) {
		if t.Mailed == mailed {
			return t
		}
	}
	return Token{}
}

// Newest returns the token that was issued last, to whomever; the zero Token if there is no token.
func (c Checkout) Newest() Token {
	if len(c.Tokens) == 0 {
		return Token{}
	}
	return c.Tokens[len(c.Tokens)-1]
}

// LinkExpires returns when the provider's link expires; the zero time once there is nothing to set up or to confirm.
func (c Checkout) LinkExpires() time.Time {
	if c.Status != SetupRequired {
		return time.Time{}
	}
	return c.Latest().Expires
}

// TokenExpired reports whether an authentic token of this epoch no longer opens the page.
func (c Checkout) TokenExpired(epoch int, now time.Time) bool {
	return !now.Before(c.TokenExpiry(epoch))
}

// TokenExpiry returns when the token of this epoch expires; the zero time for a token that is no longer on record, and
// expired long ago.
func (c Checkout) TokenExpiry(epoch int) time.Time {
	for _, t := range c.Tokens {
		if t.Epoch == epoch {
			return t.Expires
		}
	}
	return time.Time{}
}

// TokenFresh reports whether a replay returns the latest token again: while it is valid for a day, or as
// many are valid as are kept.
func (c Checkout) TokenFresh(r Keyring, now time.Time) bool {
	_, known := r.find(c.Latest().KID)
	full := len(c.Tokens) == maxTokens && now.Before(c.Tokens[0].Expires)
	return known && (c.Latest().Expires.Sub(now) >= minTokenLife || full)
}

// Renew returns the checkout with a next token, unless it is confirmed, cancelled, erased, or the latest is fresh.
// Older tokens open the page until they expire.
func (c Checkout) Renew(r Keyring, now time.Time, lifetime time.Duration, actor Actor, requestID string) Change {
	if c.Status != SetupRequired || c.Erased() || c.TokenFresh(r, now) {
		return unchanged(c)
	}
	next := r.Issue(c.Newest().Epoch+1, now.Add(lifetime))
	next.Renewed = now
	c.Tokens = c.withToken(next, now)
	return Change{At: now, Next: c, Moments: []Moment{{At: now, Kind: MomentLinkRenewed, Actor: actor, RequestID: requestID}}}
}

// withToken returns the tokens with a next one. Tokens that have expired are left out, except the token that a confirm must carry
// where the next one is not the provider's.
func (c Checkout) withToken(next Token, now time.Time) []Token {
	valid := slices.DeleteFunc(slices.Clone(c.Tokens), func(t Token) bool {
		return !now.Before(t.Expires) && (!next.Mailed || t != c.Latest())
	})
	valid = append(valid, next)
	return valid[max(0, len(valid)-maxTokens):]
}
