package colour_test

import (
	"math"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]bool{
		"#1f6f54": true, "#FFFFFF": true, "": false, "1f6f54": false, "#1f6f5": false, "#1f6f541": false, "#1f6f5g": false,
	} {
		if _, ok := colour.Parse(text); ok != want {
			t.Errorf("Parse(%q) = %t, want %t", text, ok, want)
		}
	}
	if c, _ := colour.Parse("#1F6f54"); c.String() != "#1f6f54" {
		t.Errorf("#1F6f54 is %s, want the same in small letters", c)
	}
}

// The examples are the pairs that every author of a contrast checker knows.
func TestContrast(t *testing.T) {
	for text, want := range map[string]float64{"#000000": 21, "#ffffff": 1, "#777777": 4.48, "#767676": 4.54} {
		c, _ := colour.Parse(text)
		if got := colour.Contrast(c, colour.White); math.Abs(got-want) > 0.005 {
			t.Errorf("the contrast of %s with white is %.3f, want %.2f", text, got, want)
		}
	}
}

func TestEveryColourCanBeReadOneWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := colour.RGB{R: rapid.Uint8().Draw(t, "r"), G: rapid.Uint8().Draw(t, "g"), B: rapid.Uint8().Draw(t, "b")}
		if got := colour.Contrast(c.BestTextColour(), c); got < colour.ContrastAA {
			t.Errorf("%s on %s has a contrast of %.2f, want %.1f", c.BestTextColour(), c, got, colour.ContrastAA)
		}
		if got := colour.Contrast(c.Text(), colour.White); got < colour.ContrastAA {
			t.Errorf("%s for %s has a contrast of %.2f with white", c.Text(), c, got)
		}
		for _, paper := range []colour.RGB{{R: 0xf4, G: 0xf5, B: 0xf6}, {R: 0x22, G: 0x27, B: 0x2b}, colour.Black} {
			for _, want := range []float64{colour.ContrastAA, colour.ContrastAAA} {
				if text := c.TextOn(paper, want); colour.Contrast(text, paper) < want {
					t.Errorf("%s for %s has a contrast of %.2f with %s, want %.1f", text, c, colour.Contrast(text, paper), paper, want)
				}
			}
		}
		if colour.Contrast(c, colour.White) >= colour.ContrastAA && c.Text() != c {
			t.Errorf("%s can be read and became %s", c, c.Text())
		}
	})
}
