package events_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/events"
)

func TestReadReturnsTheEventOfABody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string { return rapid.String().Draw(t, label) }
		o := events.Origin{RequestID: text("request"), Environment: text("environment"),
			CreatedAt: time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "ms"))}
		s := events.Subject{ProviderCode: text("provider"), OrderID: text("order"), CheckoutID: text("checkout"), OpportunityID: text("opportunity")}
		for _, want := range []events.Event{events.Created(o, s, "dda_1", text("contact")), events.Confirmed(o, s, "dda_1", text("agreement"))} {
			if got, err := events.Read(want.Body); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("Read(%s) =\n%+v, %v; want\n%+v", want.Body, got, err, want)
			}
		}
	})
}

func TestReadRefusesABodyThatWasChanged(t *testing.T) {
	body := events.Confirmed(origin, subject, "dda_1", "agr_1").Body
	for name, changed := range map[string][]byte{
		"another order":     bytes.Replace(body, []byte("ORD-1001"), []byte("ORD-1002"), 1),
		"another id":        bytes.Replace(body, []byte("evt_"), []byte("evt_0"), 1),
		"other white space": bytes.Replace(body, []byte(","), []byte(", "), 1),
		"no id":             []byte(`{"event":"checkout.created"}`),
	} {
		if _, err := events.Read(changed); !errors.Is(err, events.ErrAltered) {
			t.Errorf("%s: %v, want ErrAltered", name, err)
		}
	}
	if _, err := events.Read(body[1:]); err == nil || errors.Is(err, events.ErrAltered) {
		t.Errorf("half a body: %v, want the error of its JSON", err)
	}
}
