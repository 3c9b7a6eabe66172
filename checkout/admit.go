package checkout

import (
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
)

// Authenticate decides whether an API key lets its holder in: found is the key on record, or nil.
func Authenticate(found *catalogue.Key, env catalogue.Environment, now time.Time) error {
	switch {
	case found == nil, !found.RevokedAt.IsZero(), found.Environment != env, !found.ExpiresAt.IsZero() && !now.Before(found.ExpiresAt):
		return InvalidAPIKey()
	}
	return nil
}

// Admit decides whether a caller may use the service (section 5, rules 2 and 6): keyProvider is the provider of its
// API key, named the provider that the request names, and p the configuration, or nil.
func Admit(keyProvider string, named Optional[string], p *catalogue.Provider, env catalogue.Environment) error {
	switch {
	case named.Given && named.Value != keyProvider:
		return refuseKeyMismatch()
	case p == nil:
		return refuseUnknownProvider()
	}
	if reason := p.Usable(env); reason != nil {
		return refuseProviderNotEnabled(reason)
	}
	return nil
}
