package gocardlesstest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// Limits of a page of a list.
const (
	defaultLimit = 50
	maxLimit     = 500
)

// page is which part of a list is asked for.
type page struct {
	limit         int
	after, before string // the ids of the last entry of the page before, and of the first one of the page after
}

// invalidFilters is an error of a query.
func invalidFilters(field, message string) *apiError {
	return &apiError{http.StatusBadRequest, typeInvalidAPIUsage, field + " " + message,
		[]faultWire{{Message: field + " " + message, Reason: "invalid_filters", Field: field}}}
}

// readPage reads the page that a query asks for; more are the parameters that are read elsewhere.
func readPage(query url.Values, more ...string) (page, *apiError) {
	p := page{limit: defaultLimit, after: query.Get("after"), before: query.Get("before")}
	for name, values := range query {
		if !slices.Contains([]string{"limit", "after", "before"}, name) && !slices.Contains(more, name) {
			return p, invalidFilters(name, "is not a parameter of this list")
		}
		if len(values) != 1 {
			return p, invalidFilters(name, "must be given once")
		}
	}
	if query.Has("limit") {
		n, err := strconv.Atoi(query.Get("limit"))
		if err != nil || n < 1 || n > maxLimit {
			return p, invalidFilters("limit", "must be between 1 and 500")
		}
		p.limit = n
	}
	if p.after != "" && p.before != "" {
		return p, invalidFilters("before", "must not be given with after")
	}
	return p, nil
}

// paginate cuts the page out of entries, of which the newest is the first.
func paginate[T any](entries []T, id func(T) string, p page) ([]T, metaWire, *apiError) {
	from, to := 0, min(p.limit, len(entries))
	if cursor := p.after + p.before; cursor != "" {
		at := slices.IndexFunc(entries, func(e T) bool { return id(e) == cursor })
		if at < 0 {
			return nil, metaWire{}, usage(http.StatusBadRequest, "invalid_cursor", "The cursor names no entry of this list")
		}
		from, to = at+1, min(at+1+p.limit, len(entries))
		if p.before != "" {
			from, to = max(0, at-p.limit), at
		}
	}
	meta := metaWire{Limit: p.limit}
	if from < to && from > 0 {
		meta.Cursors.Before = given(id(entries[from]))
	}
	if from < to && to < len(entries) {
		meta.Cursors.After = given(id(entries[to-1]))
	}
	return entries[from:to], meta, nil
}

// list is an answer of many resources.
type list struct {
	entries any
	meta    metaWire
}

// eventLinks lists the resources by which events can be looked for.
var eventLinks = []string{"billing_request", "mandate", "creditor", "payment", "payout", "refund", "subscription",
	"instalment_schedule", "payer_authorisation", "scheme_identifier", "outbound_payment", "export", "parent_event"}

// timeLimits lists the limits of the time of events.
var timeLimits = []string{"created_at[gt]", "created_at[gte]", "created_at[lt]", "created_at[lte]"}

// filter reports whether an event is looked for.
type filter func(*event) bool

func listEvents(s *state, c *call) (answer, *apiError) {
	p, err := readPage(c.query, slices.Concat(eventLinks, timeLimits, []string{"resource_type", "action", "include"})...)
	if err != nil {
		return answer{}, err
	}
	keep, err := readFilter(c.query)
	if err != nil {
		return answer{}, err
	}
	from := s.events
	for _, link := range []string{"billing_request", "mandate"} {
		if id := c.query.Get(link); id != "" {
			from = s.eventsOf[id]
		}
	}
	var matching []*event
	for _, e := range slices.Backward(from) {
		if keep(e) || e.id == p.after || e.id == p.before { // a cursor keeps its place whatever is looked for
			matching = append(matching, e)
		}
	}
	found, meta, err := paginate(matching, func(e *event) string { return e.id }, p)
	return answer{http.StatusOK, "events", list{toWires(found), meta}, ""}, err
}

func toWires(events []*event) []eventWire {
	wires := []eventWire{}
	for _, e := range events {
		wires = append(wires, e.toWire())
	}
	return wires
}

// readFilter reads the filters of a query for events.
func readFilter(query url.Values) (filter, *apiError) {
	var all []filter
	equal := func(name string, field func(*event) string) {
		if want := query.Get(name); want != "" {
			all = append(all, func(e *event) bool { return field(e) == want })
		}
	}
	equal("resource_type", func(e *event) string { return e.resource })
	equal("action", func(e *event) string { return e.action })
	for _, link := range eventLinks {
		equal(link, func(e *event) string { return e.links[link] })
	}
	for _, name := range timeLimits {
		if !query.Has(name) {
			continue
		}
		limit, err := time.Parse(time.RFC3339, query.Get(name))
		if err != nil {
			return nil, invalidFilters(name, "must be a time, such as 2027-02-01T09:00:00.000Z")
		}
		all = append(all, within(name, limit))
	}
	return func(e *event) bool {
		return !slices.ContainsFunc(all, func(f filter) bool { return !f(e) })
	}, nil
}

// within returns the filter of a limit of the time.
func within(name string, limit time.Time) filter {
	return func(e *event) bool {
		switch order := e.created.Compare(limit); name {
		case "created_at[gt]":
			return order > 0
		case "created_at[gte]":
			return order >= 0
		case "created_at[lt]":
			return order < 0
		default:
			return order <= 0
		}
	}
}

func getEvent(s *state, c *call) (answer, *apiError) {
	at, ok := s.eventAt[c.id]
	if !ok {
		return answer{}, notFound()
	}
	return answer{http.StatusOK, "events", s.events[at].toWire(), c.id}, nil
}

func listBillingRequests(s *state, c *call) (answer, *apiError) {
	p, err := readPage(c.query, "status", "customer")
	if err != nil {
		return answer{}, err
	}
	var matching []*billingRequest
	for _, b := range slices.Backward(s.requestOrder) {
		status, customer := c.query.Get("status"), c.query.Get("customer")
		if (status == "" || b.status == status) && (customer == "" || b.customer.id == customer) {
			matching = append(matching, b)
		}
	}
	found, meta, err := paginate(matching, func(b *billingRequest) string { return b.id }, p)
	wires := []billingRequestWire{}
	for _, b := range found {
		wires = append(wires, b.toWire())
	}
	return answer{http.StatusOK, resourceBillingRequests, list{wires, meta}, ""}, err
}
