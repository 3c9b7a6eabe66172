package rows

import (
	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// Provider is a row of the table providers. Its columns are code, name, account_id, environment, active, api_enabled, mode,
// enrolment_origins, success_url, cancel_url, rate_limit, display_name, primary_colour, logo_url, support_email,
// webhook_url, webhook_secret. The secret is encrypted, and empty where there is no secret.
type Provider struct {
	Code, Name, AccountID, Environment             string
	Active, APIEnabled                             bool
	Mode, EnrolmentOrigins                         string // the origins are JSON
	SuccessURL, CancelURL                          string
	RateLimit                                      int64
	DisplayName, PrimaryColour, Logo, SupportEmail string
	WebhookURL                                     string
	WebhookSecret                                  []byte
}

// Fields returns pointers to the fields in the order of the columns.
func (r *Provider) Fields() []any {
	return []any{&r.Code, &r.Name, &r.AccountID, &r.Environment, &r.Active, &r.APIEnabled, &r.Mode, &r.EnrolmentOrigins, &r.SuccessURL,
		&r.CancelURL, &r.RateLimit, &r.DisplayName, &r.PrimaryColour, &r.Logo, &r.SupportEmail, &r.WebhookURL,
		&r.WebhookSecret}
}

// webhookSecret begins the associated data of a secret; the provider's code follows.
const webhookSecret = "webhook/"

// OfProvider returns the row of a provider.
func OfProvider(p catalogue.Provider, e *secrets.Encrypter) (Provider, error) {
	to := p.Destination
	secret, err := encrypt(e, to.Secret, webhookSecret+p.Code)
	return Provider{Code: p.Code, Name: p.Name, AccountID: p.AccountID, Environment: string(p.Environment), Active: p.Active,
		APIEnabled: p.APIEnabled, Mode: string(p.Mode), EnrolmentOrigins: listText(p.EnrolmentOrigins), SuccessURL: p.SuccessURL,
		CancelURL: p.CancelURL, RateLimit: int64(p.RateLimit), DisplayName: p.Branding.DisplayName,
		PrimaryColour: p.Branding.PrimaryColour, Logo: p.Branding.LogoURL, SupportEmail: p.Branding.SupportEmail, WebhookURL: to.URL,
		WebhookSecret: secret}, err
}

// Provider returns the provider of the row; without its secrets if e is nil.
func (r Provider) Provider(e *secrets.Encrypter) (catalogue.Provider, error) {
	var p parser
	v := catalogue.Provider{Code: r.Code, Name: r.Name, AccountID: r.AccountID, Environment: catalogue.Environment(r.Environment),
		Active: r.Active, APIEnabled: r.APIEnabled, Mode: catalogue.Mode(r.Mode), SuccessURL: r.SuccessURL, CancelURL: r.CancelURL,
		RateLimit:   int(r.RateLimit),
		Branding:    catalogue.Branding{DisplayName: r.DisplayName, PrimaryColour: r.PrimaryColour, LogoURL: r.Logo, SupportEmail: r.SupportEmail},
		Destination: catalogue.Destination{URL: r.WebhookURL, Secret: p.decrypt(e, r.WebhookSecret, webhookSecret+r.Code)}}
	p.json(r.EnrolmentOrigins, &v.EnrolmentOrigins)
	return v, p.result("provider", r.Code)
}

func encrypt(e *secrets.Encrypter, secret, associatedData string) ([]byte, error) {
	if secret == "" {
		return []byte{}, nil
	}
	return e.Encrypt([]byte(secret), associatedData)
}

func (p *parser) decrypt(e *secrets.Encrypter, ciphertext []byte, associatedData string) string {
	if len(ciphertext) == 0 || e == nil {
		return ""
	}
	secret, err := e.Decrypt(ciphertext, associatedData)
	p.note(err)
	return string(secret)
}

// Course is a row of the table courses. Its columns are provider_code, code, position, name, price_cents, upfront_cents, active,
// environment, options, prices.
type Course struct {
	ProviderCode, Code           string
	Position                     int64 // within the provider
	Name                         string
	PriceCents, UpfrontCents     int64
	Active                       bool
	Environment, Options, Prices string // the last two are JSON
}

// Fields returns pointers to the fields in the order of the columns.
func (r *Course) Fields() []any {
	return []any{&r.ProviderCode, &r.Code, &r.Position, &r.Name, &r.PriceCents, &r.UpfrontCents, &r.Active, &r.Environment, &r.Options,
		&r.Prices}
}

// OfCourse returns the row of a course of a provider, at its position in the catalogue.
func OfCourse(provider string, position int, c catalogue.Course) Course {
	return Course{ProviderCode: provider, Code: c.Code, Position: int64(position), Name: c.Name, PriceCents: int64(c.Price),
		UpfrontCents: int64(c.Upfront), Active: c.Active, Environment: string(c.Environment),
		Options: listText(c.Options), Prices: listText(c.Prices)}
}

// Course returns the course of the row.
func (r Course) Course() (catalogue.Course, error) {
	var p parser
	c := catalogue.Course{Code: r.Code, Name: r.Name, Price: money.Cents(r.PriceCents), Upfront: money.Cents(r.UpfrontCents),
		Active: r.Active, Environment: catalogue.Environment(r.Environment)}
	p.json(r.Options, &c.Options)
	p.json(r.Prices, &c.Prices)
	return c, p.result("course", r.ProviderCode, r.Code)
}

// Key is a row of the table api_keys. Its columns are id, provider_code, environment, hash, created_ms, revoked_ms, label, expires_ms,
// last_used.
type Key struct {
	ID, ProviderCode, Environment string
	Hash                          []byte
	CreatedMS, RevokedMS          int64
	Label                         string
	ExpiresMS                     int64
	LastUsed                      string // YYYY-MM-DD
}

// Fields returns pointers to the fields in the order of the columns.
func (r *Key) Fields() []any {
	return []any{&r.ID, &r.ProviderCode, &r.Environment, &r.Hash, &r.CreatedMS, &r.RevokedMS, &r.Label, &r.ExpiresMS, &r.LastUsed}
}

// OfKey returns the row of an API key.
func OfKey(k catalogue.Key) Key {
	return Key{ID: k.ID, ProviderCode: k.Provider, Environment: string(k.Environment), Hash: k.Hash[:], CreatedMS: Millis(k.CreatedAt),
		RevokedMS: Millis(k.RevokedAt), Label: k.Label, ExpiresMS: Millis(k.ExpiresAt), LastUsed: k.LastUsed}
}

// Key returns the API key of the row.
func (r Key) Key() (catalogue.Key, error) {
	var p parser
	k := catalogue.Key{ID: r.ID, Provider: r.ProviderCode, Environment: catalogue.Environment(r.Environment), Hash: p.hash(r.Hash),
		CreatedAt: Time(r.CreatedMS), RevokedAt: Time(r.RevokedMS), Label: r.Label, ExpiresAt: Time(r.ExpiresMS), LastUsed: r.LastUsed}
	return k, p.result("API key", r.ID)
}
