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
	case checkout.Refused(err, checkout.CodeMissingAPIKey, checkout.CodeInvalidAPIKey):
		if wait, ok := a.perSource.Allow(web.ClientNet(r.Context())); !ok {
			return service.Caller{}, rateLimited(wait)
		}
		return service.Caller{}, err
	case err != nil:
		return service.Caller{}, err
	}
	web.RequestOf(r.Context()).Provider = caller.ProviderCode
	if wait, ok := a.perKey.Allow(caller.ProviderCode + " " + caller.KeyID); !ok {
		return service.Caller{}, rateLimited(wait)
	}
	return caller, nil
}

// byAPIKey returns the caller whose key the request carries.
func (a *api) byAPIKey(r *http.Request) (service.Caller, error) {
	key, err := bearerKey(r)
	if err != nil {
		return service.Caller{}, err
	}
	return a.app.Authenticate(r.Context(), key)
}

// bearerKey returns the key in the Authorization header, and has the access log name its id. The key is not checked.
func bearerKey(r *http.Request) (string, error) {
	values := r.Header.Values("Authorization")
	if len(values) > 1 {
		return "", checkout.RepeatedAPIKey()
	}
	scheme, key, _ := strings.Cut(strings.Join(values, ""), " ")
	if scheme != "" && !strings.EqualFold(scheme, "Bearer") {
		return "", checkout.MissingAPIKey(
			"the Authorization header must be the word Bearer, a space and the key: Authorization: Bearer <API_KEY>")
	}
	key = strings.TrimSpace(key)
	if id := catalogue.KeyID(key); id != key { // what is no key may be a password
		web.RequestOf(r.Context()).KeyID = id
	}
	return key, nil
}
