package simulation_test

import (
	"context"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

// This file judges the lists of events: a provider that reads behind its cursor gets each event once.

// listing is the part of the list of its events that a provider's backend has read.
type listing struct {
	after checkout.Cursor
	ids   map[string]bool // of events, and of the checkouts whose first event it had
}

const listPage = 3

// reader returns what the backend of a provider does: it reads on.
func reader(provider string) func(*actor) (string, func()) {
	return func(a *actor) (string, func()) {
		return "read the events", a.request(func(ctx context.Context, p *process) { a.model.readAt(ctx, p, provider) })
	}
}

// readAt reads the next page of a provider's events at a process, judges it, and reports whether there may be others. A page that comes
// after its reader has given up, or has read on, is not used.
func (m *model) readAt(ctx context.Context, p *process, provider string) (more bool) {
	began, l := time.Now(), m.lists[provider]
	m.lock.Lock()
	after := l.after
	m.lock.Unlock()
	page, err := p.Events(ctx, service.Caller{ProviderCode: provider}, checkout.List{After: checkout.Some(after), Limit: checkout.Some(listPage)})
	m.noPanic(p, err)
	m.lock.Lock()
	defer m.lock.Unlock()
	switch {
	case p.killed(), ctx.Err() != nil, l.after != after:
		return false
	case err != nil:
		m.mayFail("list", provider, began, err)
		return false
	}
	for _, e := range page {
		if first := e.Event.Name == events.CheckoutCreated; l.ids[e.Event.ID] || l.ids[e.Event.CheckoutID] == first {
			m.fault("event %s %s of %s is listed twice, or not in its order: %v", e.Event.Name, e.Event.ID, provider, l.ids)
		}
		l.after, l.ids[e.Event.ID], l.ids[e.Event.CheckoutID] = e.Cursor, true, true
		m.sawAnswer("list", "an event")
	}
	return len(page) == listPage
}

// catchUp has every provider read to the end of its list, which has had each event on record.
func (m *model) catchUp() {
	for _, provider := range providers {
		l := m.lists[provider]
		for m.readAt(context.Background(), m.at(0), provider) {
		}
		var want []string
		for _, r := range m.records() {
			for _, e := range r.Events() {
				if r.Checkout.ProviderCode == provider {
					want = append(want, e.Event.ID)
				}
			}
		}
		m.lock.Lock()
		if missing := slices.DeleteFunc(want, func(id string) bool { return l.ids[id] }); len(missing) > 0 {
			m.fault("%s has read the list of its events to the end, without %q", provider, missing)
		}
		m.lock.Unlock()
	}
}
