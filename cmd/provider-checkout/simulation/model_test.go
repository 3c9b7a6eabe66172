package simulation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/money"
)

// model says which answers may be given, which changes may be made, and what must hold in the end, whatever went wrong. It knows of
// each order what was answered, and never asks a process.
type model struct {
	*world
	zone *time.Location

	lock     sync.Mutex // guards everything below
	orders   []*order
	bodies   map[string][]byte // of the events that were sent, by id
	notices  map[string]string // the subjects of the notices that were sent, by id
	polled   bool              // every order was polled after calm
	faults   []string          // what may not be
	known    map[string]bool   // requests that opened a checkout, or decided a confirm, and know it
	mandates map[string]string // their billing requests
	held     map[string]held   // by job, the lease that was granted last
	retried  map[string]bool   // events that an operator has retried
	lists    map[string]*listing
	numbers  map[string]string // of agreements, and whose they are
}

// held is a lease.
type held struct {
	by    *process
	token int64
	until time.Time // zero where it was given back
}

// order is the clients' knowledge of an order.
type order struct {
	name, provider, id string

	first       *service.Opened // the first answer
	openedAt    time.Time
	confirmed   *checkout.Confirmation
	confirmedAt time.Time
	setUp       time.Time                // since when the direct debit is; zero before
	died        bool                     // a mandate of the order has ended at some time
	refused     map[checkout.Intent]bool // by a 409 because of another intent
	cancelled   time.Time                // when that was answered; zero before
	withdrawn   bool                     // was answered
	erasing     bool                     // an operator has begun to erase the student
}

var providers = []string{"KOWHAI", "RATA"}

func newModel(w *world) *model {
	m := &model{world: w, bodies: map[string][]byte{}, notices: map[string]string{}, known: map[string]bool{}, mandates: map[string]string{}, held: map[string]held{},
		retried: map[string]bool{}, lists: map[string]*listing{}, numbers: map[string]string{}}
	for _, provider := range providers {
		m.lists[provider] = &listing{ids: map[string]bool{}}
	}
	m.zone, _ = service.NewZealand()
	for n := range w.plan.orders {
		for _, provider := range providers {
			id := fmt.Sprint("ORDER-", n+1)
			m.orders = append(m.orders, &order{name: provider + " " + id, provider: provider, id: id, refused: map[checkout.Intent]bool{}})
		}
	}
	return m
}

// fault notes that something is which may not be. The lock is held.
func (m *model) fault(format string, args ...any) {
	text := fmt.Sprintf("%8.3f ", time.Since(m.began).Seconds()) + fmt.Sprintf(format, args...)
	m.faults = append(m.faults, text)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.telling {
		m.told = append(m.told, "FAULT "+text)
	}
}

// hangs notes that nothing happens any more.
func (m *model) hangs() {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.fault("something waits for ever")
}

// noPanic judges an error that somebody got of a process: it has no panic.
func (m *model) noPanic(p *process, err error) {
	if err != nil && strings.Contains(err.Error(), "panic:") && !p.killed() {
		m.lock.Lock()
		defer m.lock.Unlock()
		m.fault("%v", err)
	}
}

// reported judges a failure that a process reports: it names its provider, and no person.
func (m *model) reported(p *process, f service.Failure) {
	m.noPanic(p, f.Err)
	m.lock.Lock()
	defer m.lock.Unlock()
	unread := f.Operation == service.OperationRetain // which knows the id of a checkout that it could not read
	if f.CheckoutID != "" && f.ProviderCode == "" && !unread {
		m.fault("reported %+v, without its provider", f)
	}
	for _, secret := range []string{"Ngata", "NGATA", "@example", "01-0902", strings.Repeat("w", 24)} {
		if strings.Contains(f.Err.Error(), secret) {
			m.fault("reported %q in %v", secret, f.Err)
		}
	}
}

// opened returns what a client of an order was answered first, or nil.
func (m *model) opened(o *order) *service.Opened {
	m.lock.Lock()
	defer m.lock.Unlock()
	return o.first
}

// intentOf returns the canonical intent of a create.
func (m *model) intentOf(cmd checkout.Create) checkout.Intent {
	k := kowhai()
	facts := checkout.Facts{Mode: k.Provider.Mode, Environment: catalogue.Sandbox, Course: &k.Courses[0]}
	if cmd.ProviderCode.Value != "KOWHAI" {
		facts.Mode, facts.Course = catalogue.Legacy, nil
	}
	intent, err := cmd.Decide(facts)
	if err != nil {
		panic(err) // no actor draws such a create
	}
	return intent
}

// stored returns what is on record of an order, or nil.
func (m *model) stored(o *order) *checkout.Checkout {
	c, err := m.store.FindCheckout(context.Background(), checkout.Reference{ProviderCode: o.provider, OrderID: o.id})
	if err != nil {
		return nil
	}
	return &c
}

// hasEnded reports whether a refusal says that the order has ended, as is on record.
func (m *model) hasEnded(o *order, err error) bool {
	c := m.stored(o)
	switch {
	case c == nil:
		return false
	case checkout.Refused(err, checkout.CodeCancelled):
		return c.Status == checkout.Cancelled
	case checkout.Refused(err, checkout.CodeErased):
		return c.Erased() && c.Status != checkout.Confirmed
	}
	return false
}

// records returns everything on record, past the processes.
func (m *model) records() (all []checkout.CheckoutRecord) {
	err := m.store.Export(context.Background(), "", checkout.Visitor{
		Configuration: func(catalogue.Configuration) error { return nil },
		Key:           func(catalogue.Key) error { return nil },
		Checkout:      func(r checkout.CheckoutRecord) error { all = append(all, r); return nil },
	})
	if err != nil {
		panic(err) // memory
	}
	return all
}

// isBusy reports whether anything but a look is left to be done for a checkout.
func (m *model) isBusy() bool {
	return slices.ContainsFunc(m.records(), func(r checkout.CheckoutRecord) bool {
		return slices.ContainsFunc(r.Jobs, func(j checkout.JobRecord) bool {
			return j.State == checkout.JobPending && j.Job.Kind != checkout.JobLook
		})
	})
}

// pending returns the jobs that wait.
func (m *model) pending() []checkout.JobRecord {
	list, err := m.store.Jobs(context.Background(), checkout.JobFilter{State: checkout.JobPending}, 100)
	if err != nil {
		panic(err) // memory
	}
	return list
}

func kowhai() catalogue.Configuration {
	return catalogue.Configuration{
		Provider: catalogue.Provider{Code: "KOWHAI", Name: "Kōwhai Institute", AccountID: "acc-1",
			Environment: catalogue.Sandbox, Active: true, APIEnabled: true, Mode: catalogue.Authoritative,
			Destination: catalogue.Destination{URL: "https://hooks.example", Secret: strings.Repeat("w", 24)}},
		Courses: []catalogue.Course{{Code: "NZDIP", Name: "Diploma in Business", Price: 2990_00, Upfront: 200_00,
			Active: true, Environment: catalogue.Sandbox,
			Options: []catalogue.Option{{Frequency: money.Weekly, Number: 52}, {Frequency: money.Monthly, Number: 12}}}},
	}
}

func rata() catalogue.Configuration {
	c := kowhai()
	c.Provider.Code, c.Provider.Name, c.Provider.AccountID, c.Provider.Mode, c.Courses = "RATA", "Rātā College", "acc-2", catalogue.Legacy, nil
	return c
}
