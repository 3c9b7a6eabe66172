package httpapi

import (
	"net/http"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func (a *api) about(*http.Request) (any, error) {
	return aboutWire{true, "provider-checkout", "v1", a.app.Environment(), a.app.BaseURL()}, nil
}

func (a *api) environment(r *http.Request) (any, error) {
	return toEnvironmentWire(a.app.Readiness(r.Context())), nil
}

// checkoutID returns the id in the path of a call, and notes it for the log if it can be one.
func checkoutID(r *http.Request) string {
	id := mux.Vars(r)["checkoutId"]
	if checkout.PlausibleID(id) {
		web.RequestOf(r.Context()).Checkout = id
	}
	return id
}

// command reads the body of a call that changes something. A body that convert refuses is noted with the checkout.
func command[T any](a *api, r *http.Request, caller service.Caller, convert func(strictjson.Value) (T, error)) (cmd T, err error) {
	body, err := readBody(r)
	if err != nil {
		return cmd, err
	}
	id := checkoutID(r)
	if cmd, err = convert(body); err != nil {
		a.app.Refused(caller, id, web.RequestID(r.Context()), err)
	}
	return cmd, err
}

func (a *api) create(r *http.Request, caller service.Caller) (any, error) {
	cmd, err := command(a, r, caller, func(body strictjson.Value) (checkout.Create, error) { return toCreate(body, r.Header) })
	if err != nil {
		return nil, err
	}
	request := web.RequestOf(r.Context())
	cmd.RequestID, request.Order = request.ID, cmd.OrderID.Value
	opened, err := a.app.Create(r.Context(), caller, cmd)
	if err == nil {
		request.Checkout = opened.Checkout.ID
	}
	return toOpenedWire(opened, a.now()), err
}

func (a *api) checkout(r *http.Request, caller service.Caller) (any, error) {
	c, err := a.app.Checkout(r.Context(), caller, checkoutID(r))
	return toCheckoutWire(c, a.app.Environment(), a.now()), err
}

func (a *api) confirm(r *http.Request, caller service.Caller) (any, error) {
	cmd, err := command(a, r, caller, toConfirm)
	if err != nil {
		return nil, err
	}
	cmd.RequestID = web.RequestID(r.Context())
	confirmed, err := a.app.Confirm(r.Context(), caller, mux.Vars(r)["checkoutId"], cmd)
	return toConfirmedWire(confirmed), err
}

func (a *api) cancel(r *http.Request, caller service.Caller) (any, error) {
	cmd, err := command(a, r, caller, toCancel)
	if err != nil {
		return nil, err
	}
	cmd.RequestID = web.RequestID(r.Context())
	c, err := a.app.Cancel(r.Context(), caller, mux.Vars(r)["checkoutId"], cmd)
	return toCancelledWire(c), err
}
