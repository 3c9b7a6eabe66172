package apiclient

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Response is a response of the service, read to its end.
type Response struct {
	URL    *url.URL // of the request; after redirects, of the last one
	Status int
	Header http.Header
	Body   string
	JSON   Object // nil if the body is not JSON
}

// StatusLine returns the status with its text.
func (r Response) StatusLine() string { return fmt.Sprint(r.Status, " ", http.StatusText(r.Status)) }

// At returns the value at a dotted path of the JSON body, or nil.
func (r Response) At(path string) any { return r.JSON.At(path) }

// String returns the value at a dotted path of the JSON body as text; "" if there is no value.
func (r Response) String(path string) string {
	if v := r.At(path); v != nil {
		return fmt.Sprint(v)
	}
	return ""
}

// Provider returns the provider code in the response to a create.
func (r Response) Provider() string { return r.String("provider.provider_code") }

// CheckoutPath returns the path of the checkout in the response to a create.
func (r Response) CheckoutPath() string {
	return CheckoutsPath + "/" + r.String("checkout.checkout_id")
}

// SetupURL returns the address of the setup page in the response to a create.
func (r Response) SetupURL() string { return r.String("direct_debit.setup_url") }

// SetupComplete reports whether the bank setup is complete in the response to a poll.
func (r Response) SetupComplete() bool { return r.At("direct_debit.setup_complete") == true }

// ConfirmBody returns the body of the valid confirm for the response to a create, in which the student agrees to the plan and declares
// everything.
func (r Response) ConfirmBody() string {
	return encode(map[string]any{
		"provider": map[string]string{"provider_code": r.Provider(), "provider_order_id": r.String("provider.provider_order_id")},
		"checkout": map[string]string{"checkout_id": r.String("checkout.checkout_id"), "checkout_token": r.String("direct_debit.token"),
			"opportunity_id": r.String("records.opportunity_id"), "dda_id": r.String("direct_debit.dda_id")},
		"payment": map[string]any{"payment_method": "service_payment_plan", "first_payment_date": r.String("plan.first_payment_date"),
			"deposit_confirmed": true},
		"declarations": map[string]bool{"payment_plan_accepted": true, "information_confirmed": true, "privacy_consent_accepted": true},
	})
}

// Object is a JSON object that was received. Its numbers keep their text.
type Object map[string]any

// ParseObject parses a JSON object.
func ParseObject(text []byte) (Object, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var o Object
	if err := decoder.Decode(&o); err != nil {
		return nil, fmt.Errorf("read %.200q: %w", text, err)
	}
	return o, nil
}

// At returns the value at a dotted path, or nil. A number in the path is an index of a list.
func (o Object) At(path string) any {
	var value any = map[string]any(o)
	for name := range strings.SplitSeq(path, ".") {
		if list, is := value.([]any); is {
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(list) {
				return nil
			}
			value = list[n]
			continue
		}
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// Text returns the string at a dotted path, or "".
func (o Object) Text(path string) string {
	s, _ := o.At(path).(string)
	return s
}

// List returns the objects of a list at a dotted path.
func (r Response) List(path string) (list []Object) {
	values, _ := r.At(path).([]any)
	for _, v := range values {
		if o, ok := v.(map[string]any); ok {
			list = append(list, o)
		}
	}
	return list
}
