// Package hostedpages is what a payer sees: the setup page and the legal page.
package hostedpages

import (
	"net/http"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// Options is how the pages are served.
type Options = web.Options

// New returns the handler of every path under /api/dd-setup.
func New(s *service.Service, o Options) http.Handler { panic("todo") }
