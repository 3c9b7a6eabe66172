package catalogue

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	minSecret = 24 // bytes of a signing secret
	// minDistinct is the smallest number of different bytes in a signing secret. 24 decimal digits drawn at random have fewer
	// once in 60,000 draws, letters never.
	minDistinct = 6
)

// MaxRedeliver is the longest time for which an event that failed is sent again.
const MaxRedeliver = 72 * time.Hour

func (f *faults) destination(d Destination, sandbox bool) {
	f.events(d.Events)
	if d.RedeliverFor < 0 || d.RedeliverFor > MaxRedeliver {
		f.add("webhook.redeliver_for", "must be from 0 to %v", MaxRedeliver)
	}
	if d.URL == "" && d.Secret == "" && d.PreviousSecret == "" && d.PreviousUntil.IsZero() {
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
	f.previousSecret(d)
}

// events checks a list of events. Which events there are is not known here.
func (f *faults) events(list []string) {
	if list != nil && len(list) == 0 {
		f.add("webhook.events", "must name an event, or be left out")
	}
	for i, name := range list {
		if slices.Contains(list[:i], name) {
			f.add(fmt.Sprintf("webhook.events[%d]", i), "is %s again", name)
		}
	}
}

// previousSecret checks the secret that a rotation replaces. It need not be random: that may be why it is replaced.
func (f *faults) previousSecret(d Destination) {
	const secret, until = "webhook.previous_signing_secret", "webhook.previous_secret_until"
	switch {
	case d.PreviousSecret == "" && d.PreviousUntil.IsZero():
	case d.PreviousSecret == "":
		f.add(secret, "must be given along with previous_secret_until")
	case d.PreviousUntil.IsZero():
		f.add(until, "must be given along with previous_signing_secret")
	case d.PreviousSecret == d.Secret:
		f.add(secret, "must be another one than signing_secret")
	default:
		f.secret(secret, d.PreviousSecret)
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
	return HasVariety(secret) && !repeats
}

// HasVariety reports whether a secret has as many different bytes as a random text has.
func HasVariety(secret string) bool {
	distinct := make(map[byte]bool)
	for i := range len(secret) {
		distinct[secret[i]] = true
	}
	return len(distinct) >= minDistinct
}
