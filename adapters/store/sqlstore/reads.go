package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// Reads implements the methods of package ports that only read, except the reads of checkouts.
type Reads struct {
	src       Source
	encrypter Encrypter
}

// NewReads returns the reads of a store.
func NewReads(src Source, e Encrypter) Reads { return Reads{src, e} }

// Dialect is the way in which a store reads a checkout.
type Dialect struct {
	Columns string // what is selected
	Scan    func(Row) (checkout.Checkout, error)
	// SameEmail compares the column email with a parameter, the letters A to Z in any case.
	SameEmail string
	// ByKey is the condition by which a checkout is found by its provider and its idempotency key.
	ByKey string
}

// SelectCheckout returns the statement that reads a checkout by its provider and its id.
func (d Dialect) SelectCheckout() string {
	return `SELECT ` + d.Columns + ` FROM @.checkouts WHERE provider_code = ? AND id = ?`
}

// Checkout returns the checkout, or ErrNotFound.
func (d Dialect) Checkout(ctx context.Context, src Source, id string) (checkout.Checkout, error) {
	c, err := One(ctx, src, d.Scan, d.SelectCheckout(), checkout.ProviderOf(id), id)
	if err != nil {
		return c, fmt.Errorf("read checkout %s: %w", id, err)
	}
	return c, nil
}

// FindCheckout returns the checkout that a reference names, or ErrNotFound.
func (d Dialect) FindCheckout(ctx context.Context, src Source, by checkout.Reference) (checkout.Checkout, error) {
	var w where
	what := "without a name"
	switch {
	case by.OrderID != "":
		what = "of " + by.ProviderCode + " by order"
		w.add(`provider_code = ? AND provider_order_id = ?`, by.ProviderCode, by.OrderID)
	case by.Key != "":
		what = "of " + by.ProviderCode + " by idempotency key"
		w.add(d.ByKey, by.ProviderCode, by.Key)
	case by.BillingRequestID != "":
		what = "by billing request " + by.BillingRequestID
		w.add(`billing_request_id = ? AND billing_request_id <> '' ORDER BY created_ms, id LIMIT 1`, by.BillingRequestID)
	case by.MandateID != "":
		what = "by mandate " + by.MandateID
		w.add(`mandate_id = ? AND mandate_id <> '' ORDER BY created_ms, id LIMIT 1`, by.MandateID)
	default:
		return checkout.Checkout{}, fmt.Errorf("read checkout %s: %w", what, ports.ErrNotFound)
	}
	c, err := One(ctx, src, d.Scan, `SELECT `+d.Columns+` FROM @.checkouts`+w.String(), w.args...)
	if err != nil {
		return c, fmt.Errorf("read checkout %s: %w", what, err)
	}
	return c, nil
}

var agreements = `SELECT ` + Agreement.Names() + ` FROM @.agreements`

// SelectAgreementOf reads the agreement of a checkout by its provider and its id.
var SelectAgreementOf = agreements + ` WHERE provider_code = ? AND checkout_id = ?`

// SelectMoments reads the journal of a checkout by its provider and its id.
var SelectMoments = `SELECT ` + Moment.Names() + ` FROM @.moments WHERE provider_code = ? AND checkout_id = ? ORDER BY position`

var (
	selectAgreement = agreements + ` WHERE number = ?`
	selectRefusals  = `SELECT ` + Refusal.Names() + ` FROM @.refusals WHERE day >= ? AND (provider_code = ? OR ? = '')
		ORDER BY day, provider_code, code, fields`
	selectRedeliveries = `SELECT ` + Redelivery.Names() + ` FROM @.redeliveries WHERE event_id = ? ORDER BY position`
)

const (
	selectDocument = `SELECT d.id, d.sha256, d.bytes FROM @.agreements AS a
		JOIN @.documents AS d ON d.provider_code = a.provider_code AND d.agreement_number = a.number WHERE a.number = ?`
	selectSandboxRecord = `SELECT data FROM @.sandbox_records WHERE name = ?`
)

// Agreement implements [ports.Agreements].
func (r Reads) Agreement(ctx context.Context, number string) (agreement.Agreement, error) {
	a, err := One(ctx, r.src, Scan(Agreement), selectAgreement, number)
	if err != nil {
		return a, fmt.Errorf("read agreement %s: %w", number, err)
	}
	return a, nil
}

// Document implements [ports.Agreements].
func (r Reads) Document(ctx context.Context, number string) (agreement.Document, error) {
	d, err := One(ctx, r.src, func(r Row) (d agreement.Document, err error) {
		err = r.Scan(&d.ID, (*SHA256)(&d.SHA256), &d.Bytes)
		return d, err
	}, selectDocument, number)
	if err != nil {
		return d, fmt.Errorf("read document of agreement %s: %w", number, err)
	}
	return d, nil
}

// Moments implements [ports.Journal].
func (r Reads) Moments(ctx context.Context, checkoutID string) ([]checkout.Moment, error) {
	list, err := All(ctx, r.src, Scan(Moment), SelectMoments, checkout.ProviderOf(checkoutID), checkoutID)
	if err != nil {
		return nil, fmt.Errorf("read the journal of checkout %s: %w", checkoutID, err)
	}
	return list, nil
}

// Refusals implements [ports.Operations].
func (r Reads) Refusals(ctx context.Context, provider, since string) ([]checkout.Refusal, error) {
	list, err := All(ctx, r.src, Scan(Refusal), selectRefusals, since, provider, provider)
	if err != nil {
		return nil, fmt.Errorf("read refusals: %w", err)
	}
	return list, nil
}

// Redeliveries implements [ports.Deliveries].
func (r Reads) Redeliveries(ctx context.Context, eventID string) ([]checkout.Redelivery, error) {
	list, err := All(ctx, r.src, Scan(Redelivery), selectRedeliveries, eventID)
	if err != nil {
		return nil, fmt.Errorf("read redeliveries of %s: %w", eventID, err)
	}
	return list, nil
}

// SandboxRecord returns what is stored under the name, or ports.ErrNotFound.
func (r Reads) SandboxRecord(ctx context.Context, name string) ([]byte, error) {
	data, err := One(ctx, r.src, ScanValue[[]byte], selectSandboxRecord, name)
	if err != nil {
		return nil, fmt.Errorf("read sandbox record %s: %w", name, err)
	}
	return data, nil
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

// SelectKey reads an API key by its hash.
var SelectKey = apiKeys + ` WHERE hash = ?`

// Key implements [ports.Configuration].
func (r Reads) Key(ctx context.Context, hash [32]byte) (catalogue.Key, error) {
	k, err := One(ctx, r.src, Scan(Key), SelectKey, hash[:])
	if err != nil {
		return k, fmt.Errorf("read API key: %w", err)
	}
	return k, nil
}

// Keys implements [ports.Configurer].
func (r Reads) Keys(ctx context.Context) ([]catalogue.Key, error) {
	keys, err := All(ctx, r.src, Scan(Key), selectAPIKeys)
	if err != nil {
		return nil, fmt.Errorf("read API keys: %w", err)
	}
	return keys, nil
}

// Provider implements [ports.Configuration].
func (r Reads) Provider(ctx context.Context, code string) (catalogue.Provider, error) {
	p, err := One(ctx, r.src, scanProvider(r.encrypter), selectProvider, code)
	if err != nil {
		return p, fmt.Errorf("read provider %s: %w", code, err)
	}
	return p, nil
}

// Providers implements [ports.Configuration].
func (r Reads) Providers(ctx context.Context) ([]catalogue.Provider, error) {
	list, err := All(ctx, r.src, scanProvider(r.encrypter), selectProviders)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	return list, nil
}

func scanProvider(e Encrypter) func(Row) (catalogue.Provider, error) {
	return func(r Row) (catalogue.Provider, error) {
		row, err := Scan(Provider)(r)
		if err != nil {
			return catalogue.Provider{}, err
		}
		return row.Provider(e)
	}
}

// Course implements [ports.Configuration].
func (r Reads) Course(ctx context.Context, provider, code string) (catalogue.Course, error) {
	rows, err := All(ctx, r.src, Scan(Course), selectCourse, provider, code)
	if err == nil && len(rows) == 0 {
		err = ports.ErrNotFound
	}
	if err != nil {
		return catalogue.Course{}, fmt.Errorf("read course of provider %s: %w", provider, err)
	}
	return Courses(rows)[provider][0], nil
}

// Configurations returns every configuration in the order of the codes.
func Configurations(ctx context.Context, src Source, e Encrypter) ([]catalogue.Configuration, error) {
	providers, err := All(ctx, src, scanProvider(e), selectProviders)
	if err != nil {
		return nil, fmt.Errorf("read providers: %w", err)
	}
	rows, err := All(ctx, src, Scan(Course), selectCourses)
	if err != nil {
		return nil, fmt.Errorf("read courses: %w", err)
	}
	courses := Courses(rows)
	var list []catalogue.Configuration
	for _, p := range providers {
		list = append(list, catalogue.Configuration{Provider: p, Courses: courses[p.Code]})
	}
	return list, nil
}

// OldestRefusal returns the day before which refusals are removed when one of a day is counted.
func OldestRefusal(day string) (oldest string, ok bool) {
	t, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return "", false
	}
	return t.AddDate(0, 0, -checkout.RefusalsKept).Format(time.DateOnly), true
}
