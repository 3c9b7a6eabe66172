package agreement

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// alphabet is Crockford's base32: digits and letters without I, L, O and U, which are easily misread.
const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

const (
	numberLength  = 10 // characters, of 5 bits each
	checkModulus  = 37 // Crockford's; a remainder of 32 or more has no character of the alphabet
	numberPattern = "PPA-%04d-%s%c"
)

// NewNumber returns an agreement number: PPA-<year>-<10 characters of Crockford's base32><check character>.
// The ten characters encode the low 50 bits of the entropy, most significant first; the check character encodes their
// value modulo 37. A value whose remainder has no character in the alphabet is lowered to one whose remainder has. The
// same entropy gives the same number, so it must come from a cryptographic source. A store keeps numbers unique over all
// providers: if a number is taken, another one is generated.
func NewNumber(year int, entropy [8]byte) string {
	value := binary.BigEndian.Uint64(entropy[:]) & (1<<(5*numberLength) - 1)
	if value%checkModulus >= uint64(len(alphabet)) {
		value -= uint64(len(alphabet)) // never below 0: a value under 37 with that remainder is 32 to 36
	}
	var digits [numberLength]byte
	for i, rest := numberLength-1, value; i >= 0; i, rest = i-1, rest/32 {
		digits[i] = alphabet[rest%32]
	}
	return fmt.Sprintf(numberPattern, year, digits, alphabet[value%checkModulus])
}

// Mistyped reports whether a text has the form of an agreement number but an invalid character or a wrong check
// character: one character was misread, or two neighbours were swapped.
func Mistyped(number string) bool {
	parts := strings.Split(number, "-")
	if len(parts) != 3 || parts[0] != "PPA" || len(parts[2]) != numberLength+1 {
		return false
	}
	value := 0
	for _, c := range []byte(parts[2][:numberLength]) {
		digit := strings.IndexByte(alphabet, c)
		if digit < 0 {
			return true
		}
		value = (value*32 + digit) % checkModulus
	}
	return strings.IndexByte(alphabet, parts[2][numberLength]) != value
}
