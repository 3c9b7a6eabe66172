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

// MayBeID tells whether a text is made of what ids are made of: visible ASCII. No checkout has another id,
// so that no store is asked for it.
func MayBeID(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// NaturalKey names one record of one enrolment in the CRM or at the processor: always the
// same for the same enrolment, so that making it twice makes it once, even after the store
// was restored from a backup. Each part counts with its length, so that no two lists of
// parts run together.
func NaturalKey(env catalogue.Environment, provider, order, kind string) string {
	h := sha256.New()
	for _, part := range []string{string(env), provider, order, kind} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// recordIDs names the CRM records that a checkout opens with.
func recordIDs(env catalogue.Environment, provider, order string) Records {
	return Records{
		ContactID:     NaturalKey(env, provider, order, "contact"),
		OpportunityID: NaturalKey(env, provider, order, "opportunity"),
		DDAID:         NaturalKey(env, provider, order, "dda"),
	}
}
