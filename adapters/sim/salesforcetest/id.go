package salesforcetest

import "strings"

const (
	idDigits     = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	suffixDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
)

// newID returns the id of 18 characters of the n-th record of an object.
func newID(prefix string, n int) string {
	id := []byte(prefix + "5g0000000000")
	for at := len(id) - 1; n > 0; at-- {
		id[at] = idDigits[n%len(idDigits)]
		n /= len(idDigits)
	}
	return string(id) + suffix(string(id))
}

// suffix returns the three characters that say which of the 15 are capitals, for systems that do not tell them apart.
func suffix(id string) string {
	var s strings.Builder
	for at := 0; at < len(id); at += 5 {
		capitals := 0
		for bit, c := range []byte(id[at : at+5]) {
			if 'A' <= c && c <= 'Z' {
				capitals |= 1 << bit
			}
		}
		s.WriteByte(suffixDigits[capitals])
	}
	return s.String()
}

// parseID returns an id with 18 characters. It may come with 15, and otherwise its suffix must be right.
func parseID(text string) (id string, ok bool) {
	if len(text) != 15 && len(text) != 18 || strings.Trim(text, idDigits) != "" {
		return "", false
	}
	id = text[:15] + suffix(text[:15])
	return id, len(text) == 15 || strings.EqualFold(text, id)
}
