package sqlstore

import (
	"context"
	"fmt"

	"github.com/provider-checkout/provider-checkout/adapters/internal/secrets"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var (
	checkouts    = `SELECT ` + Checkout.Names() + ` FROM @.checkouts`
	scanCheckout = Scan(Checkout)
)

// read returns the checkout, or ErrNotFound.
func (s *Store) read(ctx context.Context, src Source, id string) (checkout.Checkout, error) {
	c, err := One(ctx, src, scanCheckout, s.statements.checkout, checkout.ProviderOf(id), id)
	return c, wrap(err, "read checkout %s", id)
}

// Checkout implements [ports.Checkouts].
func (s *Store) Checkout(ctx context.Context, id string) (checkout.Checkout, error) {
	return s.read(ctx, s.engine, id)
}

// FindCheckout implements [ports.Checkouts].
func (s *Store) FindCheckout(ctx context.Context, by checkout.Reference) (checkout.Checkout, error) {
	var w where
	what := "without a name"
	switch {
	case by.OrderID != "":
		what = "of " + by.ProviderCode + " by order"
		w.add(`provider_code = ? AND provider_order_id = ?`, by.ProviderCode, by.OrderID)
	case by.Key != "":
		what = "of " + by.ProviderCode + " by idempotency key"
		w.add(s.dialect.ByKey, by.ProviderCode, by.Key)
	case by.BillingRequestID != "":
		what = "by billing request " + by.BillingRequestID
		w.add(`billing_request_id = ? AND billing_request_id <> '' ORDER BY created_ms, id LIMIT 1`, by.BillingRequestID)
	case by.MandateID != "":
		what = "by mandate " + by.MandateID
		w.add(`mandate_id = ? AND mandate_id <> '' ORDER BY created_ms, id LIMIT 1`, by.MandateID)
	default:
		return checkout.Checkout{}, fmt.Errorf("read checkout %s: %w", what, ports.ErrNotFound)
	}
	c, err := One(ctx, s.engine, scanCheckout, checkouts+w.String(), w.args...)
	return c, wrap(err, "read checkout %s", what)
}

var agreements = `SELECT ` + Agreement.Names() + ` FROM @.agreements`

// selectAgreementOf reads the agreement of a checkout by its provider and its id.
var selectAgreementOf = agreements + ` WHERE provider_code = ? AND checkout_id = ?`

// selectMoments reads the journal of a checkout by its provider and its id.
var selectMoments = `SELECT ` + Moment.Names() + ` FROM @.moments WHERE provider_code = ? AND checkout_id = ? ORDER BY position`

var selectAgreement = agreements + ` WHERE number = ?`

const (
	selectDocument = `SELECT d.id, d.sha256, d.bytes FROM @.agreements AS a
		JOIN @.documents AS d ON d.provider_code = a.provider_code AND d.agreement_number = a.number WHERE a.number = ?`
	selectSandboxRecord = `SELECT data FROM @.sandbox_records WHERE name = ?`
)

// Agreement implements [ports.Checkouts].
func (s *Store) Agreement(ctx context.Context, number string) (agreement.Agreement, error) {
	a, err := One(ctx, s.engine, Scan(Agreement), selectAgreement, number)
	return a, wrap(err, "read agreement %s", number)
}

// Document implements [ports.Checkouts].
func (s *Store) Document(ctx context.Context, number string) (agreement.Document, error) {
	d, err := One(ctx, s.engine, Fields(func(d *agreement.Document) []any {
		return []any{&d.ID, (*SHA256)(&d.SHA256), &d.Bytes}
	}), selectDocument, number)
	if len(d.Bytes) == 0 {
		d.Bytes = nil // of an erased document; not every driver returns no bytes as nil
	}
	return d, wrap(err, "read document of agreement %s", number)
}

// Moments implements [ports.Journal].
func (s *Store) Moments(ctx context.Context, checkoutID string) ([]checkout.Moment, error) {
	list, err := All(ctx, s.engine, Scan(Moment), selectMoments, checkout.ProviderOf(checkoutID), checkoutID)
	return list, wrap(err, "read the journal of checkout %s", checkoutID)
}

// SandboxRecord returns what is stored under the name, or ports.ErrNotFound.
func (s *Store) SandboxRecord(ctx context.Context, name string) ([]byte, error) {
	data, err := One(ctx, s.engine, ScanValue[[]byte], selectSandboxRecord, name)
	return data, wrap(err, "read sandbox record %s", name)
}

var (
	apiKeys         = `SELECT ` + Key.Names() + ` FROM @.api_keys`
	selectAPIKeys   = apiKeys + ` ORDER BY created_ms, id`
	providers       = `SELECT ` + Provider.Names() + ` FROM @.providers`
	selectProvider  = providers + ` WHERE code = ?`
	selectProviders = providers + ` ORDER BY code`
	courses         = `SELECT ` + Course.Names() + ` FROM @.courses AS c
		LEFT JOIN @.plan_options AS o ON o.provider_code = c.provider_code AND o.course_code = c.code`
	selectCourse  = courses + ` WHERE c.provider_code = ? AND c.code = ? ORDER BY o.position`
	selectCourses = courses + ` ORDER BY c.provider_code, c.position, o.position`
)

// selectKey reads an API key by its hash.
var selectKey = apiKeys + ` WHERE hash = ?`

// Key implements [ports.Configuration].
func (s *Store) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	k, err := One(ctx, s.engine, Scan(Key), selectKey, hash[:])
	return k, wrap(err, "read API key")
}

// Keys implements [ports.Configurer].
func (s *Store) Keys(ctx context.Context) ([]catalogue.Key, error) {
	keys, err := All(ctx, s.engine, Scan(Key), selectAPIKeys)
	return keys, wrap(err, "read API keys")
}

// Provider implements [ports.Configuration].
func (s *Store) Provider(ctx context.Context, code string) (catalogue.Provider, error) {
	p, err := One(ctx, s.engine, scanProvider(s.encrypter), selectProvider, code)
	return p, wrap(err, "read provider %s", code)
}

// Providers implements [ports.Configuration].
func (s *Store) Providers(ctx context.Context) ([]catalogue.Provider, error) {
	list, err := All(ctx, s.engine, scanProvider(s.encrypter), selectProviders)
	return list, wrap(err, "read providers")
}

func scanProvider(e *secrets.Encrypter) func(Row) (catalogue.Provider, error) {
	return func(r Row) (catalogue.Provider, error) {
		row, err := Scan(Provider)(r)
		if err != nil {
			return catalogue.Provider{}, err
		}
		return row.Provider(e)
	}
}

// Course implements [ports.Configuration].
func (s *Store) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	rows, err := All(ctx, s.engine, Scan(Course), selectCourse, provider, code)
	if err == nil && len(rows) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return catalogue.Course{}, fmt.Errorf("read course of provider %s: %w", provider, err)
	}
	return coursesOf(rows)[provider][0], nil
}

// configurations returns every configuration in the order of the codes.
func configurations(ctx context.Context, src Source, e *secrets.Encrypter) ([]catalogue.Configuration, error) {
	providers, err := All(ctx, src, scanProvider(e), selectProviders)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	rows, err := All(ctx, src, Scan(Course), selectCourses)
	if err != nil {
		return nil, fmt.Errorf("read courses: %w", err)
	}
	courses := coursesOf(rows)
	var list []catalogue.Configuration
	for _, p := range providers {
		list = append(list, catalogue.Configuration{Provider: p, Courses: courses[p.Code]})
	}
	return list, nil
}
