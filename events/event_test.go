package events_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/events"
	"github.com/provider-checkout/provider-checkout/testdata"
)

// Every event in these tests has this origin and subject, unless a test says otherwise.
var (
	origin = events.Origin{
		RequestID:   "req_7",
		Environment: "sandbox",
		CreatedAt:   time.Date(2026, 3, 1, 2, 3, 4, 5_999_999, time.UTC),
	}
	subject = events.Subject{
		ProviderCode:  "KOWHAI",
		OrderID:       "ORD-1001",
		CheckoutID:    "KOWHAI-1772330584005-abcdefghij234567",
		OpportunityID: "opp_1",
	}
)

// A body is the contract's, byte for byte.
func TestBodiesAgreeWithVectors(t *testing.T) {
	var v struct {
		Description string `json:"description"`
		Cases       []struct {
			Name        string            `json:"name"`
			Event       events.Name       `json:"event"`
			Millis      int64             `json:"unix_milliseconds"`
			RequestID   string            `json:"request_id"`
			Environment string            `json:"environment"`
			Data        map[string]string `json:"data"`
			EventID     string            `json:"event_id"`
			Body        string            `json:"body"`
		} `json:"cases"`
	}
	testdata.Read(t, "event_bodies.json", &v)
	seen := map[events.Name]bool{}
	for _, tt := range v.Cases {
		t.Run(tt.Name, func(t *testing.T) {
			d := tt.Data
			o := events.Origin{RequestID: tt.RequestID, Environment: tt.Environment, CreatedAt: time.UnixMilli(tt.Millis)}
			s := events.Subject{ProviderCode: d["provider_code"], OrderID: d["provider_order_id"], CheckoutID: d["checkout_id"],
				OpportunityID: d["opportunity_id"]}
			var got events.Event
			switch tt.Event {
			case events.CheckoutCreated:
				got = events.Created(o, s, d["dda_id"], d["contact_id"])
			case events.CheckoutConfirmed:
				got = events.Confirmed(o, s, d["dda_id"], d["payment_plan_agreement_id"])
			case events.AgreementGenerated:
				got = events.Generated(o, s, d["payment_plan_agreement_id"], d["payment_plan_agreement_number"],
					d["pdf_content_document_id"], d["agreement_version"])
			}
			if string(got.Body) != tt.Body || got.ID != tt.EventID {
				t.Errorf("event %s with body\n     %s, want %s with\n     %s", got.ID, got.Body, tt.EventID, tt.Body)
			}
		})
		seen[tt.Event] = true
	}
	if len(seen) != 3 {
		t.Errorf("event_bodies.json has the events %v, want the three of the contract", seen)
	}
}

func TestCreatedAtIsUTCWithThreeDecimals(t *testing.T) {
	wellington := time.FixedZone("NZDT", 13*60*60)
	tests := []struct {
		name string
		at   time.Time
		want string
	}{
		{"below a millisecond is cut, not rounded", time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC), "2026-12-31T23:59:59.999Z"},
		{"another zone is turned to UTC", time.Date(2026, 3, 1, 2, 3, 4, 50_000_000, wellington), "2026-02-28T13:03:04.050Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := origin
			o.CreatedAt = tt.at
			e := events.Created(o, subject, "dda_1", "con_1")
			var body struct {
				CreatedAt string `json:"created_at"`
			}
			if err := json.Unmarshal(e.Body, &body); err != nil {
				t.Fatal(err)
			}
			if body.CreatedAt != tt.want {
				t.Errorf("created_at of %v = %q, want %q", tt.at, body.CreatedAt, tt.want)
			}
			parsed, err := time.Parse(time.RFC3339Nano, body.CreatedAt)
			if err != nil || !parsed.Equal(e.CreatedAt) || e.CreatedAt.Location() != time.UTC {
				t.Errorf("event says %v, its body %v (%v)", e.CreatedAt, parsed, err)
			}
		})
	}
}

// A receiver takes each id once. What is made again with any other content, after the store was restored, is another event.
func TestEventsWithOtherBodiesHaveOtherIDs(t *testing.T) {
	made := func(change func(*events.Origin, *events.Subject), agreement string) events.Event {
		o, s := origin, subject
		change(&o, &s)
		return events.Confirmed(o, s, "dda_1", agreement)
	}
	same := func(*events.Origin, *events.Subject) {}
	first := made(same, "agr_1")
	if !regexp.MustCompile(`^evt_[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(first.ID) {
		t.Errorf("id %q is not evt_ and a UUID", first.ID)
	}
	if again := made(same, "agr_1"); again.ID != first.ID || !bytes.Equal(again.Body, first.Body) {
		t.Errorf("the same event is %s\n%s\nand %s\n%s", first.ID, first.Body, again.ID, again.Body)
	}
	for name, other := range map[string]events.Event{
		"request":   made(func(o *events.Origin, _ *events.Subject) { o.RequestID = "req_8" }, "agr_1"),
		"time":      made(func(o *events.Origin, _ *events.Subject) { o.CreatedAt = o.CreatedAt.Add(time.Millisecond) }, "agr_1"),
		"checkout":  made(func(_ *events.Origin, s *events.Subject) { s.CheckoutID += "x" }, "agr_1"),
		"agreement": made(same, "agr_2"),
		"name":      events.Created(origin, subject, "dda_1", "agr_1"),
	} {
		if other.ID == first.ID {
			t.Errorf("an event with another %s has the same id, %s", name, other.ID)
		}
	}
}

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
