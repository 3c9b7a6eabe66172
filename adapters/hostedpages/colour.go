package hostedpages

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/colour"
	"github.com/provider-checkout/provider-checkout/adapters/internal/page"
)

// colourPrefix begins the names of the stylesheets that carry a provider's colour: a page may not
// hold styles of its own, so the colour is in the address.
const colourPrefix = "colour-"

var colourFile = regexp.MustCompile(`^colour-([0-9a-f]{6})\.css$`)

// colourURL returns the address of the stylesheet for a colour, #rrggbb; "" if it is none.
func colourURL(text string) string {
	c, ok := colour.Parse(text)
	if !ok {
		return ""
	}
	return assetsPath + colourPrefix + c.String()[1:] + ".css"
}

// colours answers with the stylesheet that the path names.
func (p *pages) colours(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, assetsPath)
	found := colourFile.FindStringSubmatch(name)
	if found == nil {
		p.site.NotFound(w, r)
		return
	}
	brand, _ := colour.Parse("#" + found[1]) // the pattern of the address allows nothing else
	page.ServeAsset(w, name, stylesheet(brand), true)
}

// stylesheet sets the colours that follow from a brand's: what is written on it, and the
// brand itself as text on the white page, dark enough to be read.
func stylesheet(brand colour.RGB) []byte {
	return fmt.Appendf(nil, ":root { --brand: %s; --on-brand: %s; --brand-text: %s; }\n", brand, brand.On(), brand.Text())
}
