package catalogue

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	minSecret = 24 // bytes of a signing secret
	// minDistinct is the smallest number of different bytes in a signing secret. 24 decimal digits drawn at random have fewer
	// once in 60,000 draws, letters never.
	minDistinct = 6
)

func (f *faults) destination(d Destination, sandbox bool) {
	if d.URL == "" && d.Secret == "" {
		return
	}
	switch {
	case d.URL == "":
		f.add("webhook.url", "must be given along with the signing secret")
	default:
		f.receiver("webhook.url", d.URL, sandbox)
	}
	switch {
	case d.Secret == "":
		f.add("webhook.signing_secret", "must be given along with the URL")
	case f.secret("webhook.signing_secret", d.Secret) && !isVaried(d.Secret):
		f.add("webhook.signing_secret", "must be random: it repeats itself")
	}
}

// secret checks the length and the characters of a secret, and reports whether they are right.
func (f *faults) secret(place, secret string) bool {
	switch {
	case len(secret) < minSecret:
		f.add(place, "must have at least %d bytes", minSecret)
	case !utf8.ValidString(secret) || strings.ContainsFunc(secret, unicode.IsControl):
		f.add(place, "must be text without control characters")
	default:
		return true
	}
	return false
}

// isVaried reports whether a secret may have been drawn at random: "whsec_aaaaaaaaaaaaaaaaaa" and "abcdefg1abcdefg1abcdefg1"
// were not.
func isVaried(secret string) bool {
	secret = strings.TrimPrefix(secret, "whsec_")
	// A text that is one part again and again is found in two of itself before its second begins.
	repeats := strings.Index((secret + secret)[1:], secret)+1 < len(secret)
	distinct := make(map[byte]bool)
	for i := range len(secret) {
		distinct[secret[i]] = true
	}
	return len(distinct) >= minDistinct && !repeats
}
