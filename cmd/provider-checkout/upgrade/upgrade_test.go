package upgrade_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/in/httpapi"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/ports"
)

// The tests of this folder hold today's program to what a provider, a payer and the operator have from an earlier
// version. Each starts it on a copy of a store that the program wrote at commit 7ef5044 (testdata/upgrade), in SQLite
// and in PostgreSQL. The service's clock stands on the day of that store, because setup links expire.

// suite is the service of today over an upgraded store.
type suite struct {
	*sandbox.Sandbox
	was history
}

type response = sandbox.Response

// upgraded runs a test over a copy of each store.
func upgraded(t *testing.T, test func(t *testing.T, s suite)) {
	eachStore(t, func(t *testing.T, p place, was history) { test(t, resume(t, p, was)) })
}

// resume serves the store of a place. Its destinations are addresses of the machine that wrote it, so every event is
// sent to the sandbox's own receiver.
func resume(t *testing.T, p place, was history) suite {
	t.Helper()
	db, err := p.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	receiver := sandbox.NewReceiver(t)
	s := sandbox.Resume(t, sandbox.Used{Store: db, Secrets: db.Secrets(), Keys: was.keys, Now: was.moment(t)},
		func(c *service.Config, _ *httpapi.Options) { c.Sender = redirected{c.Sender, receiver.URL} })
	s.Receiver = receiver
	return suite{s, was}
}

// redirected sends every event to another address.
type redirected struct {
	ports.Sender
	address string
}

func (r redirected) Send(ctx context.Context, to catalogue.Destination, d events.Delivery, attempt int) error {
	to.URL = r.address
	return r.Sender.Send(ctx, to, d, attempt)
}

// create sends a create of an order under an idempotency key, or without one where that is "".
func (s suite) create(t *testing.T, body, key string) response {
	t.Helper()
	var headers []string
	if key != "" {
		headers = []string{"Idempotency-Key", key}
	}
	return s.Post(t, providerOf(t, body), "/v1/provider-checkouts", body, headers...)
}

// replay sends an order's create once more, which must be a replay.
func (s suite) replay(t *testing.T, order string) response {
	t.Helper()
	r := s.create(t, s.was.orders[order].create(t), "")
	if r.Status != http.StatusOK || r.At("idempotent_replay") != true {
		t.Fatalf("%s: %d %s, want a replay", order, r.Status, r.Body)
	}
	return r
}

// get polls the checkout of an order.
func (s suite) get(t *testing.T, order string) response {
	t.Helper()
	o := s.was.orders[order]
	return s.Get(t, o.provider(), "/v1/provider-checkouts/"+o.id())
}

// link returns the address of an order's setup page that the earlier version gave out.
func (s suite) link(order string) string {
	return s.URL + sandbox.SetupPagePath + "?token=" + s.was.tokens[order]
}

// agrees checks the status of an answer, and values of it by their dotted paths.
func agrees(t *testing.T, r response, status int, want map[string]any) {
	t.Helper()
	if r.Status != status {
		t.Errorf("answer %d %s, want %d", r.Status, r.Body, status)
		return
	}
	for path, value := range want {
		if got := r.At(path); fmt.Sprint(got) != fmt.Sprint(value) {
			t.Errorf("%s is %v, want %v", path, got, value)
		}
	}
}

// refused checks that an answer is the refusal with this code and these fields.
func refused(t *testing.T, r response, code string, fields ...string) {
	t.Helper()
	var got []string
	details, _ := r.At("error.details").([]any)
	for _, d := range details {
		m, _ := d.(map[string]any)
		got = append(got, fmt.Sprint(m["field"]))
	}
	if r.Status != http.StatusConflict || r.String("error.code") != code || !slices.Equal(got, fields) {
		t.Errorf("answer %d %s\nwant 409 %s in %q", r.Status, r.Body, code, fields)
	}
}

// delivered checks that exactly these events have arrived, each named "<event> <order>".
func (s suite) delivered(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for _, d := range s.Receiver.Deliveries() {
		got = append(got, d.JSON.Text("event")+" "+d.JSON.Text("data.provider_order_id"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the events %q have arrived, want %q", got, want)
	}
}
