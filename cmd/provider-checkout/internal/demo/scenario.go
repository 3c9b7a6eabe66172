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

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/events"
)

// scenario runs the whole flow as the provider, the payer and the operator, and stops at the
// first unexpected result.
type scenario struct {
	*demonstration
	backend *apiclient.Client
	payer   *apiclient.Browser
	out     io.Writer
	created apiclient.Response // to the create
	number  string             // of the agreement
}

// walk runs the scenario and prints it.
func (d *demonstration) walk(ctx context.Context, out io.Writer) error {
	s := &scenario{demonstration: d, backend: apiclient.New(d.Base, d.Keys), out: out}
	s.payer = &apiclient.Browser{HTTP: &http.Client{Timeout: 15 * time.Second}, Note: s.note}
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
	_, err := s.call(ctx, http.MethodGet, apiclient.EnvironmentPath, "", http.StatusOK,
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

func (s *scenario) createBody() string {
	return apiclient.CreateRequest{ProviderCode: providerCode, OrderID: orderID, FirstName: studentFirst, LastName: studentLast,
		Email: studentEmail, CourseCode: "NZDIP-BUS", Frequency: "Weekly", FirstPayment: s.FirstPayment}.String()
}

func (s *scenario) create(ctx context.Context) (err error) {
	s.created, err = s.call(ctx, http.MethodPost, apiclient.CheckoutsPath, s.createBody(), http.StatusCreated,
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
	_, err := s.call(ctx, http.MethodPost, apiclient.CheckoutsPath, s.createBody(), http.StatusOK,
		expectEqual("idempotent_replay", true),
		expectEqual("idempotency_key", providerCode+":"+orderID),
		s.expectSame("checkout.checkout_id"),
		s.expectSame("records.opportunity_id"))
	return err
}

func (s *scenario) setUp(ctx context.Context) error {
	return s.payer.SetUp(ctx, s.created.SetupURL())
}

// poll polls until the setup is complete: a processor that notifies does so in its own time.
func (s *scenario) poll(ctx context.Context) error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		polled, err := s.call(ctx, http.MethodGet, s.created.CheckoutPath(), "", http.StatusOK)
		if err != nil || polled.SetupComplete() {
			break
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	_, err := s.call(ctx, http.MethodGet, s.created.CheckoutPath(), "", http.StatusOK,
		expectEqual("checkout.status", "direct_debit_setup_required"),
		expectEqual("direct_debit.setup_complete", true),
		expectEqual("direct_debit.billing_request_status", "fulfilled"),
		expectPresent("direct_debit.mandate_status"))
	return err
}

func (s *scenario) confirm(ctx context.Context) error {
	confirmed, err := s.call(ctx, http.MethodPost, s.created.CheckoutPath()+apiclient.ConfirmSuffix, s.created.ConfirmBody(), http.StatusOK,
		expectEqual("already_confirmed", false),
		expectEqual("checkout.status", "confirmed"),
		expectEqual("enrolment.status", "complete"),
		expectEqual("agreement.pdf_generated", true),
		expectPresent("agreement.number"))
	if err != nil {
		return err
	}
	s.number = confirmed.String("agreement.number")
	return s.await(ctx, events.CheckoutConfirmed, events.AgreementGenerated)
}

func (s *scenario) repeat(ctx context.Context) error {
	_, err := s.call(ctx, http.MethodPost, s.created.CheckoutPath()+apiclient.ConfirmSuffix, s.created.ConfirmBody(), http.StatusOK,
		expectEqual("already_confirmed", true),
		expectEqual("checkout.status", "confirmed"),
		expectEqual("agreement.number", s.number))
	return err
}

// exportPDF writes the agreement's PDF to a file that is kept, and checks that no further event arrived.
func (s *scenario) exportPDF(ctx context.Context) error {
	doc, err := s.cfg.Site.Store.Document(ctx, s.number)
	if err != nil {
		return fmt.Errorf("read the PDF of agreement %s: %w", s.number, err)
	}
	if !bytes.HasPrefix(doc.Bytes, []byte("%PDF-")) {
		return fmt.Errorf("the document of agreement %s is no PDF", s.number)
	}
	f, err := os.CreateTemp("", s.number+"-*.pdf")
	if err != nil {
		return err
	}
	_, err = f.Write(doc.Bytes)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	s.note("  %s: %d bytes", f.Name(), len(doc.Bytes))
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
