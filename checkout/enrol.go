package checkout

import (
	"errors"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/events"
)

// The CRM makes the records of an enrolment, and completes it. What it is to do is stored first, as a job, and its answer
// settles the job:
//
//	(none) ── Reserve ──▶ reserved + JobOpen ── Opened ──▶ direct_debit_setup_required
//	   ▲                        │                                     │
//	   └─────── Released ───────┘                            Confirm.Decide
//	                                                                  ▼
//	                     confirmed ◀── Completed ── direct_debit_setup_required + JobComplete
//
// A CRM that answers within the commit settles the job in the commit that stores it (Change.Answered): the states on the way
// are then never seen. Any other is called between two commits.

// ErrSettled: nothing of the checkout waits for this answer of the CRM.
var ErrSettled = errors.New("the checkout does not wait for the CRM")

// Opening is the information from outside with which a checkout is opened.
type Opening struct {
	Now         time.Time
	Environment catalogue.Environment
	Token       Token // the first
}

// Opened returns the reserved checkout with the records that the CRM made, its first setup token, and checkout.created. The
// error is ErrSettled.
func (c Checkout) Opened(records Records, o Opening) (Change, error) {
	if c.Status != Reserved {
		return Change{}, ErrSettled
	}
	c.Status, c.Records, c.Tokens = SetupRequired, records, []Token{o.Token}
	created := events.Created(c.origin(c.RequestID, o.Environment, o.Now), c.subject(), records.DDAID, records.ContactID)
	return Change{Next: c, Events: []events.Event{created}}, nil
}

// Released removes a reserved checkout that the CRM does not take: its order and its key are free. The error is ErrSettled.
func (c Checkout) Released() (Change, error) {
	if c.Status != Reserved {
		return Change{}, ErrSettled
	}
	return Change{Next: c, Remove: true}, nil
}

// Completed returns the confirmed checkout with the ids that the CRM gave the agreement and its document,
// checkout.confirmed and, if there is a document, agreement.generated. documentID is "" without one. A mandate that has ended
// meanwhile is told of. The error is ErrSettled.
func (c Checkout) Completed(a agreement.Agreement, agreementID, documentID string, env catalogue.Environment,
	now time.Time) (Change, error) {
	if c.Status == Confirmed || !c.concluded() {
		return Change{}, ErrSettled
	}
	c.Status = Confirmed
	c.Confirmation.AgreementID, c.Confirmation.DocumentID = agreementID, documentID
	o, s := c.origin(c.Confirmation.RequestID, env, now), c.subject()
	out := []events.Event{events.Confirmed(o, s, c.Records.DDAID, agreementID)}
	if documentID != "" {
		out = append(out, events.Generated(o, s, agreementID, a.Number, documentID, a.Version))
	}
	jobs := c.mandateChanged(Observation{}, now) // it may have ended since the confirm was decided
	return Change{Next: c, Events: out, Jobs: append([]Job{c.notice(NoticeOfAgreement, c.Confirmation.RequestID, now)}, jobs...)}, nil
}

// Answered returns the change together with the CRM's answer to its job, as one commit.
func (c Change) Answered(answer Change) Change {
	c.Jobs = slices.DeleteFunc(slices.Clone(c.Jobs), func(j Job) bool { return j.Kind == JobOpen || j.Kind == JobComplete })
	c.Next = answer.Next
	c.Events = append(c.Events, answer.Events...)
	c.Jobs = append(c.Jobs, answer.Jobs...)
	c.Moments = append(c.Moments, answer.Moments...)
	return c
}

// The pauses before the next call of the CRM: they grow with every attempt while the outcome is unknown. A refused call is
// refused again until an administrator has changed something.
const (
	firstCRMPause   = 250 * time.Millisecond
	longestCRMPause = 15 * time.Second
	refusedCRMPause = 10 * time.Minute
)

// CRMPause returns the pause before the next call of the CRM after the attempt with this number, from 1, has failed.
func CRMPause(attempt int, refused bool) time.Duration {
	if refused {
		return refusedCRMPause
	}
	return min(firstCRMPause<<min(max(attempt-1, 0), 10), longestCRMPause)
}
