package gocardlesstest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/provider-checkout/provider-checkout/checkout"
)

// decode reads the fields of a body. A field that the API does not have is refused.
func decode(c *call, into any) *apiError {
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return invalid("/", err.Error())
	}
	return nil
}

// allowed reports whether the API takes metadata.
func (t texts) allowed() bool {
	for name, value := range t {
		if utf8.RuneCountInString(name) > 50 || utf8.RuneCountInString(value) > 500 {
			return false
		}
	}
	return len(t) <= 3
}

func (s *Simulator) createBillingRequest(c *call) (answer, *apiError) {
	b := &billingRequest{}
	if err := decode(c, b); err != nil {
		return answer{}, err
	}
	at := slices.IndexFunc(s.creditors, func(creditor Creditor) bool { return creditor.ID == b.Links["creditor"] })
	if b.Links["creditor"] == "" && len(s.creditors) == 1 {
		at = 0
	}
	const inner = "/billing_requests/mandate_request/"
	switch wanted := b.MandateRequest; {
	case wanted.Currency != currency:
		return answer{}, invalid(inner+"currency", "must be NZD")
	case wanted.Scheme != scheme:
		return answer{}, invalid(inner+"scheme", "must be becs_nz")
	case utf8.RuneCountInString(wanted.Description) > 255:
		return answer{}, invalid(inner+"description", "is too long")
	case !b.Metadata.allowed(), !wanted.Metadata.allowed():
		return answer{}, invalid("/billing_requests/metadata", "can have 3 keys of 50 characters and values of 500")
	case at < 0:
		return answer{}, invalid("/billing_requests/links/creditor", "is missing or does not exist")
	}
	b.ID, b.CreatedAt, b.Status, b.creditor = s.newID("BRQ"), stamp(c.now), checkout.BillingPending, &s.creditors[at]
	b.Resources.Customer.ID, b.Actions, b.MandateRequest.Links = s.newID("CU"), actions("pending"), texts{}
	b.Links = texts{"creditor": b.creditor.ID, "customer": b.Resources.Customer.ID}
	s.requests[b.ID] = b
	s.happened(c.now, b, "created", byAPI)
	return answer{b.ID, b, nil}, nil
}

func (s *Simulator) getBillingRequest(c *call) (answer, *apiError) {
	b, ok := s.requests[c.id]
	if !ok {
		return answer{}, notFound("resource_not_found")
	}
	return answer{b.ID, b, nil}, nil
}

func (s *Simulator) cancelBillingRequest(c *call) (answer, *apiError) {
	b, ok := s.requests[c.id]
	switch {
	case !ok:
		return answer{}, notFound("resource_not_found")
	case !b.open():
		return answer{}, wrongState("billing_request_not_cancellable")
	}
	s.cancel(c.now, b, byAPI)
	return answer{b.ID, b, nil}, nil
}

func (s *Simulator) createFlow(c *call) (answer, *apiError) {
	f := &flow{}
	if err := decode(c, f); err != nil {
		return answer{}, err
	}
	f.request = s.requests[f.Links["billing_request"]]
	switch {
	case !strings.HasPrefix(f.RedirectURI, "http"), !strings.HasPrefix(f.ExitURI, "http"):
		return answer{}, invalid("/billing_request_flows/redirect_uri", "must be a valid URL, as exit_uri")
	case f.request == nil:
		return answer{}, notFound("resource_not_found")
	case !f.request.open():
		return answer{}, wrongState("billing_request_not_pending")
	}
	f.ID, f.CreatedAt, f.expires = s.newID("BRF"), stamp(c.now), c.now.Add(flowLife)
	f.URL, f.ExpiresAt = cmp.Or(s.options.PublicURL, "http://"+c.host)+flowPath+f.ID, stamp(f.expires)
	s.flows[f.ID] = f
	s.happened(c.now, f.request, "flow_created", byAPI)
	return answer{f.ID, f, nil}, nil
}

func (s *Simulator) getMandate(c *call) (answer, *apiError) {
	m, ok := s.mandates[c.id]
	if !ok {
		return answer{}, notFound("resource_not_found")
	}
	return answer{m.ID, m, nil}, nil
}

func (s *Simulator) cancelMandate(c *call) (answer, *apiError) {
	m, ok := s.mandates[c.id]
	switch {
	case !ok:
		return answer{}, notFound("resource_not_found")
	case m.Status.Dead():
		return answer{}, wrongState("mandate_not_cancelled")
	}
	m.ended = true
	s.move(c.now, m, move{action: "cancelled"})
	return answer{m.ID, m, nil}, nil
}

func (s *Simulator) listCreditors(*call) (answer, *apiError) {
	all := []object{}
	for _, creditor := range s.creditors {
		all = append(all, creditor.toWire())
	}
	return answer{"", all, metaOf(nil, 50)}, nil
}

// metaOf describes a page of a list. after is nil where no page follows.
func metaOf(after any, limit int) object {
	return object{"cursors": object{"before": nil, "after": after}, "limit": limit}
}

const createdAfter = "created_at[gt]"

// matches reports whether an event is looked for.
func (e *event) matches(query url.Values, since string) bool {
	for name, got := range map[string]string{"resource_type": e.Resource, "action": e.Action, "billing_request": e.Links["billing_request"],
		"mandate": e.Links["mandate"]} {
		if query.Has(name) && query.Get(name) != got {
			return false
		}
	}
	return e.CreatedAt > since
}

// listEvents lists events, the newest first. A cursor keeps its place whatever is looked for.
func (s *Simulator) listEvents(c *call) (answer, *apiError) {
	limit, since, ok := readFilters(c.query)
	if !ok {
		return answer{}, usage(http.StatusBadRequest, "invalid_filters")
	}
	found, skipTo, last, next := []*event{}, c.query.Get("after"), "", any(nil)
	for _, e := range slices.Backward(s.events) {
		switch {
		case skipTo == e.ID:
			skipTo = ""
		case skipTo != "", !e.matches(c.query, since):
		case len(found) == limit:
			next = last
		default:
			found, last = append(found, e), e.ID
		}
	}
	if skipTo != "" {
		return answer{}, usage(http.StatusBadRequest, "invalid_cursor")
	}
	return answer{"", found, metaOf(next, limit)}, nil
}

// readFilters reads how many events a query asks for, and since when. It looks for mistakes in the whole query.
func readFilters(query url.Values) (limit int, since string, ok bool) {
	for name := range query {
		if !slices.Contains([]string{"resource_type", "action", "billing_request", "mandate", createdAfter, "limit", "after"}, name) {
			return 0, "", false
		}
	}
	if query.Has(createdAfter) {
		at, err := time.Parse(time.RFC3339, query.Get(createdAfter))
		if since = stamp(at); err != nil {
			return 0, "", false
		}
	}
	limit, err := strconv.Atoi(cmp.Or(query.Get("limit"), "50"))
	return limit, since, err == nil && limit >= 1 && limit <= 500
}
