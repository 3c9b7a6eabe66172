package httpapi

import (
	"net/http"

	"github.com/gorilla/mux"

	"github.com/provider-checkout/provider-checkout/adapters/internal/web"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

func (a *api) about(r *http.Request) (answer, error) {
	return answer{status: http.StatusOK, body: aboutOf(a.app.Readiness(r.Context()))}, nil
}

func (a *api) environment(r *http.Request) (answer, error) {
	return answer{status: http.StatusOK, body: environmentOf(a.app.Readiness(r.Context()))}, nil
}

func (a *api) create(r *http.Request, caller service.Caller) (answer, error) {
	body, err := readBody(r)
	if err != nil {
		return answer{}, err
	}
	cmd, err := createOf(body)
	if err != nil {
		return answer{}, err
	}
	cmd.RequestID = web.RequestID(r.Context())
	switch keys := r.Header.Values("Idempotency-Key"); {
	case len(keys) == 1:
		cmd.IdempotencyKey = checkout.Give(keys[0])
	case len(keys) > 1:
		cmd.Unread = append(cmd.Unread, checkout.Fault{Field: "Idempotency-Key", Message: "must be sent once"})
	}
	opened, err := a.app.Create(r.Context(), caller, cmd)
	if err != nil {
		return answer{}, err
	}
	if opened.Replay {
		return answer{status: http.StatusOK, body: openedOf(opened)}, nil
	}
	return answer{
		status:   http.StatusCreated,
		location: checkoutsPath + "/" + opened.Checkout.ID,
		body:     openedOf(opened),
	}, nil
}

func (a *api) checkout(r *http.Request, caller service.Caller) (answer, error) {
	c, err := a.app.Checkout(r.Context(), caller, mux.Vars(r)["checkoutId"])
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: checkoutOf(c)}, nil
}

func (a *api) confirm(r *http.Request, caller service.Caller) (answer, error) {
	body, err := readBody(r)
	if err != nil {
		return answer{}, err
	}
	cmd, err := confirmOf(body)
	if err != nil {
		return answer{}, err
	}
	cmd.RequestID = web.RequestID(r.Context())
	cmd.PathID = mux.Vars(r)["checkoutId"]
	confirmed, err := a.app.Confirm(r.Context(), caller, cmd)
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: confirmedOf(confirmed)}, nil
}
