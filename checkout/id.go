package checkout

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

// NewID makes a checkout id: <provider_code>-<unix milliseconds>-<80 random bits as 16 characters>.
func NewID(provider string, now time.Time, entropy [10]byte) string {
	suffix := strings.ToLower(base32.StdEncoding.EncodeToString(entropy[:]))
	return provider + "-" + strconv.FormatInt(now.UnixMilli(), 10) + "-" + suffix
}

// PlausibleID reports whether a text consists of letters, digits, hyphens and underscores of ASCII, as every checkout id does, and no
// token. The store need not be asked for any other, and it stands in no log.
func PlausibleID(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

// NaturalKey returns the key of one record of one enrolment in the CRM or at the processor: 32 hexadecimal digits,
// always the same for the same enrolment, so that a record that is made again is the same record, even after the store
// was restored from a backup. It is the start of the SHA-256 of the four parts, each preceded by its length in
// bytes as eight bytes, big-endian.
func NaturalKey(env catalogue.Environment, provider, order, kind string) string {
	return hash(string(env), provider, order, kind)
}

func hash(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// ProviderOf returns the code of the provider of the checkout with this id: the text before its last two hyphens. It is "" for a
// text that is no checkout id. A store finds everything of a checkout by both.
func ProviderOf(checkoutID string) string {
	suffix := max(strings.LastIndexByte(checkoutID, '-'), 0)
	return checkoutID[:max(strings.LastIndexByte(checkoutID[:suffix], '-'), 0)]
}
