package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprovider"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/events"
)

// walk enrols on the website as the student does who fills in each form, prints the pages and the events, and writes the PDF of the
// agreement. It stops at the first unexpected result.
func (d *demonstration) walk(ctx context.Context, out io.Writer) error {
	student := &apiclient.Browser{HTTP: &http.Client{Timeout: 15 * time.Second}, Note: func(format string, args ...any) {
		fmt.Fprintf(out, format+"\n", args...)
	}}
	submit := func(address string) (apiclient.Page, error) {
		page, err := student.Open(ctx, http.MethodGet, address, nil)
		if err == nil {
			page, err = student.Submit(ctx, page)
		}
		return page, err
	}
	student.Note("the student asks to pay by instalments")
	setup, err := submit(d.Website + fakeprovider.CoursePath)
	if err != nil {
		return err
	}
	student.Note("the student sets up the direct debit")
	if err := student.SetUp(ctx, setup.At); err != nil {
		return err
	}
	student.Note("the student declares, and the provider confirms")
	if _, err := submit(d.Website + fakeprovider.DonePath); err != nil {
		return err
	}
	student.Note("the provider receives the events")
	var order string
	for _, name := range []events.Name{events.CheckoutCreated, events.CheckoutConfirmed, events.AgreementGenerated} {
		e, err := d.await(ctx, name)
		if err != nil {
			return err
		}
		student.Note("  %v", e)
		order = e.Order
	}
	student.Note("the operator takes out the agreement")
	if err := d.exportPDF(ctx, out, order); err != nil {
		return err
	}
	student.Note("everything held")
	return nil
}

// await waits for the next event, which must be of this name.
func (d *demonstration) await(ctx context.Context, name events.Name) (delivery, error) {
	select {
	case e := <-d.web.receiver.got:
		if e.err != nil || e.Name != string(name) {
			return e, fmt.Errorf("%v arrived, want %s", e, name)
		}
		return e, nil
	case <-time.After(10 * time.Second):
		return delivery{}, fmt.Errorf("event %s did not arrive", name)
	case <-ctx.Done():
		return delivery{}, context.Cause(ctx)
	}
}

// exportPDF writes the PDF of an order's agreement to a file that is kept.
func (d *demonstration) exportPDF(ctx context.Context, out io.Writer, order string) error {
	store := d.cfg.Site.Store
	of, err := store.FindCheckout(ctx, checkout.Reference{ProviderCode: providerCode, OrderID: order})
	if err != nil {
		return fmt.Errorf("find the checkout of order %s: %w", order, err)
	}
	doc, err := store.Document(ctx, of.ID)
	if err != nil {
		return fmt.Errorf("read the PDF of checkout %s: %w", of.ID, err)
	}
	file, err := os.CreateTemp("", of.Confirmation.AgreementNumber+"-*.pdf")
	if err != nil {
		return err
	}
	_, err = file.Write(doc.Bytes)
	if err := errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	_, err = fmt.Fprintf(out, "  wrote %s: %d bytes\n", file.Name(), len(doc.Bytes))
	return err
}
