package httpapi

import (
	"net/http"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// authenticate returns the caller. A source that sends too many bad keys gets a 429 instead of
// the fault of its key; a good key is never refused because of bad ones from the same source.
func (a *api) authenticate(r *http.Request) (service.Caller, error) {
	caller, err := a.identify(r)
	switch {
	case web.Refused(err, checkout.CodeMissingAPIKey, checkout.CodeInvalidAPIKey):
		if wait, ok := a.perSource.Allow(web.ClientNet(r.Context())); !ok {
			return service.Caller{}, rateLimited(wait)
		}
		return service.Caller{}, err
	case err != nil:
		return service.Caller{}, err
	}
	web.SetProvider(r.Context(), caller.ProviderCode)
	if wait, ok := a.perKey.Allow(caller.ProviderCode + " " + caller.KeyID); !ok {
		return service.Caller{}, rateLimited(wait)
	}
	return caller, nil
}

// byAPIKey returns whose key the request carries.
func (a *api) byAPIKey(r *http.Request) (service.Caller, error) {
	values := r.Header.Values("Authorization")
	if len(values) > 1 {
		return service.Caller{}, checkout.RepeatedAPIKey()
	}
	scheme, key, _ := strings.Cut(strings.Join(values, ""), " ")
	if scheme != "" && !strings.EqualFold(scheme, "Bearer") {
		return service.Caller{}, checkout.MissingAPIKey(
			"the Authorization header must be the word Bearer, a space and the key: Authorization: Bearer <API_KEY>")
	}
	key = strings.TrimSpace(key)
	if _, ok := catalogue.HashKey(key); ok { // KeyID returns what is no key whole: a password, perhaps
		web.SetKeyID(r.Context(), catalogue.KeyID(key))
	}
	return a.app.Authenticate(r.Context(), key)
}
