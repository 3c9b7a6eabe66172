package httpapi

import (
	"net/http"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/adapters/internal/strictjson"
	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func (a *api) about(r *http.Request) (answer, error) {
	return answer{status: http.StatusOK, body: toAboutWire(a.app.Readiness(r.Context()))}, nil
}

func (a *api) environment(r *http.Request) (answer, error) {
	return answer{status: http.StatusOK, body: toEnvironmentWire(a.app.Readiness(r.Context()))}, nil
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

func (a *api) create(r *http.Request, caller service.Caller) (answer, error) {
	cmd, err := command(a, r, caller, func(body strictjson.Value) (checkout.Create, error) { return toCreate(body, r.Header) })
	if err != nil {
		return answer{}, err
	}
	request := web.RequestOf(r.Context())
	cmd.RequestID, request.Order = request.ID, cmd.OrderID.Value
	opened, err := a.app.Create(r.Context(), caller, cmd)
	if err != nil {
		return answer{}, err
	}
	request.Checkout = opened.Checkout.ID
	got := answer{status: http.StatusOK, body: toOpenedWire(opened, a.now())}
	if !opened.Replay {
		got.status, got.location = http.StatusCreated, checkoutsPath+"/"+opened.Checkout.ID
	}
	return got, nil
}

func (a *api) checkout(r *http.Request, caller service.Caller) (answer, error) {
	c, err := a.app.Checkout(r.Context(), caller, checkoutID(r))
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: toCheckoutWire(c, a.app.Environment(), a.now())}, nil
}

func (a *api) confirm(r *http.Request, caller service.Caller) (answer, error) {
	cmd, err := command(a, r, caller, toConfirm)
	if err != nil {
		return answer{}, err
	}
	cmd.RequestID = web.RequestID(r.Context())
	confirmed, err := a.app.Confirm(r.Context(), caller, mux.Vars(r)["checkoutId"], cmd)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: toConfirmedWire(confirmed)}, nil
}

func (a *api) cancel(r *http.Request, caller service.Caller) (answer, error) {
	cmd, err := command(a, r, caller, toCancel)
	if err != nil {
		return answer{}, err
	}
	cmd.RequestID = web.RequestID(r.Context())
	c, err := a.app.Cancel(r.Context(), caller, mux.Vars(r)["checkoutId"], cmd)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: toCancelledWire(c)}, nil
}
