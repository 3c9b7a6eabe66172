// Package colour judges whether a provider's colour can be read, as WCAG 2.2 has it.
package colour

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
)

// Enough is the contrast at which text is readable (AA).
const Enough = 4.5

// RGB is a colour, each part from 0 to 255.
type RGB struct{ R, G, B uint8 }

// Black and white.
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

// On returns what is readable on c: white, or else black, of which one always is.
func (c RGB) On() RGB {
	if Contrast(White, c) < Enough {
		return Black
	}
	return White
}

// Text returns c as it is readable on white: c itself, or as much darker as it takes.
func (c RGB) Text() RGB {
	text := c
	for part := 95; Contrast(text, White) < Enough; part -= 5 {
		text = c.darker(part)
	}
	return text
}

// Tint returns a trace of c on white, on which whatever is dark can be read.
func (c RGB) Tint() RGB {
	mix := func(part uint8) uint8 { return uint8((int(part) + 13*255) / 14) }
	return RGB{mix(c.R), mix(c.G), mix(c.B)}
}

// darker returns the colour at so many hundredths of its brightness.
func (c RGB) darker(percent int) RGB {
	dim := func(part uint8) uint8 { return uint8(int(part) * percent / 100) }
	return RGB{dim(c.R), dim(c.G), dim(c.B)}
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
