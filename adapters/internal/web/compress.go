package web

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

// Compress answers with gzip where the client accepts it: a plan of years is mostly alike, and a payer's phone may be
// on a slow network. What is secret in a page stands in its address too, and there are no cookies, so its length tells a
// stranger nothing.
func Compress(next http.Handler) http.Handler {
	return must(gzhttp.NewWrapper(gzhttp.EnableZstd(false)))(next)
}
