package golive_test

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

func TestOurOwnProgramsProveNothing(t *testing.T) {
	w := newWorld(t, memory.New())
	client := apiclient.New(w.URL, w.Keys)
	for range 2 {
		if _, err := client.Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, "order-1")); err != nil {
			t.Fatal(err)
		}
	}
	created := w.Create(t, "order-2")
	if _, err := client.Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, "order-2")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the create of an integration is proven", func() bool {
		_, done := w.missing(t, "KOWHAI")
		return done["create"].Text("request_id") == created.Header.Get("X-Request-Id") && done["replay"] == nil
	})
	if r := w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests", ""); len(r.At("requests").([]any)) != 4 {
		t.Errorf("the log has %s, want four requests", r.Body)
	}
	w.Clock.Forward(25 * time.Hour)
	w.SetUp(t, w.Replay(t, "order-1"))
	eventually(t, "the replay is in the log", func() bool {
		return w.call(t, "KOWHAI", "GET", "/sandbox/v1/requests", "").At("requests.0.status") != nil
	})
	if _, done := w.missing(t, "KOWHAI"); done["setup"] != nil {
		t.Error("a day later a checkout that is not the integration's proves a setup")
	}
}

func TestACheckoutThatIsErasedProvesNothing(t *testing.T) {
	w := newWorld(t, memory.New())
	w.config.Service.Retention = checkout.Retention{AbandonedDays: 31}
	w.serve(t)
	ours, err := apiclient.New(w.URL, w.Keys).Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, "order-1"))
	if err != nil {
		t.Fatal(err)
	}
	lost := w.Create(t, "order-2+event_lost")
	list := w.Get(t, "KOWHAI", "/v1/events?provider_order_id=order-2%2Bevent_lost")
	w.call(t, "KOWHAI", "POST", "/v1/events/"+list.String("events.0.event_id")+"/redeliver", "")
	eventually(t, "the event is sent again", func() bool {
		moments, err := w.Store.Moments(t.Context(), lost.String("checkout.checkout_id"))
		return err == nil && len(moments) == 3
	})
	for _, created := range []sandbox.Response{ours, lost} {
		w.Get(t, "KOWHAI", created.CheckoutPath())
		path := "/sandbox/v1/checkouts/" + created.String("checkout.checkout_id") + "/clock"
		if r := w.call(t, "KOWHAI", "POST", path, `{"advance": "P40D"}`); r.Status != http.StatusGone {
			t.Fatalf("the clock after the retention: %d %s", r.Status, r.Body)
		}
	}
	if _, done := w.missing(t, "KOWHAI"); len(done) != 0 {
		t.Errorf("checkouts that were erased prove %v", done)
	}
}

func TestACheckoutOfOursIsOnRecordBeforeAnybodyKnowsOfIt(t *testing.T) {
	store := &noting{Store: memory.New()}
	w := newWorld(t, store)
	ours := func() bool {
		return slices.ContainsFunc(store.left(t), func(name string) bool { return strings.HasSuffix(name, "/ours") })
	}
	var known atomic.Bool // as ours, when its event arrives
	w.Receiver.AnswerWith(func(sandbox.Delivery) int { known.Store(ours()); return http.StatusNoContent })
	const order = "order-1+next_answer_lost"
	body := sandbox.Order(sandbox.CatalogueCreate, order)
	client := apiclient.New(w.URL, w.Keys)
	if r, err := client.Create(t.Context(), "KOWHAI", sandbox.Set(t, body, "student.email", "")); err != nil || r.Status != http.StatusBadRequest || ours() {
		t.Errorf("a wrong create is answered %d %s, %v, and on record as ours is a checkout: %v", r.Status, r.Body, err, ours())
	}
	if r, err := client.Create(t.Context(), "KOWHAI", body); err == nil {
		t.Fatalf("the create is answered %d %s", r.Status, r.Body)
	}
	if !known.Load() || !ours() {
		t.Errorf("the checkout is on record as ours when its event arrives: %v; and when its answer is lost: %v", known.Load(), ours())
	}
}
