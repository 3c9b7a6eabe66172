package hostedpages

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/page"
)

// colourPrefix begins the names of the stylesheets that carry a provider's colour: a page may not
// hold styles of its own, so the colour is in the address.
const colourPrefix = "colour-"

// enough is the contrast at which WCAG 2.2 calls text readable (AA).
const enough = 4.5

var (
	colourName = regexp.MustCompile(`^#[0-9a-fA-F]{6}$`)
	colourFile = regexp.MustCompile(`^colour-([0-9a-f]{6})\.css$`)
)

// colourURL returns the address of the stylesheet for a colour, #rrggbb; "" if it is none.
func colourURL(colour string) string {
	if !colourName.MatchString(colour) {
		return ""
	}
	return assetsPath + colourPrefix + strings.ToLower(colour[1:]) + ".css"
}

// colours answers with the stylesheet that the path names.
func (p *pages) colours(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, assetsPath)
	found := colourFile.FindStringSubmatch(name)
	if found == nil {
		p.site.NotFound(w, r)
		return
	}
	page.ServeAsset(w, name, stylesheet(parseColour(found[1])), true)
}

// rgb is a colour, each part from 0 to 255.
type rgb struct{ r, g, b uint8 }

var (
	black = rgb{}
	white = rgb{255, 255, 255}
)

// parseColour reads six hexadecimal digits.
func parseColour(digits string) rgb {
	n, _ := strconv.ParseUint(digits, 16, 32) // the pattern of the address allows nothing else
	return rgb{uint8(n >> 16), uint8(n >> 8), uint8(n)}
}

func (c rgb) String() string { return fmt.Sprintf("#%02x%02x%02x", c.r, c.g, c.b) }

// stylesheet sets the colours that follow from a brand's: what is written on it, and the
// brand itself as text on the white page, dark enough to be read.
func stylesheet(brand rgb) []byte {
	on := white
	if contrast(on, brand) < enough {
		on = black // one of the two is always enough
	}
	text := brand
	for part := 95; contrast(text, white) < enough; part -= 5 {
		text = brand.darker(part)
	}
	return fmt.Appendf(nil, ":root { --brand: %s; --on-brand: %s; --brand-text: %s; }\n", brand, on, text)
}

// darker returns the colour at so many hundredths of its brightness.
func (c rgb) darker(percent int) rgb {
	dim := func(part uint8) uint8 { return uint8(int(part) * percent / 100) }
	return rgb{dim(c.r), dim(c.g), dim(c.b)}
}

// contrast returns the contrast ratio of WCAG 2.2, from 1 to 21.
func contrast(a, b rgb) float64 {
	la, lb := a.luminance(), b.luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// luminance returns the relative luminance of WCAG 2.2, from 0 to 1.
func (c rgb) luminance() float64 {
	linear := func(part uint8) float64 {
		v := float64(part) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.r) + 0.7152*linear(c.g) + 0.0722*linear(c.b)
}
