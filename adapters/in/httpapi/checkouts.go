package httpapi

import (
	"net/http"
	"strings"

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

// checkpoint answers the newest signed checkpoint of the evidence log, and evidenceKey the key that verifies it. Both are
// for the public: see package evidence.
func (a *api) checkpoint(r *http.Request) (answer, error) {
	signed, err := a.app.Checkpoint(r.Context())
	return published(string(signed), err)
}

func (a *api) evidenceKey(*http.Request) (answer, error) {
	return published(a.app.EvidenceKey()+"\n", nil)
}

func published(text string, err error) (answer, error) {
	if err == nil && strings.TrimSpace(text) == "" {
		err = notFound(false)
	}
	return answer{status: http.StatusOK, text: text}, err
}

// command reads the body of a call that changes something. What convert refuses is on record before the call is answered.
func command[T any](a *api, r *http.Request, caller service.Caller, convert func(strictjson.Value) (T, error)) (cmd T, err error) {
	body, err := readBody(r)
	if err != nil {
		return cmd, err
	}
	if cmd, err = convert(body); err != nil {
		a.app.Refused(r.Context(), caller, mux.Vars(r)["checkoutId"], web.RequestID(r.Context()), err)
	}
	return cmd, err
}

func (a *api) create(r *http.Request, caller service.Caller) (got answer, err error) {
	cmd, err := command(a, r, caller, func(body strictjson.Value) (checkout.Create, error) { return toCreate(body, r.Header) })
	if err != nil {
		return got, err
	}
	cmd.RequestID = web.RequestID(r.Context())
	err = a.around(r, caller, cmd.OrderID.Value, func(r *http.Request) error {
		opened, err := a.app.Create(r.Context(), caller, cmd)
		if err != nil {
			return err
		}
		got = answer{status: http.StatusOK, body: toOpenedWire(opened, a.app.Present(r.Context()))}
		if !opened.Replay {
			got.status, got.location = http.StatusCreated, checkoutsPath+"/"+opened.Checkout.ID
		}
		return nil
	})
	return got, err
}

func (a *api) checkout(r *http.Request, caller service.Caller) (answer, error) {
	request := web.RequestOf(r.Context())
	request.Poll = true
	c, err := a.app.Checkout(r.Context(), caller, mux.Vars(r)["checkoutId"])
	if err != nil {
		return answer{}, err
	}
	now := a.app.Present(r.Context())
	request.NextPoll, request.Complete, request.Shown = c.NextPoll(now), c.SetupComplete(), string(c.Status)
	return answer{status: http.StatusOK, body: toCheckoutWire(c, now)}, nil
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
