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

// flow runs the whole flow as the provider, the payer and the operator, and stops at the
// first unexpected result.
type flow struct {
	*demonstration
	backend *apiclient.Client
	payer   *apiclient.Browser
	out     io.Writer
	created apiclient.Response // to the create
	number  string             // of the agreement
}

// walk runs the flow and prints it.
func (d *demonstration) walk(ctx context.Context, out io.Writer) error {
	f := &flow{demonstration: d, backend: apiclient.New(d.Base, d.Keys), out: out}
	f.payer = &apiclient.Browser{HTTP: &http.Client{Timeout: 15 * time.Second}, Note: f.note}
	for _, step := range []struct {
		title string
		run   func(context.Context) error
	}{
		{"the service says what it is", f.environment},
		{"the provider creates a checkout", f.create},
		{"the provider sends the same create again", f.replay},
		{"the payer sets up the direct debit", func(ctx context.Context) error { return f.payer.SetUp(ctx, f.created.SetupURL()) }},
		{"the provider polls until the setup is complete", f.poll},
		{"the provider confirms", f.confirm},
		{"the provider sends the same confirm again", f.repeat},
		{"the operator takes out the agreement", f.exportPDF},
	} {
		f.note("%s", step.title)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
		f.note("")
	}
	f.note("everything held")
	return nil
}

// note prints a line.
func (f *flow) note(format string, args ...any) { fmt.Fprintf(f.out, format+"\n", args...) }

// call sends one request of a provider, prints it with its response, and checks the response: want has dotted paths and their values
// in turn, nil for any value but "".
func (f *flow) call(ctx context.Context, provider, method, path, body string, status int, want ...any) (apiclient.Response, error) {
	r, err := f.backend.Call(ctx, provider, method, path, body)
	if err != nil {
		return r, err
	}
	f.note("  %s %s: %s", method, path, r.StatusLine())
	if r.Status != status || r.JSON == nil {
		return r, fmt.Errorf("%s %s answered %d, want %d: %s", method, path, r.Status, status, r.Body)
	}
	for i := 0; i < len(want); i += 2 {
		path := want[i].(string)
		got := r.At(path)
		if got != want[i+1] && (want[i+1] != nil || r.String(path) == "") {
			return r, fmt.Errorf("%s is %v, want %v", path, got, want[i+1])
		}
		f.note("    %s: %v", path, got)
	}
	return r, nil
}

func (f *flow) environment(ctx context.Context) error {
	_, err := f.call(ctx, providerCode, http.MethodGet, apiclient.EnvironmentPath, "", http.StatusOK, "environment", "sandbox",
		"readiness.ready_for_api_calls", true, "readiness.webhook_destinations_configured", true)
	return err
}

// The provider of the flow, its order and its student.
const (
	providerCode = "KOWHAI"
	courseCode   = "NZDIP-BUS"
	orderID      = "ENROL-1001"
	studentFirst = "Aroha"
	studentLast  = "Tāmati"
	studentEmail = "aroha@example.nz"
)

func (f *flow) sendCreate(ctx context.Context, status int, want ...any) (apiclient.Response, error) {
	body := apiclient.CreateRequest{ProviderCode: providerCode, OrderID: orderID, FirstName: studentFirst, LastName: studentLast,
		Email: studentEmail, CourseCode: courseCode, Frequency: "Weekly", FirstPayment: f.FirstPayment}
	return f.call(ctx, providerCode, http.MethodPost, apiclient.CheckoutsPath, body.String(), status, want...)
}

func (f *flow) create(ctx context.Context) (err error) {
	f.created, err = f.sendCreate(ctx, http.StatusCreated, "idempotent_replay", false, "checkout.status", "direct_debit_setup_required",
		"direct_debit.setup_complete", false, "pricing.course_price", json.Number("2990.00"),
		"plan.number_of_instalments", json.Number("52"), "checkout.checkout_id", nil)
	if err != nil {
		return err
	}
	return f.await(ctx, events.CheckoutCreated)
}

func (f *flow) replay(ctx context.Context) error {
	_, err := f.sendCreate(ctx, http.StatusOK, "idempotent_replay", true, "idempotency_key", providerCode+":"+orderID,
		"checkout.checkout_id", f.created.At("checkout.checkout_id"), "records.opportunity_id", f.created.At("records.opportunity_id"))
	return err
}

// poll polls until the setup is complete: a processor that notifies does so in its own time.
func (f *flow) poll(ctx context.Context) error {
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		polled, err := f.call(ctx, providerCode, http.MethodGet, f.created.CheckoutPath(), "", http.StatusOK)
		if err != nil || polled.SetupComplete() {
			break
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	_, err := f.call(ctx, providerCode, http.MethodGet, f.created.CheckoutPath(), "", http.StatusOK,
		"checkout.status", "direct_debit_setup_required", "direct_debit.setup_complete", true,
		"direct_debit.billing_request_status", "fulfilled", "direct_debit.mandate_status", nil)
	return err
}

func (f *flow) sendConfirm(ctx context.Context, created apiclient.Response, status int, want ...any) (apiclient.Response, error) {
	return f.call(ctx, created.Provider(), http.MethodPost, created.CheckoutPath()+apiclient.ConfirmSuffix, created.ConfirmBody(), status,
		want...)
}

func (f *flow) confirm(ctx context.Context) error {
	confirmed, err := f.sendConfirm(ctx, f.created, http.StatusOK, "already_confirmed", false, "checkout.status", "confirmed",
		"enrolment.status", "complete", "agreement.pdf_generated", true, "agreement.number", nil)
	if err != nil {
		return err
	}
	f.number = confirmed.String("agreement.number")
	return f.await(ctx, events.CheckoutConfirmed, events.AgreementGenerated)
}

func (f *flow) repeat(ctx context.Context) error {
	_, err := f.sendConfirm(ctx, f.created, http.StatusOK, "already_confirmed", true, "checkout.status", "confirmed",
		"agreement.number", f.number)
	return err
}

// exportPDF writes the agreement's PDF to a file that is kept, and checks that no further event arrived.
func (f *flow) exportPDF(ctx context.Context) error {
	doc, err := f.cfg.Site.Store.Document(ctx, f.created.String("checkout.checkout_id"))
	if err != nil {
		return fmt.Errorf("read the PDF of agreement %s: %w", f.number, err)
	}
	if !bytes.HasPrefix(doc.Bytes, []byte("%PDF-")) {
		return fmt.Errorf("the document of agreement %s is no PDF", f.number)
	}
	file, err := os.CreateTemp("", f.number+"-*.pdf")
	if err != nil {
		return err
	}
	_, err = file.Write(doc.Bytes)
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	f.note("  %s: %d bytes", file.Name(), len(doc.Bytes))
	select {
	case e := <-f.web.receiver.got:
		return fmt.Errorf("unexpected event: %v", e)
	default:
		return nil
	}
}

// await waits for the next events, which must be these.
func (f *flow) await(ctx context.Context, names ...events.Name) error {
	for _, name := range names {
		select {
		case e := <-f.web.receiver.got:
			f.note("  %v", e)
			if e.err != nil {
				return fmt.Errorf("event %s did not arrive: %w", name, e.err)
			}
			if e.Name != string(name) || e.Order != orderID {
				return fmt.Errorf("event %s of order %s arrived; want %s of %s", e.Name, e.Order, name, orderID)
			}
		case <-time.After(10 * time.Second):
			return fmt.Errorf("event %s did not arrive", name)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
