package httpapi

import (
	"errors"
	"net/http"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// authenticate returns who calls. A source of too many bad keys is told to wait instead of
// what is wrong with its key; a good key is never refused for the bad ones beside it.
func (a *api) authenticate(r *http.Request) (service.Caller, error) {
	caller, err := a.caller(r)
	refusal, refused := errors.AsType[*checkout.Error](err)
	switch {
	case refused && (refusal.Code == checkout.CodeKeyMissing || refusal.Code == checkout.CodeKeyInvalid):
		if wait, ok := a.perSource.Allow(web.ClientNet(r.Context())); !ok {
			return service.Caller{}, rateLimited(wait)
		}
		return service.Caller{}, err
	case err != nil:
		return service.Caller{}, err
	}
	web.SetProvider(r.Context(), caller.ProviderCode)
	if wait, ok := a.perKey.Allow(caller.KeyID); !ok {
		return service.Caller{}, rateLimited(wait)
	}
	return caller, nil
}

// caller returns whose key the request carries.
func (a *api) caller(r *http.Request) (service.Caller, error) {
	values := r.Header.Values("Authorization")
	if len(values) > 1 {
		return service.Caller{}, checkout.Refuse(checkout.CodeKeyInvalid,
			"there must be one Authorization header, not several")
	}
	scheme, key, _ := strings.Cut(strings.Join(values, ""), " ")
	if scheme != "" && !strings.EqualFold(scheme, "Bearer") {
		return service.Caller{}, checkout.Refuse(checkout.CodeKeyMissing,
			"the Authorization header must be the word Bearer, a space and the key: Authorization: Bearer <API_KEY>")
	}
	return a.app.Authenticate(r.Context(), strings.TrimSpace(key))
}
