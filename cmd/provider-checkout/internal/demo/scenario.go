package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/provider-checkout/provider-checkout/events"
)

// scenario runs the whole flow as the provider, the payer and the operator, and stops at the
// first unexpected result.
type scenario struct {
	*demonstration
	session
	created Object // the answer to the create
	number  string // of the agreement
}

// walk runs the scenario and prints it.
func (d *demonstration) walk(ctx context.Context, out io.Writer) error {
	s := &scenario{demonstration: d, session: session{&http.Client{Timeout: 15 * time.Second}, out}}
	for _, step := range []struct {
		title string
		run   func(context.Context) error
	}{
		{"the service says what it is", s.environment},
		{"the provider creates a checkout", s.create},
		{"the provider sends the same create again", s.replay},
		{"the payer sets up the direct debit", s.setUp},
		{"the provider polls until the setup is complete", s.poll},
		{"the provider confirms", s.confirm},
		{"the provider sends the same confirm again", s.repeat},
		{"the operator takes out the agreement", s.exportPDF},
	} {
		s.note("%s", step.title)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
		s.note("")
	}
	s.note("everything held")
	return nil
}

func (s *scenario) environment(ctx context.Context) error {
	_, err := s.call(ctx, http.MethodGet, "/v1/environment", nil, http.StatusOK,
		expectEqual("environment", "sandbox"),
		expectEqual("readiness.ready_for_api_calls", true),
		expectEqual("readiness.webhook_destinations_configured", true))
	return err
}

// The provider of the scenario, its order and its student.
const (
	providerCode = "KOWHAI"
	orderID      = "ENROL-1001"
	studentFirst = "Aroha"
	studentLast  = "Tāmati"
	studentEmail = "aroha@example.nz"
)

func (s *scenario) createBody() fields {
	return fields{
		"provider": fields{"provider_code": providerCode, "provider_order_id": orderID},
		"student":  fields{"first_name": studentFirst, "last_name": studentLast, "email": studentEmail},
		"course":   fields{"course_code": "NZDIP-BUS"},
		"plan":     fields{"payment_frequency": "Weekly", "first_payment_date": s.FirstPayment},
	}
}

func (s *scenario) create(ctx context.Context) (err error) {
	s.created, err = s.call(ctx, http.MethodPost, "/v1/provider-checkouts", s.createBody(), http.StatusCreated,
		expectEqual("idempotent_replay", false),
		expectEqual("checkout.status", "direct_debit_setup_required"),
		expectEqual("direct_debit.setup_complete", false),
		expectEqual("pricing.course_price", json.Number("2990.00")),
		expectEqual("plan.number_of_instalments", json.Number("52")),
		expectPresent("checkout.checkout_id"))
	if err != nil {
		return err
	}
	return s.await(ctx, events.CheckoutCreated)
}

func (s *scenario) replay(ctx context.Context) error {
	_, err := s.call(ctx, http.MethodPost, "/v1/provider-checkouts", s.createBody(), http.StatusOK,
		expectEqual("idempotent_replay", true),
		expectEqual("idempotency_key", providerCode+":"+orderID),
		s.expectSame("checkout.checkout_id"),
		s.expectSame("records.opportunity_id"))
	return err
}

func (s *scenario) setUp(ctx context.Context) error {
	return (&Browser{s.session}).SetUp(ctx, s.created.Text("direct_debit.setup_url"))
}

// poll polls until the setup is complete: a processor that notifies does so in its own time.
func (s *scenario) poll(ctx context.Context) error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		polled, err := s.call(ctx, http.MethodGet, s.path(), nil, http.StatusOK)
		if err != nil || polled.At("direct_debit.setup_complete") == true {
			break
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	_, err := s.call(ctx, http.MethodGet, s.path(), nil, http.StatusOK,
		expectEqual("checkout.status", "direct_debit_setup_required"),
		expectEqual("direct_debit.setup_complete", true),
		expectEqual("direct_debit.billing_request_status", "fulfilled"),
		expectPresent("direct_debit.mandate_status"))
	return err
}

// path returns the path of the checkout.
func (s *scenario) path() string {
	return "/v1/provider-checkouts/" + s.created.Text("checkout.checkout_id")
}

func (s *scenario) confirmBody() fields {
	return fields{
		"provider": fields{"provider_code": providerCode, "provider_order_id": orderID},
		"checkout": fields{
			"checkout_id":    s.created.Text("checkout.checkout_id"),
			"checkout_token": s.created.Text("direct_debit.token"),
			"opportunity_id": s.created.Text("records.opportunity_id"),
			"dda_id":         s.created.Text("direct_debit.dda_id"),
		},
		"payment": fields{"payment_method": "service_payment_plan", "first_payment_date": s.FirstPayment,
			"deposit_confirmed": true},
		"declarations": fields{"payment_plan_accepted": true, "information_confirmed": true,
			"privacy_consent_accepted": true},
	}
}

func (s *scenario) confirm(ctx context.Context) error {
	confirmed, err := s.call(ctx, http.MethodPost, s.path()+"/confirm", s.confirmBody(), http.StatusOK,
		expectEqual("already_confirmed", false),
		expectEqual("checkout.status", "confirmed"),
		expectEqual("enrolment.status", "complete"),
		expectEqual("agreement.pdf_generated", true),
		expectPresent("agreement.number"))
	if err != nil {
		return err
	}
	s.number = confirmed.Text("agreement.number")
	return s.await(ctx, events.CheckoutConfirmed, events.AgreementGenerated)
}

func (s *scenario) repeat(ctx context.Context) error {
	_, err := s.call(ctx, http.MethodPost, s.path()+"/confirm", s.confirmBody(), http.StatusOK,
		expectEqual("already_confirmed", true),
		expectEqual("checkout.status", "confirmed"),
		expectEqual("agreement.number", s.number))
	return err
}

// exportPDF writes the agreement's PDF to a file that is kept, and checks that no further event arrived.
func (s *scenario) exportPDF(ctx context.Context) error {
	data, stored, err := s.cfg.AgreementPDF(ctx, s.cfg.Site.Store, s.number)
	switch {
	case err != nil:
		return err
	case !stored:
		return fmt.Errorf("agreement %s has no PDF on record", s.number)
	case !bytes.HasPrefix(data, []byte("%PDF-")):
		return fmt.Errorf("what is on record for agreement %s is no PDF", s.number)
	}
	f, err := os.CreateTemp("", s.number+"-*.pdf")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	s.note("  %s: %d bytes", f.Name(), len(data))
	select {
	case e := <-s.events:
		return fmt.Errorf("unexpected event: %v", e)
	default:
		return nil
	}
}

// await waits for the next events, which must be these.
func (s *scenario) await(ctx context.Context, names ...events.Name) error {
	for _, name := range names {
		select {
		case e := <-s.events:
			s.note("  %v", e)
			if e.err != nil {
				return fmt.Errorf("event %s did not arrive: %w", name, e.err)
			}
			if e.name != string(name) || e.order != orderID {
				return fmt.Errorf("event %s of order %s arrived; want %s of %s", e.name, e.order, name, orderID)
			}
		case <-time.After(10 * time.Second):
			return fmt.Errorf("event %s did not arrive", name)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
