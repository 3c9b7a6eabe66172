package memory

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

var _ ports.CRM = (*CRM)(nil)

// CRM is a ports.CRM in memory, for tests of what uses one.
type CRM struct {
	environment catalogue.Environment

	mu         sync.Mutex // guards everything below
	made       int        // records, of which each has its number in its id
	enrolments map[checkout.EnrolmentKey]*CRMEnrolment
}

// CRMEnrolment is everything that a CRM has of one enrolment.
type CRMEnrolment struct {
	Enrolment   checkout.Enrolment
	Records     checkout.Records
	Agreement   *agreement.Agreement // nil until it is stored
	Completed   checkout.Completed
	Document    []byte
	Setup       checkout.Setup // as it completed, or as its authority was updated
	Completions int            // how often it became complete
	End         checkout.End   // zero until it ended
	Ends        int            // how often it ended
}

// NewCRM returns an empty CRM.
func NewCRM(env catalogue.Environment) *CRM {
	return &CRM{environment: env, enrolments: map[checkout.EnrolmentKey]*CRMEnrolment{}}
}

// Info implements [ports.CRM].
func (c *CRM) Info() checkout.CRMInfo {
	return checkout.CRMInfo{Name: "memory", Environment: c.environment}
}

// Ready implements [ports.CRM]. Memory is always ready.
func (c *CRM) Ready(ctx context.Context) error { return ctx.Err() }

// Enrolments returns a copy of everything in the CRM.
func (c *CRM) Enrolments() (all []CRMEnrolment) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.enrolments {
		all = append(all, *e)
	}
	return all
}

func (c *CRM) newID(kind string) string {
	c.made++
	return fmt.Sprintf("%s-%d", kind, c.made)
}

// locked runs f while no other call runs, unless ctx has ended or the enrolment is of the other environment.
func (c *CRM) locked(ctx context.Context, k checkout.EnrolmentKey, f func(*CRMEnrolment) error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if k.Environment != c.environment {
		return fmt.Errorf("the environment of the enrolment is %q, that of the CRM %q", k.Environment, c.environment)
	}
	return f(c.enrolments[k])
}

// Open implements [ports.CRM].
func (c *CRM) Open(ctx context.Context, e checkout.Enrolment) (records checkout.Records, err error) {
	err = c.locked(ctx, e.EnrolmentKey, func(stored *CRMEnrolment) error {
		if stored == nil {
			stored = &CRMEnrolment{Enrolment: e, Records: checkout.Records{ContactID: c.newID("contact"),
				OpportunityID: c.newID("opportunity"), DDAID: c.newID("dda")}}
			c.enrolments[e.EnrolmentKey] = stored
		}
		if differing := checkout.Compare(stored.Enrolment.Intent, e.Intent); len(differing) > 0 {
			return &checkout.CRMRefusal{Code: "OTHER_INTENT", Made: true, OtherIntent: true, Faults: differing}
		}
		records = stored.Records
		return nil
	})
	return records, err
}

// Complete implements [ports.CRM].
func (c *CRM) Complete(ctx context.Context, done checkout.Completion) (completed checkout.Completed, err error) {
	err = c.locked(ctx, done.EnrolmentKey, func(stored *CRMEnrolment) error {
		if err := c.mayComplete(stored, done); err != nil {
			return err
		}
		c.storeAgreement(stored, done)
		c.storeDocument(stored, done)
		if stored.Completions == 0 {
			stored.Completions, stored.Setup = 1, done.Setup
		}
		completed = stored.Completed
		return nil
	})
	return completed, err
}

// UpdateAuthority implements [ports.CRM].
func (c *CRM) UpdateAuthority(ctx context.Context, u checkout.AuthorityUpdate) error {
	return c.locked(ctx, u.EnrolmentKey, func(stored *CRMEnrolment) error {
		switch {
		case stored == nil:
			return refuse("ENROLMENT_NOT_OPENED")
		case stored.Records != u.Records:
			return refuse("OTHER_RECORDS")
		case stored.Completions == 0:
			return refuse("NO_MANDATE")
		}
		on := &stored.Setup
		if on.MandateSince.After(u.Setup.MandateSince) && !u.Setup.MandateSince.IsZero() {
			return nil
		}
		on.Authorisation, on.Mandate, on.MandateReason, on.MandateSince = u.Setup.Authorisation, u.Setup.Mandate, u.Setup.MandateReason, u.Setup.MandateSince
		return nil
	})
}

// End implements [ports.CRM].
func (c *CRM) End(ctx context.Context, e checkout.Ending) error {
	return c.locked(ctx, e.EnrolmentKey, func(stored *CRMEnrolment) error {
		switch {
		case stored == nil:
			return refuse("ENROLMENT_NOT_OPENED")
		case stored.Records != e.Records:
			return refuse("OTHER_RECORDS")
		case e.Withdrawn && stored.Completions == 0:
			return refuse("NO_MANDATE")
		case !e.Withdrawn && stored.Completions > 0:
			return refuse("COMPLETE")
		case stored.Ends == 0:
			stored.End, stored.Ends = e.End, 1
		}
		return nil
	})
}

// CompleteInPart stores the agreement of a completion, and its document too if there is to be one, and ends there, as a
// call does that is interrupted.
func (c *CRM) CompleteInPart(ctx context.Context, done checkout.Completion, document bool) error {
	return c.locked(ctx, done.EnrolmentKey, func(stored *CRMEnrolment) error {
		c.storeAgreement(stored, done)
		if document {
			c.storeDocument(stored, done)
		}
		return nil
	})
}

// mayComplete refuses a completion of what was not opened, or opened or agreed otherwise.
func (c *CRM) mayComplete(e *CRMEnrolment, done checkout.Completion) error {
	for _, other := range c.enrolments {
		if other != e && other.Agreement != nil && other.Agreement.Number == done.Agreement.Number {
			return refuse("OTHER_AGREEMENT")
		}
	}
	switch {
	case e == nil:
		return refuse("ENROLMENT_NOT_OPENED")
	case e.Records != done.Records:
		return refuse("OTHER_RECORDS")
	case e.Agreement != nil && e.Agreement.Number != done.Agreement.Number:
		return refuse("OTHER_AGREEMENT")
	}
	return nil
}

func refuse(code string) error { return &checkout.CRMRefusal{Code: code} }

func (c *CRM) storeAgreement(stored *CRMEnrolment, done checkout.Completion) {
	if stored.Agreement == nil {
		a := copyOf(done.Agreement)
		stored.Agreement, stored.Completed.AgreementID = &a, c.newID("agreement")
	}
}

// storeDocument stores the document, unless there is one, or the enrolment is complete without.
func (c *CRM) storeDocument(stored *CRMEnrolment, done checkout.Completion) {
	if done.Document != nil && stored.Document == nil && stored.Completions == 0 {
		stored.Document, stored.Completed.DocumentID = copyOf(done.Document.Bytes), c.newID("document")
	}
}

// Agreed implements [ports.CRM].
func (c *CRM) Agreed(ctx context.Context, k checkout.EnrolmentKey) (agreed checkout.Agreed, err error) {
	err = c.locked(ctx, k, func(stored *CRMEnrolment) error {
		if stored == nil || stored.Agreement == nil {
			return fmt.Errorf("agreement of the enrolment: %w", ports.ErrNotFound)
		}
		a := *stored.Agreement
		agreed = checkout.Agreed{Number: a.Number, AcceptedAt: a.AcceptedAt.Truncate(time.Second), FirstPayment: a.Plan.First,
			Complete: stored.Completions > 0, Document: stored.Document != nil}
		return nil
	})
	return agreed, err
}
