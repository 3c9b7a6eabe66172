package simulation_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/ports"
)

// In some worlds the real adapter reaches the simulator of GoCardless, request by request.

const farToken, farSecret = "token", "secret-of-the-simulation"

// wire has the requests of a process reach a simulator. The requests of nil go through whatever happens.
type wire struct {
	p       *process
	to      string
	handler http.Handler
}

// RoundTrip implements http.RoundTripper.
func (t wire) RoundTrip(req *http.Request) (res *http.Response, err error) {
	var body []byte
	if req.Body != nil {
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
	}
	serve := func(ctx context.Context) error {
		answer, again := httptest.NewRecorder(), req.Clone(ctx)
		again.Body, again.Host, again.RequestURI = io.NopCloser(bytes.NewReader(body)), req.URL.Host, req.URL.RequestURI()
		t.handler.ServeHTTP(answer, again)
		if res = answer.Result(); t.p != nil && req.URL.Path == "/events" {
			t.p.world.listLate(res)
		}
		return ctx.Err()
	}
	if t.p == nil {
		return res, cmp.Or(serve(req.Context()), err)
	}
	err = t.p.do(req.Context(), call{to: t.to, name: req.Method + " " + req.URL.Path, says: body, takes: 100 * time.Millisecond,
		limit: 40 * time.Second, reads: req.Method == http.MethodGet, effect: serve})
	switch {
	case errors.Is(err, ports.ErrBusy):
		return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
	case err != nil:
		return nil, err
	}
	return res, nil
}

// listLate takes events off a list of GoCardless' that are not in it yet: an event is listed up to a minute after its time.
func (w *world) listLate(res *http.Response) {
	var list struct {
		Events []map[string]any `json:"events"`
		Meta   any              `json:"meta"`
	}
	body, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err == nil && len(list.Events) < 500 { // a full page has no room for others
		listed := len(list.Events)
		list.Events = slices.DeleteFunc(list.Events, func(e map[string]any) bool {
			at, _ := time.Parse(time.RFC3339, fmt.Sprint(e["created_at"]))
			return time.Since(at) < time.Duration(hashOf(fmt.Sprint(e["id"]))%uint64(time.Minute))
		})
		if w.saw("GoCardless' list was read"); len(list.Events) < listed {
			w.saw("GoCardless' list did not have an event yet")
		}
		body, err = json.Marshal(list)
	}
	if err != nil {
		panic(err) // of the simulator
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	res.ContentLength = int64(len(body))
}

// onlyLists has the mandates of confirmed orders reach a status that no notification tells: GoCardless' list of events has it.
func (w *world) onlyLists(to checkout.MandateStatus) {
	for _, r := range w.model.records() {
		c, id := r.Checkout, r.Checkout.Setup.BillingRequestID
		if seen := w.bank.seen(id).Mandate; w.plan.far && c.Status == checkout.Confirmed && !c.Ended() && !seen.Dead() && seen != to {
			w.model.dies(c, to)
			w.bank.move(id, to)
			w.saw("GoCardless only listed that a mandate became " + string(to))
		}
	}
}

// seeded is the randomness of a simulator.
type seeded struct{ *rand.Rand }

func (s seeded) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(s.Uint32())
	}
	return len(b), nil
}

// farBank is GoCardless.
type farBank struct {
	*gocardlesstest.Simulator
	direct *gocardless.Processor
}

func (w *world) newFarBank() *farBank {
	r, _ := w.chance("GoCardless")
	b := &farBank{Simulator: gocardlesstest.New(gocardlesstest.Options{Token: farToken, Rand: seeded{r}})}
	b.direct = w.gocardless(nil, b)
	return b
}

// gocardless returns the processor of a process.
func (w *world) gocardless(p *process, b *farBank) *gocardless.Processor {
	o := gocardless.Options{Environment: catalogue.Sandbox, Token: farToken, URL: "http://localhost:1",
		Transport: wire{p, "bank", b}, Now: time.Now, Rand: seeded{rand.New(rand.NewPCG(w.seed, 1))}}
	if p != nil {
		o.Now, o.Rand = p.Now, p
	}
	processor, err := gocardless.New(o)
	if err != nil {
		panic(err) // of the options above
	}
	return processor
}

// reconcile returns the task that reads GoCardless' list of events.
func (p *process) reconcile(processor *gocardless.Processor) service.Task {
	receiver, err := gocardless.NewReceiver(gocardless.ReceiverOptions{Processor: processor, Secrets: [][]byte{[]byte(farSecret)},
		Notified: func(ctx context.Context, all []checkout.Notification) error { return p.Notified(ctx, all) },
		Report:   func(_ context.Context, err error) { p.world.model.noPanic(p, err) }})
	if err != nil {
		panic(err) // of the options above
	}
	return service.Task{Kind: checkout.JobReconcile, Run: receiver.Reconcile}
}

func (b *farBank) finish(url string) bool {
	_, err := b.Complete(url, gocardlesstest.Payer{Holder: "A NGATA"})
	return err == nil
}

func (b *farBank) move(id string, to checkout.MandateStatus) { _ = b.MoveMandate(id, string(to), "") }

// conflicts returns how many calls found a billing request that an earlier one had made.
func (b *farBank) conflicts() int { return b.Statistics().Answers["POST /billing_requests 409"] }

func (b *farBank) seen(id string) checkout.Observation {
	ended := checkout.Observation{Mandate: checkout.MandateFailed} // of which the time of the next status is asked
	seen, err := b.direct.Observe(context.Background(), checkout.SetupQuery{Setup: checkout.Setup{BillingRequestID: id, Observation: ended}})
	if err != nil && id != "" {
		panic(err) // nothing is in the way
	}
	return seen
}
