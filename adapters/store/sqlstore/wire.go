package sqlstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// jsonText returns v as JSON. The values of this file contain texts, numbers and booleans, which always marshal.
func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// consentWire is a consent, in the column of a checkout and in the details of an agreement.
type consentWire struct {
	At         int64  `json:"at_ms"`
	From       string `json:"from,omitempty"`
	Terms      string `json:"terms,omitempty"`
	NoticeDays int    `json:"notice_days,omitempty"`
	SHA256     string `json:"disclosed_sha256,omitempty"`
	Page       string `json:"disclosed_page,omitempty"`
}

func toConsentWire(c agreement.Consent) consentWire {
	if c.IsZero() {
		return consentWire{}
	}
	return consentWire{c.At.UnixMilli(), c.From, c.Terms, c.NoticeDays, c.Disclosed.SHA256, c.Disclosed.Page}
}

func (w consentWire) toDomain() agreement.Consent {
	if w == (consentWire{}) {
		return agreement.Consent{}
	}
	return agreement.Consent{At: time.UnixMilli(w.At).UTC(), From: w.From, Terms: w.Terms, NoticeDays: w.NoticeDays,
		Disclosed: agreement.Disclosed{SHA256: w.SHA256, Page: w.Page}}
}

// Consent is a payer's consent in a column of text, as JSON. No consent is "".
type Consent agreement.Consent

func (c *Consent) value() any {
	if (*agreement.Consent)(c).IsZero() {
		return ""
	}
	return jsonText(toConsentWire(agreement.Consent(*c)))
}

// Scan implements [database/sql.Scanner].
func (c *Consent) Scan(v any) error {
	var w consentWire
	err := scanned(v, "a consent", &w, parseJSON[consentWire])
	*c = Consent(w.toDomain())
	return err
}

// parseJSON parses JSON. "" is the zero value.
func parseJSON[T any](text string) (v T, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &v)
	}
	return v, err
}

// mapped returns the result of convert for each value of a list.
func mapped[A, B any](list []A, convert func(A) B) (converted []B) {
	for _, v := range list {
		converted = append(converted, convert(v))
	}
	return converted
}

// priceWire is the price of a course from a day on, in its column.
type priceWire struct {
	From    string      `json:"from"`
	Price   money.Cents `json:"price_cents"`
	Upfront money.Cents `json:"upfront_cents"`
}

// Prices is the prices of a course in a column of text, as JSON. No prices are "".
type Prices []catalogue.Price

func (p *Prices) value() any { return pricesText(*p) }

func pricesText(prices []catalogue.Price) string {
	if len(prices) == 0 {
		return ""
	}
	return jsonText(mapped(prices, func(p catalogue.Price) priceWire { return priceWire{p.From.String(), p.Price, p.Upfront} }))
}

// Scan implements [database/sql.Scanner].
func (p *Prices) Scan(v any) error {
	var wires []priceWire
	err := scanned(v, "a list of prices", &wires, parseJSON[[]priceWire])
	*p = mapped(wires, func(w priceWire) catalogue.Price {
		from, dateErr := money.ParseDate(w.From)
		err = errors.Join(err, dateErr)
		return catalogue.Price{From: from, Price: w.Price, Upfront: w.Upfront}
	})
	return err
}

// detailsWire is the content of an agreement besides its figures.
type detailsWire struct {
	Sandbox bool        `json:"sandbox,omitempty"`
	Colour  string      `json:"colour,omitempty"`
	Lender  lenderWire  `json:"lender,omitzero"`
	Terms   []blockWire `json:"terms,omitempty"`
	Consent consentWire `json:"consent,omitzero"`
	Notice  noticeWire  `json:"notice,omitzero"`

	Disputes     disputesWire     `json:"dispute_resolution,omitzero"`
	Cancellation cancellationWire `json:"cancellation,omitzero"`
	CancelUntil  string           `json:"cancel_until,omitempty"`
	Hardship     string           `json:"hardship,omitempty"`
	DefaultFees  *[]feeWire       `json:"default_fees,omitempty"` // nil: not stated
	Authority    authorityWire    `json:"authority,omitzero"`
}

type disputesWire struct {
	Name    string `json:"scheme"`
	Contact string `json:"contact"`
}

type cancellationWire struct {
	WorkingDays int    `json:"working_days"`
	How         string `json:"how"`
}

type feeWire struct {
	Name  string `json:"name"`
	Cents int64  `json:"cents"`
	When  string `json:"when"`
}

func toFeesWire(l agreement.FeeList) *[]feeWire {
	if !l.Stated {
		return nil
	}
	list := append([]feeWire{}, mapped(l.Fees, func(f agreement.Fee) feeWire { return feeWire{f.Name, int64(f.Amount), f.When} })...)
	return &list
}

func toFeeList(w *[]feeWire) agreement.FeeList {
	if w == nil {
		return agreement.FeeList{}
	}
	return agreement.FeeList{Stated: true, Fees: mapped(*w, func(f feeWire) agreement.Fee {
		return agreement.Fee{Name: f.Name, Amount: money.Cents(f.Cents), When: f.When}
	})}
}

type authorityWire struct {
	Initiator         string         `json:"initiator,omitempty"`
	AuthorisationCode string         `json:"authorisation_code,omitempty"`
	Statement         string         `json:"statement,omitempty"`
	Form              string         `json:"form,omitempty"`
	Calendar          money.Calendar `json:"collection_days,omitempty"`
	Conditions        []blockWire    `json:"conditions,omitempty"`
}

// IsZero has an authority that says nothing left out.
func (w authorityWire) IsZero() bool { return w.toDomain().IsZero() }

func toAuthorityWire(a agreement.Authority) authorityWire {
	return authorityWire{a.Initiator, a.AuthorisationCode, a.Statement, a.Form, a.Calendar, mapped(a.Conditions, toBlockWire)}
}

func (w authorityWire) toDomain() agreement.Authority {
	return agreement.Authority{Initiator: w.Initiator, AuthorisationCode: w.AuthorisationCode, Statement: w.Statement, Form: w.Form,
		Calendar: w.Calendar, Conditions: mapped(w.Conditions, toBlock)}
}

func toBlockWire(b agreement.Block) blockWire { return blockWire(b) }
func toBlock(w blockWire) agreement.Block     { return agreement.Block(w) }

type lenderWire struct {
	Name         string `json:"name"`
	Address      string `json:"address"`
	Registration string `json:"registration,omitempty"`
	Email        string `json:"email,omitempty"`
}

type blockWire struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

type noticeWire struct {
	Days      int    `json:"days"`
	NotBefore string `json:"not_before"`
}

// Details is the content of an agreement besides its figures, in a column of text as JSON: whether it is of the sandbox,
// the provider's colour, the lender, the operator's terms, the payer's consent and the notice. It is "" for an
// agreement without any of them.
type Details agreement.Agreement

func (d *Details) value() any {
	w := detailsWire{Sandbox: d.Sandbox, Colour: d.Provider.Colour, Lender: lenderWire(d.Terms.Lender),
		Terms: mapped(d.Terms.Blocks, toBlockWire), Consent: toConsentWire(d.DirectDebit.Consent),
		Disputes: disputesWire(d.Terms.Disputes), Cancellation: cancellationWire(d.Terms.Cancellation), Hardship: d.Terms.Hardship,
		DefaultFees: toFeesWire(d.Terms.DefaultFees), Authority: toAuthorityWire(d.Terms.Authority), CancelUntil: dateText(d.CancelUntil)}
	if d.Notice != (agreement.Notice{}) {
		w.Notice = noticeWire{d.Notice.Days, dateText(d.Notice.NotBefore)}
	}
	if text := jsonText(w); text != "{}" {
		return text
	}
	return ""
}

// Scan implements [database/sql.Scanner].
func (d *Details) Scan(v any) (err error) {
	var w detailsWire
	if err := scanned(v, "details", &w, parseJSON[detailsWire]); err != nil {
		return err
	}
	d.Sandbox, d.Provider.Colour = w.Sandbox, w.Colour
	d.DirectDebit.Consent = w.Consent.toDomain()
	d.Terms = agreement.Terms{Lender: agreement.Lender(w.Lender), Disputes: agreement.DisputeScheme(w.Disputes),
		Cancellation: agreement.Cancellation(w.Cancellation), Hardship: w.Hardship, DefaultFees: toFeeList(w.DefaultFees),
		Authority: w.Authority.toDomain(), Blocks: mapped(w.Terms, toBlock)}
	d.Notice.Days = w.Notice.Days
	if d.Notice.NotBefore, err = parseDate(w.Notice.NotBefore); err != nil {
		return fmt.Errorf("details: notice: %w", err)
	}
	if d.CancelUntil, err = parseDate(w.CancelUntil); err != nil {
		return fmt.Errorf("details: right to cancel: %w", err)
	}
	return nil
}
