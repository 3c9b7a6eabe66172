package providercheckout_test

import (
	"errors"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/clients/go/providercheckout"
	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/testdata"
)

func TestVerifyEventTakesTheVectors(t *testing.T) {
	var vectors struct {
		Description string
		Accepted    []struct {
			Name, Secret, Body, Header string
			Timestamp                  int64
		}
		Refused []struct {
			Name, Secret, Body, Header, Reason string
			Now                                int64
		}
	}
	testdata.Read(t, "signatures.json", &vectors)
	reasons := map[string]error{"malformed": events.ErrMalformed, "mismatch": events.ErrMismatch, "too_old": events.ErrTooOld}
	judge := func(name, secret, header, body string, now int64, want error) {
		_, err := providercheckout.VerifyEvent(secret, header, []byte(body), time.Unix(now, 0))
		for _, reason := range reasons { // a body that is accepted need not be an event
			if errors.Is(err, reason) != (want == reason) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
	}
	for _, v := range vectors.Accepted {
		judge(v.Name, v.Secret, v.Header, v.Body, v.Timestamp, nil)
	}
	for _, v := range vectors.Refused {
		judge(v.Name, v.Secret, v.Header, v.Body, v.Now, reasons[v.Reason])
	}
}

func TestParseEventKnowsEveryEvent(t *testing.T) {
	for _, name := range events.Names() {
		event, err := providercheckout.ParseEvent([]byte(`{"event_id": "evt_1", "event": "` + string(name) + `"}`))
		if _, unknown := event.(*providercheckout.UnknownEvent); unknown || err != nil || event.ID() != "evt_1" {
			t.Errorf("%s: %T, %v", name, event, err)
		}
	}
	event, err := providercheckout.ParseEvent([]byte(`{"event_id": "evt_1", "event": "ping", "data": {}}`))
	if unknown, ok := event.(*providercheckout.UnknownEvent); !ok || err != nil || unknown.Event != "ping" {
		t.Errorf("ping: %T, %v", event, err)
	}
	if event, err := providercheckout.ParseEvent([]byte("{")); err == nil {
		t.Errorf("no JSON: %v", event)
	}
}
