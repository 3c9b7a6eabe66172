package agreement

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/money"
)

// factsFormat is the version of the form of the facts.
const factsFormat = 1

// cents is an amount in JSON: a number of dollars with its cents.
type cents money.Cents

func (c cents) MarshalJSON() ([]byte, error) { return []byte(money.Cents(c).String()), nil }

func (c *cents) UnmarshalJSON(text []byte) error {
	parsed, err := money.Parse(string(text))
	*c = cents(parsed)
	return err
}

// day is a date in JSON; "" without one.
type day money.Date

func (d day) MarshalText() ([]byte, error) {
	if money.Date(d).IsZero() {
		return nil, nil
	}
	return []byte(money.Date(d).String()), nil
}

func (d *day) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*d = day{}
		return nil
	}
	parsed, err := time.Parse(time.DateOnly, string(text)) // of a long plan, later than any date that is agreed
	*d = day(money.DateOf(parsed))
	return err
}

// instant is a time in JSON, in UTC to the millisecond; "" without one.
type instant time.Time

const instantForm = "2006-01-02T15:04:05.000Z"

func (i instant) MarshalText() ([]byte, error) {
	if time.Time(i).IsZero() {
		return nil, nil
	}
	return []byte(time.Time(i).UTC().Format(instantForm)), nil
}

func (i *instant) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*i = instant{}
		return nil
	}
	parsed, err := time.Parse(instantForm, string(text))
	*i = instant(parsed)
	return err
}

// factsWire is the facts of an agreement, as they are attached to its document and kept on record.
type factsWire struct {
	Format     int     `json:"format"`
	Number     string  `json:"agreement_number"`
	Version    string  `json:"agreement_version"`
	Sandbox    bool    `json:"sandbox"`
	CheckoutID string  `json:"checkout_id"`
	OrderID    string  `json:"provider_order_id"`
	AcceptedAt instant `json:"accepted_at"`
	SignedBy   string  `json:"signed_by"`
	Requests   struct {
		Create  string `json:"create"`
		Confirm string `json:"confirm"`
	} `json:"request_ids"`
	Provider struct {
		Code   string `json:"provider_code"`
		Name   string `json:"name"`
		Email  string `json:"support_email"`
		Colour string `json:"primary_colour"`
	} `json:"provider"`
	Student struct {
		FirstName string `json:"first_name"`
		LastName  string `json:"last_name"`
		Email     string `json:"email"`
	} `json:"student"`
	Course struct {
		Code string `json:"course_code"`
		Name string `json:"course_name"`
	} `json:"course"`
	Pricing struct {
		Price     cents `json:"course_price"`
		Upfront   cents `json:"upfront_payment"`
		Principal cents `json:"amount_to_finance"`
	} `json:"pricing"`
	Plan struct {
		Frequency money.Frequency `json:"payment_frequency"`
		Number    int             `json:"number_of_instalments"`
		Regular   cents           `json:"instalment_amount"`
		Final     cents           `json:"final_instalment_amount"`
		First     day             `json:"first_payment_date"`
	} `json:"plan"`
	Schedule    []chargeWire `json:"schedule"`
	DirectDebit struct {
		AuthorityID   string      `json:"dda_id"`
		MandateID     string      `json:"mandate_id"`
		AccountHolder string      `json:"account_holder_name"`
		AccountMask   AccountMask `json:"account_mask"`
		AuthorisedAt  instant     `json:"authorised_at"`
		Consent       struct {
			At     instant    `json:"given_at"`
			From   string     `json:"from"`
			Terms  string     `json:"terms"`
			Notice periodWire `json:"notice"`
			SHA256 string     `json:"disclosed_sha256"`
			Page   string     `json:"page"`
		} `json:"consent"`
	} `json:"direct_debit"`
	Notice struct {
		periodWire
		NotBefore day `json:"not_before"`
	} `json:"notice"`
	Terms       termsWire `json:"terms"`
	CancelUntil day       `json:"cancel_until"`
}

// periodWire is a period of notice.
type periodWire struct {
	Days     int  `json:"days"`
	Business bool `json:"business_days"` // or calendar days
}

// chargeWire is a charge with its planned day, the day before which it may not be collected, and the day of its collection.
type chargeWire struct {
	Sequence  int              `json:"sequence"`
	Type      money.ChargeType `json:"type"`
	Due       day              `json:"due_date"`
	NotBefore day              `json:"not_before"`
	Taken     day              `json:"collection_date"`
	Amount    cents            `json:"amount"`
}

type termsWire struct {
	Lender struct {
		Name         string `json:"name"`
		Address      string `json:"address"`
		Registration string `json:"registration"`
		Email        string `json:"email"`
	} `json:"lender"`
	Disputes struct {
		Name    string `json:"scheme"`
		Contact string `json:"contact"`
	} `json:"dispute_resolution"`
	Cancellation struct {
		WorkingDays int    `json:"working_days"`
		How         string `json:"how"`
		PayWithin   int    `json:"pay_within_working_days"` // 0: it is not said
	} `json:"cancellation"`
	Hardship   string     `json:"hardship"`
	NoticeDays int        `json:"notice_days"`                   // 0: the usual ones
	Frequent   int        `json:"frequent_notice_business_days"` // 0: notice_days
	Fees       *[]feeWire `json:"default_fees"`                  // null: it is not said whether there are any
	Debits     struct {
		Initiator  string         `json:"initiator"`
		Code       string         `json:"authorisation_code"`
		Statement  string         `json:"statement"`
		Form       string         `json:"form"`
		Calendar   money.Calendar `json:"collection_days"`
		Conditions []blockWire    `json:"conditions"`
	} `json:"who_debits"`
	Blocks []blockWire `json:"terms"`
}

type feeWire struct {
	Name   string `json:"name"`
	Amount cents  `json:"amount"`
	When   string `json:"when"`
}

type blockWire struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

// Facts returns the facts of the agreement as JSON, an object in one line. The same agreement has the same bytes.
func (a Agreement) Facts() []byte {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	_ = e.Encode(a.wire()) // no value can fail
	return text.Bytes()
}

// ParseFacts returns the agreement whose facts these are.
func ParseFacts(text []byte) (a Agreement, err error) {
	var w factsWire
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return a, fmt.Errorf("read the facts of an agreement: %w", err)
	}
	if w.Format != factsFormat {
		return a, fmt.Errorf("the facts of an agreement have the form %d, not %d", w.Format, factsFormat)
	}
	return w.domain(), nil
}

// Differences returns the names of the facts that two agreements state in different ways, such as "student.last_name", in their order.
func (a Agreement) Differences(b Agreement) (names []string) {
	var one, other any
	_, _ = json.Unmarshal(a.Facts(), &one), json.Unmarshal(b.Facts(), &other) // they are JSON
	differ(&names, "", one, other)
	slices.Sort(names)
	return names
}

// differ adds the names of the values below a name that differ.
func differ(names *[]string, name string, a, b any) {
	one, isObject := a.(map[string]any)
	other, areObjects := b.(map[string]any)
	if !isObject || !areObjects {
		if fmt.Sprint(a) != fmt.Sprint(b) {
			*names = append(*names, name)
		}
		return
	}
	for field := range one {
		differ(names, strings.TrimPrefix(name+"."+field, "."), one[field], other[field])
	}
}

func (a Agreement) wire() (w factsWire) {
	w.Format, w.Number, w.Version, w.Sandbox, w.CheckoutID, w.OrderID = factsFormat, a.Number, a.Version, a.Sandbox, a.CheckoutID, a.OrderID
	w.AcceptedAt, w.SignedBy, w.CancelUntil = instant(a.AcceptedAt), a.SignedBy, day(a.CancelUntil)
	w.Requests.Create, w.Requests.Confirm = a.Requests.Create, a.Requests.Confirm
	w.Provider.Code, w.Provider.Name, w.Provider.Email, w.Provider.Colour = a.Provider.Code, a.Provider.Name, a.Provider.SupportEmail, a.Provider.Colour
	w.Student.FirstName, w.Student.LastName, w.Student.Email = a.Student.FirstName, a.Student.LastName, a.Student.Email
	w.Course.Code, w.Course.Name = a.Course.Code, a.Course.Name
	w.Pricing.Price, w.Pricing.Upfront, w.Pricing.Principal = cents(a.Pricing.Price), cents(a.Pricing.Upfront), cents(a.Pricing.Principal)
	w.Plan.Frequency, w.Plan.Number, w.Plan.First = a.Plan.Frequency, a.Plan.Number, day(a.Plan.First)
	w.Plan.Regular, w.Plan.Final = cents(a.Plan.Regular), cents(a.Plan.Final)
	payments := a.Payments()
	for i, c := range a.Schedule {
		w.Schedule = append(w.Schedule, chargeWire{c.Sequence, c.Type, day(c.Due), day(payments[i].Due), day(payments[i].Taken), cents(c.Amount)})
	}
	d, debit, c := a.DirectDebit, &w.DirectDebit, a.DirectDebit.Consent
	debit.AuthorityID, debit.MandateID, debit.AccountHolder, debit.AccountMask = d.AuthorityID, d.MandateID, d.AccountHolder, d.AccountMask
	debit.AuthorisedAt, debit.Consent.At = instant(d.AuthorisedAt), instant(c.At)
	debit.Consent.From, debit.Consent.Terms, debit.Consent.Notice = c.From, c.Terms, periodWire(c.Period)
	debit.Consent.SHA256, debit.Consent.Page = c.Disclosed.SHA256, c.Disclosed.Page
	w.Notice.periodWire, w.Notice.NotBefore = periodWire(a.Notice.Period), day(a.Notice.NotBefore)
	w.Terms = a.Terms.wire()
	return w
}

func (t Terms) wire() (w termsWire) {
	w.Lender.Name, w.Lender.Address, w.Lender.Registration, w.Lender.Email = t.Lender.Name, t.Lender.Address, t.Lender.Registration, t.Lender.Email
	w.Disputes.Name, w.Disputes.Contact = t.Disputes.Name, t.Disputes.Contact
	w.Cancellation.WorkingDays, w.Cancellation.How, w.Hardship = t.Cancellation.WorkingDays, t.Cancellation.How, t.Hardship
	w.Cancellation.PayWithin, w.NoticeDays, w.Frequent = t.Cancellation.PayWithin, t.NoticeDays, t.FrequentNotice
	if t.DefaultFees.Stated {
		fees := []feeWire{}
		for _, f := range t.DefaultFees.Fees {
			fees = append(fees, feeWire{f.Name, cents(f.Amount), f.When})
		}
		w.Fees = &fees
	}
	a := t.Authority
	w.Debits.Initiator, w.Debits.Code, w.Debits.Statement, w.Debits.Form, w.Debits.Calendar = a.Initiator, a.AuthorisationCode, a.Statement, a.Form, a.Calendar
	for _, b := range a.Conditions {
		w.Debits.Conditions = append(w.Debits.Conditions, blockWire(b))
	}
	for _, b := range t.Blocks {
		w.Blocks = append(w.Blocks, blockWire(b))
	}
	return w
}

func (w factsWire) domain() Agreement {
	c := w.DirectDebit.Consent
	a := Agreement{
		Number: w.Number, Version: w.Version, CheckoutID: w.CheckoutID, OrderID: w.OrderID, AcceptedAt: w.AcceptedAt.time(), Sandbox: w.Sandbox,
		SignedBy: w.SignedBy,
		Requests: Requests{Create: w.Requests.Create, Confirm: w.Requests.Confirm},
		Provider: Party{Code: w.Provider.Code, Name: w.Provider.Name, SupportEmail: w.Provider.Email, Colour: w.Provider.Colour},
		Student:  Student{FirstName: w.Student.FirstName, LastName: w.Student.LastName, Email: w.Student.Email},
		Course:   Course{Code: w.Course.Code, Name: w.Course.Name},
		Pricing: money.Pricing{Price: money.Cents(w.Pricing.Price), Upfront: money.Cents(w.Pricing.Upfront),
			Principal: money.Cents(w.Pricing.Principal)},
		Plan: money.Plan{Frequency: w.Plan.Frequency, First: money.Date(w.Plan.First), Instalments: money.Instalments{Number: w.Plan.Number,
			Regular: money.Cents(w.Plan.Regular), Final: money.Cents(w.Plan.Final)}},
		DirectDebit: DirectDebit{AuthorityID: w.DirectDebit.AuthorityID, MandateID: w.DirectDebit.MandateID,
			AccountHolder: w.DirectDebit.AccountHolder, AccountMask: w.DirectDebit.AccountMask, AuthorisedAt: w.DirectDebit.AuthorisedAt.time(),
			Consent: Consent{At: c.At.time(), From: c.From, Terms: c.Terms, Period: NoticePeriod(c.Notice), Disclosed: Disclosed{c.SHA256, c.Page}}},
		Notice: Notice{Period: NoticePeriod(w.Notice.periodWire), NotBefore: money.Date(w.Notice.NotBefore)},
		Terms:  w.Terms.domain(), CancelUntil: money.Date(w.CancelUntil),
	}
	for _, ch := range w.Schedule {
		a.Schedule = append(a.Schedule, money.Charge{Sequence: ch.Sequence, Type: ch.Type, Due: money.Date(ch.Due), Amount: money.Cents(ch.Amount)})
	}
	return a
}

func (i instant) time() time.Time { return time.Time(i) }

func (w termsWire) domain() Terms {
	d := w.Debits
	t := Terms{
		Lender:       Lender{Name: w.Lender.Name, Address: w.Lender.Address, Registration: w.Lender.Registration, Email: w.Lender.Email},
		Disputes:     DisputeScheme{Name: w.Disputes.Name, Contact: w.Disputes.Contact},
		Cancellation: Cancellation{WorkingDays: w.Cancellation.WorkingDays, How: w.Cancellation.How, PayWithin: w.Cancellation.PayWithin},
		Hardship:     w.Hardship,
		NoticeDays:   w.NoticeDays, FrequentNotice: w.Frequent,
		Authority: Authority{Initiator: d.Initiator, AuthorisationCode: d.Code, Statement: d.Statement, Form: d.Form, Calendar: d.Calendar},
	}
	if w.Fees != nil {
		t.DefaultFees.Stated = true
		for _, f := range *w.Fees {
			t.DefaultFees.Fees = append(t.DefaultFees.Fees, Fee{f.Name, money.Cents(f.Amount), f.When})
		}
	}
	for _, b := range d.Conditions {
		t.Authority.Conditions = append(t.Authority.Conditions, Block(b))
	}
	for _, b := range w.Blocks {
		t.Blocks = append(t.Blocks, Block(b))
	}
	return t
}
