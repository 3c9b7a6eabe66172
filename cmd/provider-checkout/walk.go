package main

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

// walker goes through the whole flow as the provider, the payer and the operator do, and
// stops at the first thing that does not hold.
type walker struct {
	*demonstration
	out     io.Writer // nil for a silent walk
	client  *http.Client
	created answer // of the create
	number  string // of the agreement
}

// walk walks the whole flow and prints it.
func (d *demonstration) walk(ctx context.Context, out io.Writer) error {
	w := &walker{demonstration: d, out: out, client: &http.Client{Timeout: 15 * time.Second}}
	for _, step := range []struct {
		title string
		run   func(context.Context) error
	}{
		{"the service says what it is", w.environment},
		{"the provider creates a checkout", w.create},
		{"the provider sends the same create again", w.replay},
		{"the payer sets up the direct debit", w.setUp},
		{"the provider polls until the setup is complete", w.poll},
		{"the provider confirms", w.confirm},
		{"the provider sends the same confirm again", w.repeat},
		{"the operator takes out the agreement", w.takeOut},
	} {
		w.note("%s", step.title)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
		w.note("")
	}
	w.note("everything held")
	return nil
}

// note prints a line of the walk.
func (w *walker) note(format string, args ...any) {
	if w.out != nil {
		fmt.Fprintf(w.out, format+"\n", args...)
	}
}

func (w *walker) environment(ctx context.Context) error {
	_, err := w.call(ctx, http.MethodGet, "/v1/environment", nil, http.StatusOK,
		holds("environment", "sandbox"),
		holds("readiness.ready_for_api_calls", true),
		holds("readiness.webhook_destinations_configured", true))
	return err
}

const (
	walkProvider = "KOWHAI"
	walkOrder    = "ENROL-1001"
	walkHolder   = "Aroha Tāmati"
	walkAccount  = "01-0902-0068389-00"
)

func (w *walker) createBody() members {
	return members{
		"provider": members{"provider_code": walkProvider, "provider_order_id": walkOrder},
		"student":  members{"first_name": "Aroha", "last_name": "Tāmati", "email": "aroha@example.nz"},
		"course":   members{"course_code": "NZDIP-BUS"},
		"plan":     members{"payment_frequency": "Weekly", "first_payment_date": w.FirstPayment},
	}
}

func (w *walker) create(ctx context.Context) (err error) {
	w.created, err = w.call(ctx, http.MethodPost, "/v1/provider-checkouts", w.createBody(), http.StatusCreated,
		holds("idempotent_replay", false),
		holds("checkout.status", "direct_debit_setup_required"),
		holds("direct_debit.setup_complete", false),
		holds("pricing.course_price", json.Number("2990.00")),
		holds("plan.number_of_instalments", json.Number("52")),
		given("checkout.checkout_id"))
	if err != nil {
		return err
	}
	return w.await(ctx, events.CheckoutCreated)
}

func (w *walker) replay(ctx context.Context) error {
	_, err := w.call(ctx, http.MethodPost, "/v1/provider-checkouts", w.createBody(), http.StatusOK,
		holds("idempotent_replay", true),
		holds("idempotency_key", walkProvider+":"+walkOrder),
		w.same("checkout.checkout_id"),
		w.same("records.opportunity_id"))
	return err
}

func (w *walker) setUp(ctx context.Context) error {
	return w.payerSetsUp(ctx, w.created.text("direct_debit.setup_url"))
}

func (w *walker) poll(ctx context.Context) error {
	_, err := w.call(ctx, http.MethodGet, w.path(), nil, http.StatusOK,
		holds("checkout.status", "direct_debit_setup_required"),
		holds("direct_debit.setup_complete", true),
		holds("direct_debit.billing_request_status", "fulfilled"),
		given("direct_debit.mandate_status"))
	return err
}

// path is the checkout's own.
func (w *walker) path() string {
	return "/v1/provider-checkouts/" + w.created.text("checkout.checkout_id")
}

func (w *walker) confirmBody() members {
	return members{
		"provider": members{"provider_code": walkProvider, "provider_order_id": walkOrder},
		"checkout": members{
			"checkout_id":    w.created.text("checkout.checkout_id"),
			"checkout_token": w.created.text("direct_debit.token"),
			"opportunity_id": w.created.text("records.opportunity_id"),
			"dda_id":         w.created.text("direct_debit.dda_id"),
		},
		"payment": members{"payment_method": "service_payment_plan", "first_payment_date": w.FirstPayment,
			"deposit_confirmed": true},
		"declarations": members{"payment_plan_accepted": true, "information_confirmed": true,
			"privacy_consent_accepted": true},
	}
}

func (w *walker) confirm(ctx context.Context) error {
	confirmed, err := w.call(ctx, http.MethodPost, w.path()+"/confirm", w.confirmBody(), http.StatusOK,
		holds("already_confirmed", false),
		holds("checkout.status", "confirmed"),
		holds("enrolment.status", "complete"),
		holds("agreement.pdf_generated", true),
		given("agreement.number"))
	if err != nil {
		return err
	}
	w.number = confirmed.text("agreement.number")
	return w.await(ctx, events.CheckoutConfirmed, events.AgreementGenerated)
}

func (w *walker) repeat(ctx context.Context) error {
	_, err := w.call(ctx, http.MethodPost, w.path()+"/confirm", w.confirmBody(), http.StatusOK,
		holds("already_confirmed", true),
		holds("checkout.status", "confirmed"),
		holds("agreement.number", w.number))
	return err
}

// takeOut writes the agreement's PDF to a file that stays, and sees that no event came that
// nobody waited for.
func (w *walker) takeOut(ctx context.Context) error {
	data, stored, err := readPDF(ctx, w.db, w.number)
	switch {
	case err != nil:
		return err
	case !stored:
		return fmt.Errorf("agreement %s has no PDF on record", w.number)
	case !bytes.HasPrefix(data, []byte("%PDF-")):
		return fmt.Errorf("what is on record for agreement %s is no PDF", w.number)
	}
	f, err := os.CreateTemp("", w.number+"-*.pdf")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	w.note("  %s: %d bytes", f.Name(), len(data))
	select {
	case e := <-w.events:
		return fmt.Errorf("there is one event too many: %v", e)
	default:
		return nil
	}
}

// await takes the next events, which must be these.
func (w *walker) await(ctx context.Context, names ...events.Name) error {
	for _, name := range names {
		select {
		case e := <-w.events:
			w.note("  %v", e)
			if e.fault != nil {
				return fmt.Errorf("event %s did not arrive: %w", name, e.fault)
			}
			if e.name != string(name) || e.order != walkOrder {
				return fmt.Errorf("event %s of order %s arrived; want %s of %s", e.name, e.order, name, walkOrder)
			}
		case <-time.After(10 * time.Second):
			return fmt.Errorf("event %s did not arrive", name)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
