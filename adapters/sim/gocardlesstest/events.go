package gocardlesstest

import (
	"cmp"
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

// invalidFilters is an error of a query.
func invalidFilters(field, message string) *apiError {
	e := usage(http.StatusBadRequest, "invalid_filters", field+" "+message)
	e.faults[0].Field = field
	return e
}

// eventFilters has the filters of the list of events by their parameters.
var eventFilters = map[string]func(e *event, wanted string) bool{
	"resource_type":   func(e *event, wanted string) bool { return e.resource == wanted },
	"action":          func(e *event, wanted string) bool { return e.action == wanted },
	"billing_request": func(e *event, wanted string) bool { return e.links["billing_request"] == wanted },
	"mandate":         func(e *event, wanted string) bool { return e.links["mandate"] == wanted },
	createdAfter: func(e *event, wanted string) bool {
		limit, err := time.Parse(time.RFC3339, wanted)
		return err == nil && e.created.After(limit)
	},
}

const createdAfter = "created_at[gt]"

// listEvents lists events, the newest first. A cursor keeps its place whatever is looked for.
func listEvents(s *state, c *call) (answer, *apiError) {
	limit, err := readLimit(c.query)
	if err != nil {
		return answer{}, err
	}
	from := s.events
	for _, link := range []string{"billing_request", "mandate"} {
		if id := c.query.Get(link); id != "" {
			from = s.eventsOf[id]
		}
	}
	after := c.query.Get("after")
	reached, more := after == "", false
	found := []object{}
	var first, last string
	for _, e := range slices.Backward(from) {
		switch {
		case !reached:
			reached = e.id == after
		case !matches(e, c.query):
		case len(found) == limit:
			more = true
		default:
			found, first, last = append(found, e.toWire()), cmp.Or(first, e.id), e.id
		}
	}
	if !reached {
		return answer{}, usage(http.StatusBadRequest, "invalid_cursor", "The cursor names no entry of this list")
	}
	if after == "" {
		first = ""
	}
	if !more {
		last = ""
	}
	return answer{body: found, meta: metaOf(first, last, limit)}, nil
}

// metaOf describes a page of a list. A cursor is "" where there is nothing on its side of the page.
func metaOf(before, after string, limit int) object {
	return object{"cursors": object{"before": given(before), "after": given(after)}, "limit": limit}
}

// matches reports whether an event is looked for.
func matches(e *event, query url.Values) bool {
	for name, keep := range eventFilters {
		if wanted := query.Get(name); wanted != "" && !keep(e, wanted) {
			return false
		}
	}
	return true
}

// readLimit reads how many events a query asks for, and looks for mistakes in the whole query.
func readLimit(query url.Values) (int, *apiError) {
	for name, values := range query {
		if _, ok := eventFilters[name]; !ok && name != "limit" && name != "after" {
			return 0, invalidFilters(name, "is not a parameter of this list")
		}
		if len(values) != 1 {
			return 0, invalidFilters(name, "must be given once")
		}
	}
	if _, err := time.Parse(time.RFC3339, query.Get(createdAfter)); err != nil && query.Has(createdAfter) {
		return 0, invalidFilters(createdAfter, "must be a time, such as 2027-02-01T09:00:00.000Z")
	}
	if !query.Has("limit") {
		return defaultLimit, nil
	}
	n, err := strconv.Atoi(query.Get("limit"))
	if err != nil || n < 1 || n > maxLimit {
		return 0, invalidFilters("limit", "must be between 1 and 500")
	}
	return n, nil
}
