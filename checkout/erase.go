package checkout

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/money"
)

// An erasure empties what a checkout and its agreement say of a person: names, e-mail address, account holder, account,
// network address, and the ids by which the processor knows the bank account. Figures, dates, the ids of the records and the
// hash of the PDF stay. There is no way back.

// Erased reports whether the personal data has been erased.
func (c Checkout) Erased() bool { return !c.ErasedAt.IsZero() }

// Erase returns the checkout without personal data. Nothing is left by which the processor would be asked again, because its answer has
// the account holder. The store empties the agreement (agreement.Agreement.Erased), the bytes of its document, and the receipts and
// failures of the jobs in the same commit.
func (c Checkout) Erase(at time.Time, actor Actor, act *Act) Change {
	c.ErasedAt = at
	c.Student, c.Tokens, c.End.Reason = Student{}, nil, ""
	if c.Status == Confirmed {
		c.Setup.BillingRequestID, c.Setup.MandateID = "", ""
		c.Setup.AccountHolder, c.Setup.AccountMask, c.Setup.Consent.From = "", "", ""
	} else {
		c.Setup = Setup{Observation: notBegun}
	}
	return Change{At: at, Next: c, Moments: []Moment{{At: at, Kind: MomentErased, Actor: actor}}, Act: act}
}

// ErrJobsWait is returned while a job that needs the personal data is pending: an update of the CRM, or the end of the setup at the
// processor.
var ErrJobsWait = errors.New("the CRM or the processor is still to be told of it")

// ErrToEnd is returned while the checkout has ended but the processor has yet to end its direct debit, which takes the ids.
var ErrToEnd = errors.New("the processor has yet to end its direct debit")

// Erasable returns nil if no payment and no end needs the personal data on this day, in New Zealand. The error is ErrToEnd, or says until
// when payments are collected. A pending job of kind JobSync or JobEnd needs the data too.
func (c Checkout) Erasable(today money.Date, zone *time.Location) error {
	switch {
	case c.ToEnd():
		return ErrToEnd
	case c.Status != Confirmed, c.Erased(), c.Withdrawn():
		return nil
	}
	if last := c.lastCollection(zone); !last.Before(today) {
		return fmt.Errorf("payments under agreement %s are collected until %s", c.Confirmation.AgreementNumber, last)
	}
	return nil
}

// lastCollection returns the day on which the last charge of a confirmed checkout is collected, or a later one where the
// days of notice or the collector's calendar are not on record with it.
func (c Checkout) lastCollection(zone *time.Location) money.Date {
	const latest = money.BusinessDays
	notice := c.NoticeOn(money.DateOf(c.Confirmation.At.In(zone)), agreement.NoticePeriod{Days: agreement.MaxNotice}, latest)
	schedule := c.Schedule()
	payments := latest.Payments(schedule, c.Intent.Plan.Frequency, notice.Start(schedule[0].Due, latest))
	return payments[len(payments)-1].Taken
}

// Retention is the time for which personal data is kept without anybody asking for its erasure. The zero Retention keeps it for ever.
type Retention struct {
	AbandonedDays int // of a checkout that was not confirmed, from the last thing that its provider or its payer did; 0: for ever
	AgreedYears   int // of an agreement, from its last payment; 0: for ever
}

// Limits of a Retention. A link to the setup page opens for a week, and a payer may take a month. The law wants to see an
// agreement for seven years.
const (
	MinAbandonedDays = 31
	MinAgreedYears   = 7
)

// String returns the subject of the erasure, as an act has it.
func (r Retention) String() string {
	var parts []string
	if r.AbandonedDays > 0 {
		parts = append(parts, fmt.Sprintf("abandoned checkouts after %d days", r.AbandonedDays))
	}
	if r.AgreedYears > 0 {
		parts = append(parts, fmt.Sprintf("agreements %d years after their last payment", r.AgreedYears))
	}
	return strings.Join(parts, ", ")
}

// Check returns what is wrong with the retention, or nil.
func (r Retention) Check() error {
	var faults []error
	if d := r.AbandonedDays; d != 0 && d < MinAbandonedDays {
		faults = append(faults, fmt.Errorf("abandoned checkouts must be kept for %d days at least, not %d", MinAbandonedDays, d))
	}
	if y := r.AgreedYears; y != 0 && y < MinAgreedYears {
		faults = append(faults, fmt.Errorf("agreements must be kept for %d years at least after their last payment, not %d", MinAgreedYears, y))
	}
	return errors.Join(faults...)
}

// Before returns the times before which a confirmed and any other checkout was created that may have been kept for long
// enough; the zero time where they are kept for ever.
func (r Retention) Before(now time.Time) (agreed, abandoned time.Time) {
	if r.AgreedYears > 0 {
		agreed = now.AddDate(-r.AgreedYears, 0, 0)
	}
	if r.AbandonedDays > 0 {
		abandoned = now.AddDate(0, 0, -r.AbandonedDays)
	}
	return agreed, abandoned
}

// Over reports whether the personal data of a checkout has been kept for long enough.
func (r Retention) Over(c Checkout, now time.Time, zone *time.Location) bool {
	today := money.DateOf(now.In(zone))
	switch {
	case c.Erased(), c.ToEnd(), !c.Intent.Plan.Frequency.Valid():
		return false
	case c.Status == Confirmed:
		last := c.lastCollection(zone)
		return r.AgreedYears > 0 && last.After(money.Monthly, 12*r.AgreedYears).Before(today)
	}
	return r.AbandonedDays > 0 && money.DateOf(c.lastActivity().In(zone)).AddDays(r.AbandonedDays).Before(today)
}

// lastActivity returns the last time at which the provider or the payer may have done something about an open checkout: a
// setup token that was renewed opens until later.
func (c Checkout) lastActivity() time.Time {
	return slices.MaxFunc([]time.Time{c.CreatedAt, c.Newest().Expires, c.Setup.Consent.At, c.Setup.CompletedAt, c.Setup.MandateSince,
		c.End.At}, time.Time.Compare)
}

// Available returns nil, or CHECKOUT_ERASED for a checkout that was erased before it was confirmed: nothing can become of it. A
// confirmed or cancelled checkout is still served: its answers have no personal data.
func (c Checkout) Available() error {
	if c.Erased() && c.Status != Confirmed && c.Status != Cancelled {
		return refuseErased()
	}
	return nil
}

// Replayable returns nil if a create of the order is answered with the checkout: CHECKOUT_CANCELLED or CHECKOUT_ERASED otherwise.
func (c Checkout) Replayable() error {
	if c.Status == Cancelled {
		return CheckoutCancelled()
	}
	return c.Available()
}

// SetupKeys returns the keys under which the processor was asked for billing requests of the checkout, and the first of them in any
// case.
func (c Checkout) SetupKeys(env catalogue.Environment) []string {
	keys := make([]string, max(c.Setup.Try, 1))
	for i := range keys {
		keys[i] = c.SetupKey(env, i+1)
	}
	return keys
}

// SetupKey returns the key under which the processor is asked for the billing request of a try.
func (c Checkout) SetupKey(env catalogue.Environment, try int) string {
	return NaturalKey(env, c.ProviderCode, c.OrderID, "billing request "+strconv.Itoa(try))
}
