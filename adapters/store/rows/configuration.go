package rows

import (
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The columns of the tables providers, courses and api_keys.
const (
	ProviderColumns = `code, name, account_id, environment, active, api_enabled, disabled, mode, enrolment_origins, success_url, cancel_url,
		rate_limit, display_name, primary_colour, logo_url, support_email, webhook_url, webhook_secret`
	CourseColumns = `provider_code, code, position, name, price_cents, upfront_cents, active, environment, options, prices`
	KeyColumns    = `id, provider_code, environment, hash, created_ms, revoked_ms, label, expires_ms, last_used_ms`
)

// Provider is a row of the table providers. The secret is encrypted, and empty where there is no secret.
type Provider struct {
	WebhookSecret []byte
	provider      catalogue.Provider
	parser
}

// Fields returns the fields of ProviderColumns.
func (r *Provider) Fields() []any {
	p := &r.provider
	brand := &p.Branding
	return []any{&p.Code, &p.Name, &p.AccountID, (*string)(&p.Environment), &p.Active, &p.APIEnabled, &p.Disabled, (*string)(&p.Mode),
		jsonColumn(&r.parser, &p.EnrolmentOrigins), &p.SuccessURL, &p.CancelURL, &p.RateLimit, &brand.DisplayName, &brand.PrimaryColour,
		&brand.LogoURL, &brand.SupportEmail, &p.Destination.URL, (*blob)(&r.WebhookSecret)}
}

// webhookSecret begins the associated data of a secret; the provider's code follows.
const webhookSecret = "webhook/"

// OfProvider returns the row of a provider.
func OfProvider(p catalogue.Provider, e *secrets.Encrypter) (r Provider, err error) {
	r.provider, r.WebhookSecret = p, []byte{} // no column is NULL
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

// Fields returns the fields of CourseColumns.
func (r *Course) Fields() []any {
	c := &r.course
	return []any{&r.ProviderCode, &c.Code, &r.position, &c.Name, (*int64)(&c.Price), (*int64)(&c.Upfront), &c.Active,
		(*string)(&c.Environment), jsonColumn(&r.parser, &c.Options), jsonColumn(&r.parser, &c.Prices)}
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

// Fields returns the fields of KeyColumns.
func (r *Key) Fields() []any {
	k := &r.key
	return []any{&k.ID, &k.Provider, (*string)(&k.Environment), hash{&r.parser, &k.Hash}, (*millis)(&k.CreatedAt), (*millis)(&k.RevokedAt),
		&k.Label, (*millis)(&k.ExpiresAt), (*millis)(&k.LastUsed)}
}

// OfKey returns the row of an API key.
func OfKey(k catalogue.Key) Key { return Key{key: k} }

// Key returns the API key of the row.
func (r Key) Key() (catalogue.Key, error) { return r.key, r.result("API key", r.key.ID) }

// Configurations returns providers with their courses.
func Configurations(providers []catalogue.Provider, courses []Course) (list []catalogue.Configuration, err error) {
	of := map[string][]catalogue.Course{}
	for _, r := range courses {
		course, err := r.Course()
		if err != nil {
			return nil, err
		}
		of[r.ProviderCode] = append(of[r.ProviderCode], course)
	}
	for _, p := range providers {
		list = append(list, catalogue.Configuration{Provider: p, Courses: of[p.Code]})
	}
	return list, nil
}

// OfConfigurations returns the rows of all configurations. ErrDuplicate if a provider's code comes twice, or a course's of a provider.
func OfConfigurations(list []catalogue.Configuration, e *secrets.Encrypter) (providers []Provider, courses []Course, err error) {
	if twice := catalogue.Twice(list); twice != "" {
		return nil, nil, fmt.Errorf("%s: %w", twice, ports.ErrDuplicate)
	}
	for _, of := range list {
		row, err := OfProvider(of.Provider, e)
		if err != nil {
			return nil, nil, err
		}
		providers = append(providers, row)
		for i, c := range of.Courses {
			courses = append(courses, Course{ProviderCode: of.Provider.Code, position: i, course: c})
		}
	}
	return providers, courses, nil
}

// Unchanged decides that all configurations stay as they are.
func Unchanged(all []catalogue.Configuration) ([]catalogue.Configuration, []checkout.Act, error) {
	return all, nil, nil
}

// Visit passes what is configured to a visitor.
func Visit(visit checkout.Visitor, configurations []catalogue.Configuration, keys []catalogue.Key) error {
	for _, c := range configurations {
		if err := visit.Configuration(c); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if err := visit.Key(k); err != nil {
			return err
		}
	}
	return nil
}
