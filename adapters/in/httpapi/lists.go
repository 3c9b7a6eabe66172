package httpapi

import (
	"net/http"
	"net/url"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func (a *api) events(r *http.Request, caller service.Caller) (any, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, checkout.Malformed("the query is not well-formed; write %25 for a % and %3B for a semicolon")
	}
	list := checkout.List{
		After:   parameter(query, checkout.FieldAfter, func(text string) (checkout.Cursor, error) { return checkout.Cursor(text), nil }),
		Limit:   parameter(query, checkout.FieldLimit, limit),
		OrderID: parameter(query, checkout.FieldOfOrder, func(text string) (string, error) { return text, nil }),
	}
	page, err := a.app.Events(r.Context(), caller, list)
	return toEventsWire(page, list.After.Value), err
}

// parameter returns a parameter as convert reads it. An empty parameter counts as absent.
func parameter[T any](query url.Values, name string, convert func(string) (T, error)) checkout.Optional[T] {
	values := query[name]
	switch {
	case len(values) > 1:
		return checkout.Unreadable[T](checkout.Fault{Field: name, Message: "must be sent once"})
	case len(values) == 0 || values[0] == "":
		return checkout.Optional[T]{}
	}
	value, err := convert(values[0])
	if err != nil {
		return checkout.Unreadable[T](checkout.Fault{Field: name, Message: err.Error()})
	}
	return checkout.Some(value)
}

func limit(text string) (int, error) {
	return strictjson.Whole(checkout.MaxListed)(strictjson.Value{Kind: strictjson.Number, Text: text})
}
