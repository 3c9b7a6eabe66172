package agreement_test

import (
	"encoding/binary"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/agreement"
)

func number(value uint64) string {
	var entropy [8]byte
	binary.BigEndian.PutUint64(entropy[:], value)
	return agreement.NewNumber(2027, entropy)
}

// The check characters are those of Crockford's own definition: the value modulo 37.
func TestNumbers(t *testing.T) {
	for _, tt := range []struct {
		value uint64
		want  string
	}{
		{0, "PPA-2027-00000000000"},
		{31, "PPA-2027-000000000ZZ"},
		{32, "PPA-2027-00000000000"}, // 32 has no character of the alphabet as its check
		{36, "PPA-2027-00000000044"},
		{37, "PPA-2027-00000000150"},
		{1 << 49, "PPA-2027-G000000000F"},
		{1<<50 + 31, "PPA-2027-000000000ZZ"}, // bits above the fiftieth are not used
	} {
		if got := number(tt.value); got != tt.want {
			t.Errorf("NewNumber of %d = %s, want %s", tt.value, got, tt.want)
		}
	}
}

func TestEveryNumberHasTheShapeAndARightCheckCharacter(t *testing.T) {
	shape := regexp.MustCompile(`^PPA-2027-[0-9A-HJKMNP-TV-Z]{11}$`)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.Uint64().Draw(t, "value")
		got := number(value)
		if !shape.MatchString(got) || agreement.Mistyped(got) {
			t.Fatalf("NewNumber of %d = %s, mistyped: %v", value, got, agreement.Mistyped(got))
		}
	})
}

func TestOneWrongCharacterOrASwapIsNoticed(t *testing.T) {
	const characters = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	rapid.Check(t, func(t *rapid.T) {
		good := number(rapid.Uint64().Draw(t, "value"))
		at := rapid.IntRange(len("PPA-2027-"), len(good)-1).Draw(t, "at")
		wrong := []byte(good)
		wrong[at] = rapid.SampledFrom([]byte(characters)).Draw(t, "character")
		if string(wrong) != good && !agreement.Mistyped(string(wrong)) {
			t.Errorf("%s for %s is not noticed", wrong, good)
		}
		if at == len(good)-1 {
			return
		}
		swapped := []byte(good)
		swapped[at], swapped[at+1] = swapped[at+1], swapped[at]
		if string(swapped) != good && !agreement.Mistyped(string(swapped)) {
			t.Errorf("%s for %s is not noticed", swapped, good)
		}
	})
}

func TestWhatHasNoCheckCharacterIsNotMistyped(t *testing.T) {
	for _, text := range []string{"", "PPA-2026-000042", "PPA-2026-1000000", "ppa", strings.Repeat("-", 20)} {
		if agreement.Mistyped(text) {
			t.Errorf("Mistyped(%q) = true, want false", text)
		}
	}
}
