package memory_test

import (
	"cmp"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/crmtest"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

func TestCRM(t *testing.T) {
	crmtest.CRM(t, func(*testing.T) crmtest.Bench {
		crm := memory.NewCRM(catalogue.Sandbox)
		return crmtest.Bench{
			CRM:    crm,
			Stored: func(_ *testing.T, opportunityID string) crmtest.Stored { return stored(crm, opportunityID) },
			Stop: func(t *testing.T, c checkout.Completion, after crmtest.Step) {
				if err := crm.CompleteInPart(t.Context(), c, after == crmtest.StepDocument); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

func stored(crm *memory.CRM, opportunityID string) (s crmtest.Stored) {
	var n crmtest.Counts
	for _, e := range crm.Enrolments() {
		n.Contacts, n.Opportunities, n.Authorities = n.Contacts+1, n.Opportunities+1, n.Authorities+1
		if e.Agreement != nil {
			n.Agreements++
		}
		if e.Document != nil {
			n.Documents++
		}
		if e.Records.OpportunityID != opportunityID {
			continue
		}
		s = crmtest.Stored{Student: e.Enrolment.Student, CheckoutID: e.Enrolment.CheckoutID, Intent: e.Enrolment.Intent,
			Document: e.Document, MandateID: e.Setup.MandateID,
			AccountHolder: e.Setup.AccountHolder, Complete: e.Completions > 0, Completions: e.Completions,
			Mandate: e.Setup.Mandate, MandateReason: e.Setup.MandateReason, MandateSince: e.Setup.MandateSince,
			Authorisation: cmp.Or(e.Setup.Authorisation, checkout.CustomerInProgress), EndedAt: e.End.At, Withdrawn: e.End.Ground != ""}
		if e.Agreement != nil {
			s.Agreement, s.Price = e.Agreement.Number, e.Agreement.Pricing.Price
		}
	}
	s.Counts = n
	return s
}
