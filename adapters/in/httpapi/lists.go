package httpapi

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// listed returns the handler of a list: read reads a page of it.
func listed[T, W any](enrolments bool, read func(context.Context, service.Caller, checkout.List) ([]T, error),
	toWire func([]T, checkout.Cursor) W) func(*http.Request, service.Caller) (answer, error) {
	return func(r *http.Request, caller service.Caller) (answer, error) {
		list, err := toList(r, enrolments)
		if err != nil {
			return answer{}, err
		}
		page, err := read(r.Context(), caller, list)
		return answer{status: http.StatusOK, body: toWire(page, list.After.Value)}, err
	}
}

func (a *api) redeliver(r *http.Request, caller service.Caller) (answer, error) {
	if wait, ok := a.resending.Allow(caller.ProviderCode); !ok {
		return answer{}, rateLimited(wait)
	}
	id := EventID(r)
	if err := a.app.Redeliver(r.Context(), caller, id, web.RequestID(r.Context())); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: redeliverWire{true, id}}, nil
}

// PageOf reads which page of a list a call wants.
func PageOf(r *http.Request) (checkout.List, error) { return toList(r, false) }

// toList reads the parameters of a list.
func toList(r *http.Request, enrolments bool) (checkout.List, error) {
	query, err := toQuery(r.URL.RawQuery)
	if err != nil {
		return checkout.List{}, err
	}
	f := newForm(query)
	f.whole = "query"
	list := checkout.List{
		After:   get(f, checkout.FieldAfter, cursor),
		Limit:   get(f, checkout.FieldLimit, limit),
		OrderID: get(f, checkout.FieldOfOrder, strictjson.Text),
	}
	if enrolments {
		list.Status = get(f, checkout.FieldStatus, strictjson.Text)
		list.UpdatedAfter = get(f, checkout.FieldUpdatedAfter, instant)
	}
	return list, f.wellFormed()
}

// toQuery returns a query as an object of texts. A parameter that is empty is null, which counts as absent.
func toQuery(raw string) (object strictjson.Value, err error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return object, checkout.Malformed("the query is not well-formed; write %25 for a % and %3B for a semicolon")
	}
	object.Kind = strictjson.Object
	for _, name := range slices.Sorted(maps.Keys(query)) {
		values := query[name]
		if len(values) > 1 {
			return object, checkout.Malformed("the query is not well-formed; details says where",
				checkout.Fault{Field: name, Message: "must be sent once"})
		}
		v := strictjson.Value{Kind: strictjson.String, Text: values[0]}
		if v.Text == "" {
			v = strictjson.Value{}
		}
		object.Members = append(object.Members, strictjson.Member{Name: name, Value: v})
	}
	return object, nil
}

func cursor(v strictjson.Value) (checkout.Cursor, error) {
	c, ok := checkout.ParseCursor(v.Text)
	if !ok {
		return 0, errors.New("must be a cursor, or the next, of an earlier answer")
	}
	return c, nil
}

func limit(v strictjson.Value) (int, error) {
	return strictjson.Whole(checkout.MaxListed)(strictjson.Value{Kind: strictjson.Number, Text: v.Text})
}

func instant(v strictjson.Value) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, v.Text)
	if err != nil || at.Year() < 0 {
		return at, errors.New("must be a time in UTC, such as 2026-11-20T16:44:02.455Z")
	}
	return at, nil
}
