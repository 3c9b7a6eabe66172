package httpapi

import (
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

// Call is a call of a provider that is not in the contract. It returns the body of its answer, which is 200.
type Call func(r *http.Request, caller service.Caller) (body any, err error)

func (c Call) answer(r *http.Request, caller service.Caller) (answer, error) {
	body, err := c(r, caller)
	return answer{status: http.StatusOK, body: body}, err
}

// CheckoutID returns the checkout that the path of a call names as {checkoutId}; "" without such a variable.
func CheckoutID(r *http.Request) string { return mux.Vars(r)["checkoutId"] }

// EventID returns the event that the path of a call names as {eventId}; "" without such a variable.
func EventID(r *http.Request) string { return mux.Vars(r)["eventId"] }

// ListedOrder returns the order whose entries alone a call for a list asks for; "" for all, and for a query that is refused.
func ListedOrder(r *http.Request) string {
	list, err := toList(r, true)
	if _, refused := list.Query(""); err != nil || refused != nil {
		return ""
	}
	return list.OrderID.Value
}

// Texts reads the body of a call as the API reads its bodies, and returns the texts of the fields with these names that it has.
func Texts(r *http.Request, names ...string) (map[string]string, error) {
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	f, texts := newForm(body), make(map[string]string)
	for _, name := range names {
		texts[name] = get(f, name, strictjson.Text).Value
	}
	return texts, f.wellFormed()
}

// Get is the body of the answer to a GET of a checkout, for answers that have more beside it.
type Get = checkoutWire

// ToGet returns the body of the answer to a GET of a checkout.
func ToGet(c checkout.Checkout, now time.Time) Get { return toCheckoutWire(c, now) }
