package checkout

import (
	"errors"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
)

// A CRM outside of the store cannot take part in the store's transaction. It is called between two: the first stores that
// the call is to be made, as the checkout's Step, and the second what came of it. The process that makes the call has the step
// leased. One that ends, stops or loses the answer leaves the step behind; another then leases it and makes the same call
// again, which leads to the same records.
//
//	(none) ── Reserve ──▶ reserved, StepOpen ── Opened ──▶ direct_debit_setup_required
//	   ▲                        │                                     │
//	   └─────── Release ────────┘                            Confirm.Decide
//	                                                                  ▼
//	                         confirmed ◀── Completed ── direct_debit_setup_required, StepComplete
//
// A step is leased from one process to the next (Lease), and put off after an attempt that failed (Postpone).

// StepKind says what a CRM outside of the store has to do for a checkout.
type StepKind string

const (
	StepNone     StepKind = ""         // nothing, or the CRM is the store itself
	StepOpen     StepKind = "open"     // make the records. Until then the checkout is Reserved
	StepComplete StepKind = "complete" // store the agreement and complete the enrolment. The confirm is decided
)

// Step is a call of the CRM that is to be made. The zero Step is none.
type Step struct {
	Kind    StepKind
	Epoch   int64     // the fencing token: counts the leases of the step, from 1 on
	Until   time.Time // the lease ends, and the step is due
	Since   time.Time // the step began
	Failure string    // why the latest attempt failed; "" if none has
}

var (
	// ErrNotDue: the checkout has no step, or one that is leased or put off.
	ErrNotDue = errors.New("no step of the checkout is due")

	// ErrLeaseLost: the step was leased to another since, or is done.
	ErrLeaseLost = errors.New("the step of the checkout is leased to another, or done")
)

// Due reports whether the step may be leased.
func (s Step) Due(now time.Time) bool { return s.Kind != StepNone && !now.Before(s.Until) }

// heldBy reports whether the step is still that of a lease.
func (s Step) heldBy(lease Step) bool { return s.Kind == lease.Kind && s.Epoch == lease.Epoch }

// concluded reports whether the checkout's agreement is on record.
func (c Checkout) concluded() bool { return c.Status == Confirmed || c.Step.Kind == StepComplete }

// Lease returns the checkout with its step leased until a time, or ErrNotDue.
func (c Checkout) Lease(now, until time.Time) (Change, error) {
	if !c.Step.Due(now) {
		return Change{}, ErrNotDue
	}
	c.Step.Epoch++
	c.Step.Until = until
	return Change{Next: c}, nil
}

// The decisions below are those of who has the step leased. They return ErrLeaseLost to any other.

// Opened returns the checkout with the records that the CRM made, its first setup token, and checkout.created.
func (c Checkout) Opened(lease Step, records Records, o Opening) (Change, error) {
	if !c.Step.heldBy(lease) || lease.Kind != StepOpen {
		return Change{}, ErrLeaseLost
	}
	return c.opened(records, o), nil
}

func (c Checkout) opened(records Records, o Opening) Change {
	c.Status, c.Step = SetupRequired, Step{}
	c.Records, c.Tokens = records, []Token{o.Token}
	created := events.Created(c.origin(c.RequestID, o.Environment, o.Now), c.subject(), records.DDAID, records.ContactID)
	return Change{Next: c, Events: []events.Event{created}}
}

// Release removes a reserved checkout that the CRM does not take, and of which it has nothing, or another enrolment: its order
// and its key are free.
func (c Checkout) Release(lease Step) (Change, error) {
	if !c.Step.heldBy(lease) || lease.Kind != StepOpen {
		return Change{}, ErrLeaseLost
	}
	return Change{Next: c, Remove: true}, nil
}

// Completed returns the confirmed checkout with the ids that the CRM gave the agreement and its document,
// checkout.confirmed and, if there is a document, agreement.generated. documentID is "" without one.
func (c Checkout) Completed(lease Step, a agreement.Agreement, agreementID, documentID string, env catalogue.Environment,
	now time.Time) (Change, error) {
	if !c.Step.heldBy(lease) || lease.Kind != StepComplete {
		return Change{}, ErrLeaseLost
	}
	return c.completed(a, agreementID, documentID, env, now), nil
}

func (c Checkout) completed(a agreement.Agreement, agreementID, documentID string, env catalogue.Environment, now time.Time) Change {
	c.Status, c.Step = Confirmed, Step{}
	c.Confirmation.AgreementID, c.Confirmation.DocumentID = agreementID, documentID
	o, s := c.origin(c.Confirmation.RequestID, env, now), c.subject()
	out := []events.Event{events.Confirmed(o, s, c.Records.DDAID, agreementID)}
	if documentID != "" {
		out = append(out, events.Generated(o, s, agreementID, a.Number, documentID, a.Version))
	}
	return Change{Next: c, Events: out, Notices: []Notice{c.notice(NoticeOfAgreement, now)}}
}

// StepOutcome is why an attempt at a step failed.
type StepOutcome int

const (
	StepUnknown StepOutcome = iota // the CRM may have done it
	StepRefused                    // the CRM does not take it
)

// How long a step is put off: longer with every attempt, as long as its outcome is unknown. One that is refused will be
// until an administrator has changed something.
const (
	firstPause   = 250 * time.Millisecond
	longestPause = 15 * time.Second
	refusedPause = 10 * time.Minute
)

// Postpone returns the checkout with its step put off after an attempt that failed, and given back.
func (c Checkout) Postpone(lease Step, outcome StepOutcome, failure string, now time.Time) (Change, error) {
	if !c.Step.heldBy(lease) {
		return Change{}, ErrLeaseLost
	}
	pause := refusedPause
	if outcome == StepUnknown {
		pause = min(firstPause<<min(c.Step.Epoch-1, 10), longestPause)
	}
	c.Step.Until, c.Step.Failure = now.Add(pause), failure
	return Change{Next: c}, nil
}

// Hasten returns the checkout with its step due now: an operator wants it to be attempted at once. What its holder is
// doing goes on, and is refused if another has leased the step by then.
func (c Checkout) Hasten(now time.Time) (Change, error) {
	if c.Step.Kind == StepNone {
		return Change{}, ErrNotDue
	}
	c.Step.Until = now
	return Change{Next: c}, nil
}
