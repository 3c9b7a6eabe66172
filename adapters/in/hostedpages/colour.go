package hostedpages

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
)

// colourFile is the name of a stylesheet with a provider's colour. Pages may not have inline styles, so the colour is in
// the stylesheet's address.
var colourFile = regexp.MustCompile(`^colour-([0-9a-f]{6})\.css$`)

// colourPath returns the path of the stylesheet for a colour, #rrggbb, or "" for any other text.
func colourPath(text string) string {
	c, ok := colour.Parse(text)
	if !ok {
		return ""
	}
	return assetsPath + "colour-" + c.String()[1:] + ".css"
}

// The backgrounds that are nearest in brightness to the links on them: --paper of style.css, in light and dark.
var (
	lightPaper = colour.RGB{R: 0xf4, G: 0xf5, B: 0xf6}
	darkPaper  = colour.RGB{R: 0x22, G: 0x27, B: 0x2b}
)

// asset answers with a file of the site, or with the stylesheet of a colour that the path names: the colour of text on it, and itself as
// the colour of text, dark enough to be read on a light background and light enough on a dark one.
func (p *pages) asset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, assetsPath)
	found := colourFile.FindStringSubmatch(name)
	if found == nil {
		p.site.Asset(w, r)
		return
	}
	brand, _ := colour.Parse("#" + found[1]) // the pattern of the address allows nothing else
	sheet := fmt.Appendf(nil, ":root { --brand: %s; --on-brand: %s; --brand-text: %s; --brand-text-dark: %s; }\n",
		brand, brand.BestTextColour(), brand.TextOn(lightPaper, colour.ContrastAA), brand.TextOn(darkPaper, colour.ContrastAAA))
	web.ServeAsset(w, name, sheet, true)
}
