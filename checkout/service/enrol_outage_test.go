package service_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

func TestWhileTheCRMIsAwayEverythingElseGoesOn(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		opened := w.opened(t, "OPEN")
		cmd := w.ready(t, "READY")
		w.sent(t, cmd, false)
		waiting := w.ready(t, "WAITING")
		stop := w.background(t)
		c.disturb(fails, nil)
		for n := range 600 { // ten minutes
			if h := w.Health(t.Context()); n > 0 && (h.CRM == nil || !h.Serving()) {
				t.Fatalf("health %+v", h)
			}
			var err error
			d := took(func() { _, err = w.Create(t.Context(), caller, create(fmt.Sprint("NEW-", n))) })
			expect(t, err, checkout.CodeBusy)
			if d > 10*time.Second || n > 10 && d > time.Second {
				t.Fatalf("create %d took %v", n, d)
			}
			if _, err := w.confirm(t, waiting); err == nil {
				t.Fatal("a confirm succeeds without the CRM")
			}
			if _, err := w.Checkout(t.Context(), caller, opened.Checkout.ID); err != nil {
				t.Fatalf("a poll: %v", err)
			}
			if page, err := w.SetupPage(t.Context(), opened.Token); err != nil || page.State != checkout.PageOpen {
				t.Fatalf("the payer's page: %+v, %v", page.State, err)
			}
			if o := w.opened(t, "OPEN"); !o.Replay {
				t.Fatal("a replay is new")
			}
			w.sent(t, cmd, true)
			time.Sleep(time.Second)
		}
		tried := c.made()
		if limit := 700 + 100; tried > limit*2 { // a probe a second, and one of readiness
			t.Errorf("the CRM was called %d times in ten minutes", tried)
		}
		if b := w.backlog(t, checkout.JobOpen); b.Waiting > 20 || b.Waiting > 0 && b.Age < 9*time.Minute {
			t.Errorf("the backlog is %+v", b)
		}
		c.disturb(nil, nil)
		time.Sleep(60 * time.Second)
		if b := w.backlog(t, checkout.JobOpen); b.Waiting != 0 {
			t.Errorf("%d enrolments wait a minute after the CRM is back", b.Waiting)
		}
		w.sent(t, waiting, false)
		stop()
	})
}

// The CRM keeps what a store has lost that was restored to an earlier moment.
func TestARestoredStoreLeadsToTheSameRecords(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		cmd := w.ready(t, "ORDER-1")
		first := w.sent(t, cmd, false).Checkout
		time.Sleep(time.Hour)
		restored := newWorld(t, c.use) // to a moment before the create
		again := restored.ready(t, "ORDER-1")
		second := restored.sent(t, again, false).Checkout
		if second.Records != first.Records || second.Confirmation.AgreementNumber != first.Confirmation.AgreementNumber ||
			second.Confirmation.AgreementID != first.Confirmation.AgreementID || second.Confirmation.DocumentID != first.Confirmation.DocumentID {
			t.Errorf("confirmed again as %+v %+v, want as %+v %+v", second.Records, second.Confirmation, first.Records, first.Confirmation)
		}
		if enrolled := c.Enrolments(); len(enrolled) != 1 || enrolled[0].Completions != 1 {
			t.Errorf("the CRM has %+v", enrolled)
		}
	})
}

// A provider's receiver that hangs must not keep the enrolments of others waiting.
func TestAReceiverThatHangsDelaysNoEnrolments(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		for n := range 40 {
			c.disturb(nth(1, ends), nil)
			dies(func() { w.Create(t.Context(), caller, create(fmt.Sprint("ORDER-", n))) })
		}
		c.disturb(nil, nil)
		w.receiver.answer = func(events.Delivery, int) error { time.Sleep(2 * time.Second); return errRefused }
		time.Sleep(15 * time.Second) // the leases
		began := time.Now()
		w.runFor(t, 3*time.Second)
		if b := w.backlog(t, checkout.JobOpen); b.Waiting != 0 {
			t.Errorf("%d enrolments wait after %v", b.Waiting, time.Since(began))
		}
	})
}

// A look whose outcome is not known is no agreement on record.
func TestALookThatFailsReportsNoAgreement(t *testing.T) {
	inWorldWithCRM(t, func(t *testing.T, w *world, c *crm) {
		cmd := w.ready(t, "ORDER-1")
		w.reports.take()
		c.disturb(fails, nil)
		_, err := w.confirm(t, cmd)
		expect(t, err, checkout.CodeBusy)
		for _, f := range w.reports.take() {
			if f.Severity == service.Error {
				t.Errorf("reported %v", f.Err)
			}
		}
	})
}
