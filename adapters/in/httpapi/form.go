package httpapi

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/money"
)

const (
	maxBody  = 64 << 10 // bytes
	maxDepth = 32
)

// readBody returns the JSON object that a request carries. Its type and size are checked
// before any of it is read.
func readBody(r *http.Request) (strictjson.Value, error) {
	if err := checkType(r.Header); err != nil {
		return strictjson.Value{}, err
	}
	if r.ContentLength > maxBody {
		return strictjson.Value{}, tooLarge()
	}
	body, err := io.ReadAll(r.Body)
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return strictjson.Value{}, tooLarge()
	case err != nil: // a body that is cut off, or badly chunked
		return strictjson.Value{}, checkout.Malformed("the request body did not arrive whole; send it again")
	}
	return parseBody(body)
}

// checkType refuses what is not declared as plain JSON in UTF-8.
func checkType(h http.Header) error {
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return unsupported("there must be one Content-Type header: application/json")
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return unsupported("the Content-Type must be application/json")
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return unsupported("the charset must be utf-8")
	}
	for _, coding := range h.Values("Content-Encoding") {
		if !strings.EqualFold(coding, "identity") {
			return unsupported("the body must not have a Content-Encoding")
		}
	}
	return nil
}

func parseBody(data []byte) (strictjson.Value, error) {
	body, err := strictjson.Parse(data, maxDepth)
	fault, _ := errors.AsType[*strictjson.Error](err)
	switch {
	case fault != nil && fault.Path != "":
		return strictjson.Value{}, checkout.Malformed("the request body is not well-formed; details says where",
			checkout.Fault{Field: fault.Path, Message: fault.Message})
	case fault != nil:
		return strictjson.Value{}, checkout.Malformed("the request body " + fault.Message)
	case body.Kind != strictjson.Object:
		return strictjson.Value{}, checkout.Malformed("the request body must be a JSON object")
	}
	return body, nil
}

// toCreate reads a create (section 2.1).
func toCreate(body strictjson.Value, header http.Header) (checkout.Create, error) {
	f := newForm(body)
	cmd := checkout.Create{
		IdempotencyKey: idempotencyKey(header),

		ProviderCode: get(f, checkout.FieldProviderCode, strictjson.Text),
		OrderID:      get(f, checkout.FieldOrderID, strictjson.Text),

		FirstName: get(f, checkout.FieldFirstName, strictjson.Text),
		LastName:  get(f, checkout.FieldLastName, strictjson.Text),
		Email:     get(f, checkout.FieldEmail, strictjson.Text),

		CourseCode: get(f, checkout.FieldCourseCode, strictjson.Text),
		CourseName: get(f, checkout.FieldCourseName, strictjson.Text),

		Price:     get(f, checkout.FieldPrice, strictjson.Amount),
		Principal: get(f, checkout.FieldPrincipal, strictjson.Amount),
		Upfront:   get(f, checkout.FieldUpfront, strictjson.Amount),

		PaymentType: get(f, checkout.FieldPaymentType, strictjson.Text),
		Frequency:   get(f, checkout.FieldFrequency, strictjson.Text),
		Number:      get(f, checkout.FieldNumber, strictjson.Whole(money.MaxInstalments)),
		Regular:     get(f, checkout.FieldRegular, strictjson.Amount),
		Final:       get(f, checkout.FieldFinal, strictjson.Amount),
		First:       get(f, checkout.FieldFirstPayment, date),
	}
	return cmd, f.wellFormed()
}

func idempotencyKey(h http.Header) checkout.Optional[string] {
	switch keys := h.Values(checkout.FieldIdempotencyKey); len(keys) {
	case 0:
		return checkout.Optional[string]{}
	case 1:
		return checkout.Some(keys[0])
	}
	return checkout.Unreadable[string](checkout.Fault{Field: checkout.FieldIdempotencyKey, Message: "must be sent once"})
}

// toConfirm reads the body of a confirm (section 2.4).
func toConfirm(body strictjson.Value) (checkout.Confirm, error) {
	f := newForm(body)
	cmd := checkout.Confirm{
		ProviderCode: get(f, checkout.FieldProviderCode, strictjson.Text),
		OrderID:      get(f, checkout.FieldOrderID, strictjson.Text),

		CheckoutID:    get(f, checkout.FieldCheckoutID, strictjson.Text),
		Token:         get(f, checkout.FieldCheckoutToken, strictjson.Text),
		OpportunityID: get(f, checkout.FieldOpportunityID, strictjson.Text),
		DDAID:         get(f, checkout.FieldDDAID, strictjson.Text),

		PaymentMethod:    get(f, checkout.FieldPaymentMethod, strictjson.Text),
		FirstPayment:     get(f, checkout.FieldAgreedFirstPayment, date),
		DepositConfirmed: get(f, checkout.FieldDepositConfirmed, declared),

		PaymentPlanAccepted:    get(f, checkout.FieldPlanAccepted, declared),
		InformationConfirmed:   get(f, checkout.FieldInformationConfirmed, declared),
		PrivacyConsentAccepted: get(f, checkout.FieldPrivacyAccepted, declared),
	}
	return cmd, f.wellFormed()
}

func toCancel(body strictjson.Value) (checkout.Cancel, error) {
	f := newForm(body)
	cmd := checkout.Cancel{Reason: get(f, checkout.FieldReason, strictjson.Text)}
	return cmd, f.wellFormed()
}

// form reads the fields of a request's body by their dotted paths: "plan.instalment_amount" is the field
// instalment_amount of the section plan, and "reason" a field outside of every section. It has the body as "".
type form map[string]*strictjson.Fields

func newForm(body strictjson.Value) form { return form{"": {Value: body}} }

// get returns the field at a path as convert reads it. A field that is null is missing.
func get[T any](f form, path string, convert func(strictjson.Value) (T, error)) checkout.Optional[T] {
	section, name, inside := strings.Cut(path, ".")
	if !inside {
		section, name = "", path
	}
	fields := f[section]
	if fields == nil {
		v, _ := f[""].Take(section)
		fields = &strictjson.Fields{Path: section, Value: v}
		f[section] = fields
	}
	v, given := fields.Take(name)
	if kind := fields.Value.Kind; kind != strictjson.Object && kind != strictjson.Null {
		return checkout.Unreadable[T](checkout.Fault{Field: section, Message: "must be an object"})
	}
	if !given {
		return checkout.Missing[T](func() string { return f.suggest(section) })
	}
	value, err := convert(v)
	if err != nil {
		return checkout.Unreadable[T](checkout.Fault{Field: path, Message: err.Error()})
	}
	return checkout.Some(value)
}

// wellFormed refuses what contains a known name in another letter case.
func (f form) wellFormed() error {
	var faults []checkout.Fault
	for _, section := range append([]string{""}, f[""].Known...) {
		if fields := f[section]; fields != nil {
			for _, name := range fields.OtherCase() {
				faults = append(faults, checkout.Fault{Field: fields.At(name), Message: "must be spelt exactly so"})
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return checkout.Malformed("the request body is not well-formed; details says where", faults...)
}

const maxUnknown = 3

// suggest lists unknown fields of a section and of the whole body: a missing field of the section may be among them, misspelt or
// misplaced.
func (f form) suggest(section string) string {
	var unknown []string
	for _, at := range slices.Compact([]string{section, ""}) {
		for _, name := range f[at].Unknown(maxUnknown) {
			unknown = append(unknown, fmt.Sprintf("%.64q", name))
		}
	}
	if unknown == nil {
		return ""
	}
	return "unknown fields beside it: " + strings.Join(unknown[:min(len(unknown), maxUnknown)], ", ")
}

func date(v strictjson.Value) (money.Date, error) {
	s, err := strictjson.Text(v)
	if err != nil {
		return money.Date{}, err
	}
	return money.ParseDate(s)
}

// declared reads a declaration, which only true itself makes.
func declared(v strictjson.Value) (bool, error) { return strictjson.IsTrue(v), nil }
