// Package httpapi is the JSON API of the contract over HTTP.
package httpapi

import (
	"net/http"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// Options is how the API is served.
type Options = web.Options

// New returns the handler of every route under /v1; any other path is answered 404 in the
// error envelope, so that it can be mounted at the root.
func New(s *service.Service, o Options) http.Handler { panic("todo") }
