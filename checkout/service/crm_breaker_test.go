package service_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/memory"
	"github.com/provider-checkout/provider-checkout/agreement"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// unreadAgreements is a store whose agreements cannot be read.
type unreadAgreements struct{ ports.Store }

func (unreadAgreements) Agreement(context.Context, string) (agreement.Agreement, error) {
	return agreement.Agreement{}, errBroken
}

// A confirm whose agreement the store cannot read again and again says nothing about the CRM, which opens others.
func TestAStoreThatFailsDoesNotHaveTheCRMLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *service.Config) {
			c.CRM, c.Store = memory.NewCRM(catalogue.Sandbox), unreadAgreements{c.Store}
		})
		cmd := w.ready(t, "ORDER-1")
		confirmed := make(chan error)
		go func() {
			_, err := w.confirm(t, cmd)
			confirmed <- err
		}()
		for failed := 0; failed < 5; { // after as many failures of a CRM it is left alone for a second
			time.Sleep(10 * time.Millisecond)
			for _, f := range w.reports.take() {
				if errors.Is(f.Err, errBroken) {
					failed++
				}
			}
		}
		if _, err := w.Create(t.Context(), caller, create("ORDER-2")); err != nil {
			t.Errorf("create: %v", err)
		}
		expect(t, <-confirmed, checkout.CodeBusy)
	})
}
