// Package colour finds out whether text in a provider's colour can be read, by the contrast of WCAG 2.2.
package colour

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// The least contrast of text by WCAG, at level AA and at level AAA.
const (
	ContrastAA  = 4.5
	ContrastAAA = 7
)

// RGB is a colour, each part from 0 to 255.
type RGB struct{ R, G, B uint8 }

var (
	Black = RGB{}
	White = RGB{255, 255, 255}
)

var written = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)

// Parse reads #rrggbb.
func Parse(text string) (c RGB, ok bool) {
	if !written.MatchString(text) {
		return RGB{}, false
	}
	n, _ := strconv.ParseUint(text[1:], 16, 32) // the pattern allows nothing else
	return RGB{uint8(n >> 16), uint8(n >> 8), uint8(n)}, true
}

// String writes c as #rrggbb.
func (c RGB) String() string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

// BestTextColour returns a colour for text on c: white, or black where white has not the contrast. One of them always has.
func (c RGB) BestTextColour() RGB {
	if Contrast(White, c) < ContrastAA {
		return Black
	}
	return White
}

// Text returns c as the colour of text on white: see TextOn.
func (c RGB) Text() RGB { return c.TextOn(White, ContrastAA) }

// TextOn returns c as the colour of text on paper: c itself, or c mixed with as little black on light paper, or white on
// dark paper, as gives the contrast. Black or white must have that contrast on the paper.
func (c RGB) TextOn(paper RGB, contrast float64) RGB {
	text, ink := c, paper.BestTextColour()
	for part := 5; Contrast(text, paper) < contrast; part += 5 {
		text = c.mixed(ink, part)
	}
	return text
}

// Tint returns a pale tint of c, on which dark text can be read.
func (c RGB) Tint() RGB {
	mix := func(part uint8) uint8 { return uint8((int(part) + 13*255) / 14) }
	return RGB{mix(c.R), mix(c.G), mix(c.B)}
}

func (c RGB) mixed(other RGB, percent int) RGB {
	mix := func(a, b uint8) uint8 { return uint8((int(a)*(100-percent) + int(b)*percent) / 100) }
	return RGB{mix(c.R, other.R), mix(c.G, other.G), mix(c.B, other.B)}
}

// Contrast returns the contrast ratio, from 1 to 21.
func Contrast(a, b RGB) float64 {
	la, lb := a.luminance(), b.luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// luminance returns the relative luminance, from 0 to 1.
func (c RGB) luminance() float64 {
	linear := func(part uint8) float64 {
		v := float64(part) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}
