package web

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

// Compress answers with gzip if the client accepts it: the page of a long plan is repetitive, and a payer's phone may be
// on a slow network. The length of a compressed page leaks no secret, because the only secret in it is also in its
// address, and there are no cookies.
func Compress(next http.Handler) http.Handler {
	return must(gzhttp.NewWrapper(gzhttp.EnableZstd(false)))(next)
}
