// Package fakeprovider is an education provider for the demonstration, as package fakeprocessor is a processor for the
// sandbox: a website of two pages, and the backend behind it, which calls the API with the provider's key. One student
// enrols there, in one course at a time, so that the website needs no session. It keeps everything in memory.
package fakeprovider

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
)

// Options is the configuration of a provider.
type Options struct {
	BaseURL string // of the provider's own website
	API     string // base URL of the service
	Desk    string // of its operator; "" without one
	Key     string // the API key of the provider
	Code    string // provider_code
	Offer   Offer
	Log     *slog.Logger // discards if nil
}

// Offer is a course of the provider and the student who enrols in it.
type Offer struct {
	Provider                string // as students know it
	CourseCode, CourseName  string
	Frequency, FirstPayment string // as the API has them
	FirstName, LastName     string // of the student
	Email                   string
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
	current *enrolment
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
	planned   apiclient.Response // the newest answer that has the plan, also of the order before
	agreement apiclient.Response // the answer to the confirm
	confirmed bool
	events    []Event
	calls     []call
}

// Event is a verified event that arrived at the provider.
type Event struct {
	Name, ID, Order string
	Attempt         string
}

// call is a request of the backend, with the number of times that it had the same answer.
type call struct {
	Method, Path, Answer string
	Times                int
}

// again begins another enrolment.
func (p *Provider) again() {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := &enrolment{}
	if p.current != nil { // it is the same course, so the plan is shown before the checkout is opened
		next.planned = p.current.planned
	}
	p.made++
	next.order = "WEB-" + strconv.Itoa(p.made)
	p.current = next
}

// snapshot returns a copy of the current enrolment.
func (p *Provider) snapshot() enrolment {
	p.mu.Lock()
	defer p.mu.Unlock()
	return *p.current
}

// update changes the enrolment of that order, unless another has been begun since.
func (p *Provider) update(order string, change func(*enrolment)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current.order == order {
		change(p.current)
	}
}

// Receive takes note of a verified event. Those of checkouts that the website did not open are ignored.
func (p *Provider) Receive(e Event) {
	p.update(e.Order, func(c *enrolment) { c.events = append(c.events[:len(c.events):len(c.events)], e) })
}

// Open opens a checkout for the student, as the course page does when the student goes on.
func (p *Provider) Open(ctx context.Context) error {
	_, err := p.create(ctx)
	return err
}

// apiOrigin returns the origin of the service.
func (p *Provider) apiOrigin() string {
	u, err := url.Parse(p.API)
	if err != nil {
		return p.API
	}
	return u.Scheme + "://" + u.Host
}

// ServeHTTP implements http.Handler.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.handler.ServeHTTP(w, r) }

// shared returns the options that every handler of pages has.
func (p *Provider) shared() web.Options {
	return web.Options{Log: p.Log, BaseURL: p.BaseURL}.Complete()
}
