package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
)

// Create opens a checkout of KOWHAI for the order.
func (s *Sandbox) Create(t testing.TB, id string) Response {
	t.Helper()
	r := s.Post(t, "KOWHAI", apiclient.CheckoutsPath, Order(CatalogueCreate, id))
	if r.Status != http.StatusCreated {
		t.Fatalf("create: %d %s", r.Status, r.Body)
	}
	return r
}

// Ready returns a checkout of KOWHAI whose bank setup is complete.
func (s *Sandbox) Ready(t testing.TB, id string) Response {
	t.Helper()
	created := s.Create(t, id)
	s.SetUp(t, created)
	return created
}

// Replay sends the create of KOWHAI for the order once more.
func (s *Sandbox) Replay(t testing.TB, id string) Response {
	t.Helper()
	r := s.Post(t, "KOWHAI", apiclient.CheckoutsPath, Order(CatalogueCreate, id))
	if r.Status != http.StatusOK || r.At("idempotent_replay") != true {
		t.Fatalf("replay: %d %s", r.Status, r.Body)
	}
	return r
}

// Payer returns a payer's browser.
func (s *Sandbox) Payer() *apiclient.Browser {
	return apiclient.NewBrowser(&http.Client{Transport: s.carrier()})
}

// carrier returns the transport of requests; of a sandbox that another process serves, the default one.
func (s *Sandbox) carrier() http.RoundTripper {
	if s.transport == nil {
		return http.DefaultTransport
	}
	return s.transport
}

// SetUp has the payer complete the bank setup through the pages' forms. A payer whose return came while the processor did not
// answer in time is shown the form again, and presses its button.
func (s *Sandbox) SetUp(t testing.TB, created Response) {
	t.Helper()
	payer := s.Payer()
	err := payer.SetUp(t.Context(), created.SetupURL())
	for tries := 0; errors.Is(err, apiclient.ErrOpenAgain) && tries < 5; tries++ {
		var p apiclient.Page
		p, err = payer.Open(t.Context(), http.MethodGet, created.SetupURL(), nil)
		if err == nil && p.Form != nil {
			p, err = payer.Submit(t.Context(), p)
		}
		if err == nil && p.Form != nil {
			err = apiclient.ErrOpenAgain
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	s.Settle(t)
}

// Confirm sends the valid confirm for a create's answer, with the key of its provider.
func (s *Sandbox) Confirm(t testing.TB, created Response) Response {
	t.Helper()
	return s.Post(t, created.Provider(), created.CheckoutPath()+apiclient.ConfirmSuffix, created.ConfirmBody())
}

// Records returns everything on record about checkouts, in the order in which they were created, but for what may be stored beside
// a call: the moments of refusals, which change nothing else, and of the payer's pages, and the attempts at looks at the processor.
func (s *Sandbox) Records(t testing.TB) (all []checkout.CheckoutRecord) {
	t.Helper()
	err := s.Store.Export(context.WithoutCancel(t.Context()), "", checkout.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Checkout: func(r checkout.CheckoutRecord) error {
			r.Moments = slices.DeleteFunc(r.Moments, func(m checkout.Moment) bool {
				return m.Kind == checkout.MomentRefused || m.Kind == checkout.MomentOpened || m.Kind == checkout.MomentReturned
			})
			for i, j := range r.Jobs {
				if j.Job.Kind == checkout.JobLook {
					r.Jobs[i] = checkout.JobRecord{Job: checkout.Job{ID: j.ID, Kind: j.Kind}}
				}
			}
			all = append(all, r)
			return nil
		},
		Unreadable: func(id string, err error) error { return fmt.Errorf("checkout %s: %w", id, err) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
