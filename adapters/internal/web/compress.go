package web

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

// Compress answers with gzip where the client accepts it: a plan of years is mostly alike, and a payer's phone may be
// on a slow network. Compression leaks no secret by the length of the page, since what is secret in it is in its address
// too and there are no cookies.
func Compress(next http.Handler) http.Handler {
	return must(gzhttp.NewWrapper(gzhttp.EnableZstd(false)))(next)
}
