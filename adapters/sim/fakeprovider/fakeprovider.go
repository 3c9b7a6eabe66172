// Package fakeprovider is an education provider for the demonstration, as package fakeprocessor is a processor for the
// sandbox: a website of two pages, and the backend behind it, which calls the API with the provider's key. One student
// enrols there, in one course at a time, so that the website needs no session. It keeps everything in memory.
package fakeprovider

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/money"
)

// Options is the configuration of a provider.
type Options struct {
	BaseURL string // of the provider's own website
	API     string // base URL of the service
	Desk    string // of its operator; "" without one
	Mailbox string // of the students; "" without one
	Key     string // the API key of the provider
	Code    string // provider_code
	Offer   Offer
	Log     *slog.Logger // discards if nil
}

// Offer is a course of the provider and the student who enrols in it.
type Offer struct {
	Provider               string // as students know it
	CourseCode, CourseName string
	Price                  string // as students read it
	Frequency              string // as the API has it
	FirstPayment           money.Date
	FirstName, LastName    string // of the student
	Email                  string
}

// Paths of the website, to which a payer returns from the setup page.
const (
	DonePath     = "/done"     // after the setup
	CoursePath   = "/"         // after a cancellation
	ReturnedPath = "/returned" // from a checkout that this website did not open
)

// Provider is the education provider, and the handler of its website.
type Provider struct {
	Options
	pages
	backend *apiclient.Client

	mu      sync.Mutex
	current enrolment
	made    int // enrolments, of which current is the newest
}

// New returns a provider whose student has not enrolled yet.
func New(o Options) *Provider {
	p := &Provider{Options: o, backend: apiclient.New(o.API, map[string]string{o.Code: o.Key})}
	p.pages = newPages(p)
	p.again()
	return p
}

// enrolment is one order of the student, with the answers to its backend.
type enrolment struct {
	order     string
	opened    apiclient.Response // the newest answer to the create; zero before
	confirmed apiclient.Response // the answer to the confirm; zero before
	events    []Event
}

// Event is a verified event that arrived at the provider.
type Event struct {
	Name, ID, Order string
	Attempt         string
}

// again begins another enrolment.
func (p *Provider) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.made++
	p.current = enrolment{order: "WEB-" + strconv.Itoa(p.made)}
}

// snapshot returns the current enrolment.
func (p *Provider) snapshot() enrolment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current
}

// update changes the enrolment of that order, unless another has been begun since.
func (p *Provider) update(order string, change func(*enrolment)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current.order == order {
		change(&p.current)
	}
}

// Receive takes note of a verified event. Those of checkouts that the website did not open are ignored.
func (p *Provider) Receive(e Event) {
	p.update(e.Order, func(c *enrolment) { c.events = append(c.events[:len(c.events):len(c.events)], e) }) // a snapshot keeps its own
}

// Open opens the checkout of the current order, as the course page does when the student goes on, or asks for it again: the same
// create is a replay, which answers with the setup page that is to be used now.
func (p *Provider) Open(ctx context.Context) error {
	order, o := p.snapshot().order, p.Offer
	body, err := json.Marshal(map[string]map[string]string{
		"provider": {"provider_code": p.Code, "provider_order_id": order},
		"student":  {"first_name": o.FirstName, "last_name": o.LastName, "email": o.Email},
		"course":   {"course_code": o.CourseCode},
		"plan":     {"payment_frequency": o.Frequency, "first_payment_date": o.FirstPayment.String()},
	})
	if err != nil {
		return err
	}
	created, err := checked(p.backend.Create(ctx, p.Code, string(body)))
	if err != nil {
		return fmt.Errorf("create the checkout of order %s: %w", order, err)
	}
	p.update(order, func(e *enrolment) { e.opened = created })
	return nil
}

// setUp asks whether the direct debit of an order is set up.
func (p *Provider) setUp(ctx context.Context, e enrolment) (bool, error) {
	polled, err := checked(p.backend.Poll(ctx, e.opened))
	if err != nil {
		return false, fmt.Errorf("get the checkout of order %s: %w", e.order, err)
	}
	return polled.SetupComplete(), nil
}

// confirm confirms an order with the student's declarations. Repeating it is safe. The answer's status is zero if there was no answer.
func (p *Provider) confirm(ctx context.Context, e enrolment, declared []declaration) (apiclient.Response, error) {
	var boxes []string
	for _, d := range declared {
		boxes = append(boxes, d.path, strconv.FormatBool(d.Given))
	}
	body := apiclient.With(e.opened.ConfirmBody(), boxes...)
	r, err := checked(p.backend.Confirm(ctx, e.opened, body))
	if err != nil {
		return r, fmt.Errorf("confirm the checkout of order %s: %w", e.order, err)
	}
	p.update(e.order, func(e *enrolment) { e.confirmed = r })
	return r, nil
}

// checked makes an error of an answer that is a refusal or no JSON.
func checked(r apiclient.Response, err error) (apiclient.Response, error) {
	if err == nil && (r.JSON == nil || r.Status >= http.StatusMultipleChoices) {
		err = fmt.Errorf("%d %s: %s (request %s)", r.Status, r.String("error.code"), r.String("error.message"), r.String("request_id"))
	}
	return r, err
}
