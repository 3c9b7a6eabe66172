package service

import (
	"context"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/ports"
)

// EmbeddedCRM returns the CRM whose records travel with the checkout: it answers within the store's commit, and its ids
// follow from the enrolment. The charge schedule of a confirmed checkout is checkout.Schedule.
func EmbeddedCRM(env catalogue.Environment) ports.CRM { return embeddedCRM{env} }

type embeddedCRM struct{ environment catalogue.Environment }

func (e embeddedCRM) Info() checkout.CRMInfo {
	return checkout.CRMInfo{Name: "embedded", Environment: e.environment, WithinCommit: true}
}

func (embeddedCRM) Open(_ context.Context, e checkout.Enrolment) (checkout.Records, error) {
	return checkout.RecordIDs(e.Environment, e.ProviderCode, e.OrderID), nil
}

func (embeddedCRM) Complete(_ context.Context, c checkout.Completion) (checkout.Completed, error) {
	done := checkout.Completed{AgreementID: c.Agreement.ID}
	if c.Document != nil {
		done.DocumentID = c.Document.ID
	}
	return done, nil
}

// UpdateAuthority does nothing: the records have the setup of the checkout.
func (embeddedCRM) UpdateAuthority(context.Context, checkout.AuthorityUpdate) error { return nil }

// End does nothing: the records have the end of the checkout.
func (embeddedCRM) End(context.Context, checkout.Ending) error { return nil }

// Agreed returns ErrNotFound: what it knows of an agreement is in the same store, and was restored with it.
func (embeddedCRM) Agreed(context.Context, checkout.EnrolmentKey) (checkout.Agreed, error) {
	return checkout.Agreed{}, ports.ErrNotFound
}

func (embeddedCRM) Ready(context.Context) error { return nil }
