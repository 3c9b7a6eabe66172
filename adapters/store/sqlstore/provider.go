package sqlstore

import (
	"encoding/json"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/catalogue"
)

// associatedData returns the associated data of a provider's signing secret: it decrypts for no other provider.
func associatedData(provider string) string { return "webhook/" + provider }

// ProviderRow is a provider in the form of its row.
type ProviderRow struct {
	provider catalogue.Provider
	origins  string // JSON
	secret   []byte // the signing secret, encrypted; nil if there is no secret
}

// Provider is the columns of a provider.
var Provider = Columns[ProviderRow]{
	{Name: "code", Field: func(r *ProviderRow) any { return &r.provider.Code }},
	{Name: "name", Field: func(r *ProviderRow) any { return &r.provider.Name }},
	{Name: "account_id", Field: func(r *ProviderRow) any { return &r.provider.AccountID }},
	{Name: "environment", Field: func(r *ProviderRow) any { return (*string)(&r.provider.Environment) }},
	{Name: "active", Field: func(r *ProviderRow) any { return &r.provider.Active }},
	{Name: "api_enabled", Field: func(r *ProviderRow) any { return &r.provider.APIEnabled }},
	{Name: "mode", Field: func(r *ProviderRow) any { return (*string)(&r.provider.Mode) }},
	{Name: "enrolment_origins", Field: func(r *ProviderRow) any { return &r.origins }},
	{Name: "success_url", Field: func(r *ProviderRow) any { return &r.provider.SuccessURL }},
	{Name: "cancel_url", Field: func(r *ProviderRow) any { return &r.provider.CancelURL }},
	{Name: "display_name", Field: func(r *ProviderRow) any { return &r.provider.Branding.DisplayName }},
	{Name: "primary_colour", Field: func(r *ProviderRow) any { return &r.provider.Branding.PrimaryColour }},
	{Name: "logo_url", Field: func(r *ProviderRow) any { return &r.provider.Branding.LogoURL }},
	{Name: "support_email", Field: func(r *ProviderRow) any { return &r.provider.Branding.SupportEmail }},
	{Name: "webhook_url", Field: func(r *ProviderRow) any { return &r.provider.Destination.URL }},
	{Name: "webhook_secret", Field: func(r *ProviderRow) any { return &r.secret }},
	{Name: "rate_limit", Field: func(r *ProviderRow) any { return &r.provider.RateLimit }},
	{Name: "notice_days", Field: func(r *ProviderRow) any { return &r.provider.NoticeDays }},
}

// NewProviderRow returns the row of a provider.
func NewProviderRow(p catalogue.Provider, e *secrets.Encrypter) (ProviderRow, error) {
	r := ProviderRow{provider: p, origins: jsonText(append([]string{}, p.EnrolmentOrigins...))}
	var err error
	r.secret, err = encrypt(e, p.Destination.Secret, p.Code)
	return r, err
}

// encrypt returns a provider's signing secret as its column holds it.
func encrypt(e *secrets.Encrypter, secret, provider string) ([]byte, error) {
	if secret == "" {
		return nil, nil
	}
	return e.Encrypt([]byte(secret), associatedData(provider))
}

// decrypt returns the signing secret that its column holds.
func decrypt(e *secrets.Encrypter, ciphertext []byte, provider string) (string, error) {
	if ciphertext == nil || e == nil { // a store that is only read has no secrets
		return "", nil
	}
	plain, err := e.Decrypt(ciphertext, associatedData(provider))
	return string(plain), err
}

// Provider returns the provider of the row.
func (r ProviderRow) Provider(e *secrets.Encrypter) (catalogue.Provider, error) {
	p := r.provider
	if err := json.Unmarshal([]byte(r.origins), &p.EnrolmentOrigins); err != nil {
		return p, fmt.Errorf("enrolment origins of provider %s: %w", p.Code, err)
	}
	if len(p.EnrolmentOrigins) == 0 {
		p.EnrolmentOrigins = nil
	}
	var err error
	p.Destination.Secret, err = decrypt(e, r.secret, p.Code)
	return p, err
}

// CourseRow is a course with at most one of its options: a row of the join of both tables.
type CourseRow struct {
	provider  string
	course    catalogue.Course
	hasOption bool
	option    catalogue.Option
}

// Course is the columns of the table courses AS c, joined with its options AS o. A course has one row for each option,
// or one row if it has no courses.
var Course = Columns[CourseRow]{
	{Name: "c.provider_code", Field: func(r *CourseRow) any { return &r.provider }},
	{Name: "c.code", Field: func(r *CourseRow) any { return &r.course.Code }},
	{Name: "c.name", Field: func(r *CourseRow) any { return &r.course.Name }},
	{Name: "c.price_cents", Field: func(r *CourseRow) any { return (*int64)(&r.course.Price) }},
	{Name: "c.upfront_cents", Field: func(r *CourseRow) any { return (*int64)(&r.course.Upfront) }},
	{Name: "c.active", Field: func(r *CourseRow) any { return &r.course.Active }},
	{Name: "c.prices", Field: func(r *CourseRow) any { return (*Prices)(&r.course.Prices) }},
	{Name: "c.environment", Field: func(r *CourseRow) any { return (*string)(&r.course.Environment) }},
	{Name: "o.course_code IS NOT NULL", Field: func(r *CourseRow) any { return &r.hasOption }},
	{Name: "coalesce(o.payment_frequency, '')", Field: func(r *CourseRow) any { return (*string)(&r.option.Frequency) }},
	{Name: "coalesce(o.number_of_instalments, 0)", Field: func(r *CourseRow) any { return &r.option.Number }},
	{Name: "coalesce(o.instalment_cents, 0)", Field: func(r *CourseRow) any { return (*int64)(&r.option.Amount) }},
}

// coursesOf returns the courses of each provider. Rows of one course must be next to each other, in the order of its
// options.
func coursesOf(rows []CourseRow) map[string][]catalogue.Course {
	of := make(map[string][]catalogue.Course)
	for _, r := range rows {
		courses := of[r.provider]
		if n := len(courses); n == 0 || courses[n-1].Code != r.course.Code {
			courses = append(courses, r.course)
		}
		if r.hasOption {
			last := &courses[len(courses)-1]
			last.Options = append(last.Options, r.option)
		}
		of[r.provider] = courses
	}
	return of
}
