package agreement_test

import (
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/testdata"
)

func number(value uint64) string {
	var entropy [8]byte
	binary.BigEndian.PutUint64(entropy[:], value)
	return agreement.NewNumber(2027, entropy)
}

// The check characters follow Crockford's own definition: the value modulo 37.
func TestNumbersAgreeWithVectors(t *testing.T) {
	var v struct {
		Description string `json:"description"`
		Made        []struct {
			Name    string `json:"name"`
			Year    int    `json:"year"`
			Entropy string `json:"entropy"`
			Number  string `json:"number"`
		} `json:"made"`
		Read []struct {
			Name     string `json:"name"`
			Number   string `json:"number"`
			Mistyped bool   `json:"mistyped"`
		} `json:"read"`
	}
	testdata.Read(t, "agreement_numbers.json", &v)
	for _, tt := range v.Made {
		entropy, err := hex.DecodeString(tt.Entropy)
		if err != nil || len(entropy) != 8 {
			t.Fatalf("%s: entropy %q has %d bytes, %v", tt.Name, tt.Entropy, len(entropy), err)
		}
		if got := agreement.NewNumber(tt.Year, [8]byte(entropy)); got != tt.Number || agreement.Mistyped(got) {
			t.Errorf("%s: NewNumber(%d, %s) = %s, mistyped %v; want %s", tt.Name, tt.Year, tt.Entropy, got, agreement.Mistyped(got), tt.Number)
		}
	}
	for _, tt := range v.Read {
		if got := agreement.Mistyped(tt.Number); got != tt.Mistyped {
			t.Errorf("%s: Mistyped(%q) = %v, want %v", tt.Name, tt.Number, got, tt.Mistyped)
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
