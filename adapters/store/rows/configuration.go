package rows

import (
	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// Provider is a row of the table providers. The secret is encrypted, and empty where there is no secret.
type Provider struct {
	WebhookSecret []byte
	provider      catalogue.Provider
	parser
}

// Fields returns the columns code, name, account_id, environment, active, api_enabled, mode, enrolment_origins, success_url,
// cancel_url, rate_limit, display_name, primary_colour, logo_url, support_email, webhook_url, webhook_secret.
func (r *Provider) Fields() []any {
	p := &r.provider
	brand := &p.Branding
	return []any{&p.Code, &p.Name, &p.AccountID, (*string)(&p.Environment), &p.Active, &p.APIEnabled, (*string)(&p.Mode),
		jsonList(&r.parser, &p.EnrolmentOrigins), &p.SuccessURL, &p.CancelURL, &p.RateLimit, &brand.DisplayName, &brand.PrimaryColour,
		&brand.LogoURL, &brand.SupportEmail, &p.Destination.URL, (*blob)(&r.WebhookSecret)}
}

// webhookSecret begins the associated data of a secret; the provider's code follows.
const webhookSecret = "webhook/"

// OfProvider returns the row of a provider.
func OfProvider(p catalogue.Provider, e *secrets.Encrypter) (r Provider, err error) {
	r.provider = p
	if secret := p.Destination.Secret; secret != "" {
		r.WebhookSecret, err = e.Encrypt([]byte(secret), webhookSecret+p.Code)
	}
	return r, err
}

// Provider returns the provider of the row; without its secrets if e is nil.
func (r Provider) Provider(e *secrets.Encrypter) (catalogue.Provider, error) {
	p := r.provider
	if len(r.WebhookSecret) > 0 && e != nil {
		secret, err := e.Decrypt(r.WebhookSecret, webhookSecret+p.Code)
		r.note(err)
		p.Destination.Secret = string(secret)
	}
	return p, r.result("provider", p.Code)
}

// Course is a row of the table courses.
type Course struct {
	ProviderCode string
	position     int // within the provider
	course       catalogue.Course
	parser
}

// Fields returns the columns provider_code, code, position, name, price_cents, upfront_cents, active, environment, options, prices.
func (r *Course) Fields() []any {
	c := &r.course
	return []any{&r.ProviderCode, &c.Code, &r.position, &c.Name, (*int64)(&c.Price), (*int64)(&c.Upfront), &c.Active,
		(*string)(&c.Environment), jsonList(&r.parser, &c.Options), jsonList(&r.parser, &c.Prices)}
}

// OfCourse returns the row of a course of a provider, at its position in the catalogue.
func OfCourse(provider string, position int, c catalogue.Course) Course {
	return Course{ProviderCode: provider, position: position, course: c}
}

// Course returns the course of the row.
func (r Course) Course() (catalogue.Course, error) {
	return r.course, r.result("course", r.ProviderCode, r.course.Code)
}

// Key is a row of the table api_keys.
type Key struct {
	key catalogue.Key
	parser
}

// Fields returns the columns id, provider_code, environment, hash, created_ms, revoked_ms, label, expires_ms, last_used.
func (r *Key) Fields() []any {
	k := &r.key
	return []any{&k.ID, &k.Provider, (*string)(&k.Environment), hash{&r.parser, &k.Hash}, (*millis)(&k.CreatedAt), (*millis)(&k.RevokedAt),
		&k.Label, (*millis)(&k.ExpiresAt), &k.LastUsed}
}

// OfKey returns the row of an API key.
func OfKey(k catalogue.Key) Key { return Key{key: k} }

// Key returns the API key of the row.
func (r Key) Key() (catalogue.Key, error) { return r.key, r.result("API key", r.key.ID) }
