package fakeprovider

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// create opens the checkout of the current order, or asks for it again: the same create is a replay, which answers with
// the setup page that is to be used now.
func (p *Provider) create(ctx context.Context) (apiclient.Response, error) {
	order, o := p.snapshot().order, p.Offer
	body := apiclient.CreateRequest{ProviderCode: p.Code, OrderID: order, FirstName: o.FirstName, LastName: o.LastName, Email: o.Email,
		CourseCode: o.CourseCode, Frequency: o.Frequency, FirstPayment: o.FirstPayment}
	created, err := p.call(ctx, order, http.MethodPost, apiclient.CheckoutsPath, body.String())
	if err != nil {
		return apiclient.Response{}, fmt.Errorf("create the checkout of order %s: %w", order, err)
	}
	p.update(order, func(e *enrolment) { e.opened, e.planned = created, created })
	return created, nil
}

// setUp asks whether the direct debit of the current order is set up.
func (p *Provider) setUp(ctx context.Context, e enrolment) (bool, error) {
	polled, err := p.call(ctx, e.order, http.MethodGet, e.opened.CheckoutPath(), "")
	if err != nil {
		return false, fmt.Errorf("get the checkout of order %s: %w", e.order, err)
	}
	return polled.SetupComplete(), nil
}

// confirm confirms the current order with the student's declarations, by the names of their fields. Repeating it is safe.
func (p *Provider) confirm(ctx context.Context, e enrolment, declared map[string]bool) error {
	boxes := []string{"payment.deposit_confirmed", strconv.FormatBool(declared[depositField])}
	for _, d := range declarations[1:] {
		boxes = append(boxes, "declarations."+d.Name, strconv.FormatBool(declared[d.Name]))
	}
	body := apiclient.With(e.opened.ConfirmBody(), boxes...)
	confirmed, err := p.call(ctx, e.order, http.MethodPost, e.opened.CheckoutPath()+apiclient.ConfirmSuffix, body)
	if err != nil {
		return fmt.Errorf("confirm the checkout of order %s: %w", e.order, err)
	}
	p.update(e.order, func(e *enrolment) { e.confirmed, e.agreement = true, confirmed })
	return nil
}

// refusal is an error that the API answered with.
type refusal struct {
	Status  int
	Code    string
	Message string
	Request string // its id
	Fields  map[string]string
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.Status, r.Code, r.Message) }

// call sends one request of the order to the API, with the key of the provider, and reads its answer.
func (p *Provider) call(ctx context.Context, order, method, path, body string) (apiclient.Response, error) {
	r, err := p.backend.Call(ctx, p.Code, method, path, body)
	if err != nil {
		return r, err
	}
	p.update(order, func(e *enrolment) { e.note(call{method, path, r.StatusLine(), 1}) })
	switch {
	case r.JSON == nil:
		return r, fmt.Errorf("%d with %.200q", r.Status, r.Body)
	case r.Status >= http.StatusMultipleChoices:
		return r, refused(r)
	}
	return r, nil
}

// note records a call. Calls in a row with the same answer, such as polls, are one.
func (e *enrolment) note(c call) {
	e.calls = e.calls[:len(e.calls):len(e.calls)] // a snapshot keeps what it has
	if last := len(e.calls) - 1; last >= 0 {
		former := e.calls[last]
		if former.Method == c.Method && former.Path == c.Path && former.Answer == c.Answer {
			c.Times += former.Times
			e.calls = append(e.calls[:last:last], c)
			return
		}
	}
	e.calls = append(e.calls, c)
}

// refused returns the refusal in an answer.
func refused(r apiclient.Response) *refusal {
	fields := map[string]string{}
	details, _ := r.At("error.details").([]any)
	for _, d := range details {
		detail, _ := d.(map[string]any)
		fields[apiclient.Object(detail).Text("field")] = apiclient.Object(detail).Text("message")
	}
	return &refusal{Status: r.Status, Code: r.String("error.code"), Message: r.String("error.message"),
		Request: r.String("request_id"), Fields: fields}
}
