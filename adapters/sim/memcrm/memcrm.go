// Package memcrm is a CRM in memory, for tests of what is in front of a CRM.
package memcrm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// CRM implements ports.CRM. It is safe for concurrent use.
type CRM struct {
	environment catalogue.Environment

	mu      sync.Mutex
	records map[string]*Record
	before  func(checkout.Enrolment) error
	after   func(checkout.Enrolment) error
}

var _ ports.CRM = (*CRM)(nil)

// Record is the record of one enrolment in the CRM.
type Record struct {
	checkout.Enrolment          // as it was written last
	Stages             []string // in which it has been, the latest last: open, complete, cancelled, withdrawn
	Writes             int
}

// New returns a CRM without records.
func New(environment catalogue.Environment) *CRM {
	c := &CRM{environment: environment, records: map[string]*Record{}}
	c.Fail(nil, nil)
	return c
}

// Fail has each Sync fail with the error that a function returns, if it returns one: before the enrolment is written, or after. nil is
// a function that returns no error. Ready fails as before does for the zero Enrolment.
func (c *CRM) Fail(before, after func(checkout.Enrolment) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	never := func(checkout.Enrolment) error { return nil }
	if c.before = before; before == nil {
		c.before = never
	}
	if c.after = after; after == nil {
		c.after = never
	}
}

// Record returns what is there of a checkout. The Stages are nil if there is nothing.
func (c *CRM) Record(of checkout.Checkout) Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.records[of.Records(c.environment).OpportunityID]
	if r == nil {
		return Record{}
	}
	copied := *r
	copied.Stages = slices.Clone(r.Stages)
	return copied
}

// Records returns everything that is there, in the order of the checkouts' ids.
func (c *CRM) Records() (all []Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.records {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(a, b Record) int { return cmp.Compare(a.Checkout.ID, b.Checkout.ID) })
	return all
}

// Delete deletes the record of a checkout.
func (c *CRM) Delete(of checkout.Checkout) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.records, of.Records(c.environment).OpportunityID)
}

func (c *CRM) Info() checkout.CRMInfo {
	return checkout.CRMInfo{Name: "memory", Environment: c.environment, Company: "Memory"}
}

// Check implements ports.CRM: it takes everything.
func (c *CRM) Check(checkout.Enrolment) []checkout.Fault { return nil }

func (c *CRM) Ready(context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.before(checkout.Enrolment{})
}

func (c *CRM) Sync(ctx context.Context, e checkout.Enrolment) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.before(e); err != nil {
		return err
	}
	id, stage := e.Checkout.Records(c.environment).OpportunityID, stageOf(e.Checkout)
	r := c.records[id]
	switch {
	case r == nil && e.Written > 0:
		return refuse(checkout.CRMMissing, "the enrolment is not there")
	case r == nil:
		r = &Record{Stages: []string{"open"}}
		c.records[id] = r
	case r.Checkout.Revision > e.Checkout.Revision:
		return refuse(checkout.CRMAhead, "the CRM has revision %d, the store %d", r.Checkout.Revision, e.Checkout.Revision)
	case r.Agreement != nil && (e.Agreement == nil || e.Agreement.Number != r.Agreement.Number):
		return refuse(checkout.CRMOtherAgreement, "the CRM has %s, the store %q", r.Agreement.Number, e.Checkout.Confirmation.AgreementNumber)
	}
	if at := r.Stages[len(r.Stages)-1]; at != stage {
		if at != "open" && (at != "complete" || stage != "withdrawn") {
			return refuse(checkout.CRMAhead, "the stage is %s in the CRM, %s in the store", at, stage)
		}
		r.Stages = append(r.Stages, stage)
	}
	r.Enrolment = e
	r.Writes++
	return c.after(e)
}

func stageOf(c checkout.Checkout) string {
	switch {
	case c.Withdrawn():
		return "withdrawn"
	case c.Ended():
		return "cancelled"
	case c.Status == checkout.Confirmed:
		return "complete"
	}
	return "open"
}

func refuse(code, format string, args ...any) error {
	return &checkout.CRMRefusal{Code: code, Faults: []checkout.Fault{{Message: fmt.Sprintf(format, args...)}}}
}
