package events_test

import (
	"encoding/json"
	"maps"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/provider-checkout/provider-checkout/events"
)

// origin and subject are those of every event in these tests, unless a test says otherwise.
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

func TestBodiesAreTheContractsByteForByte(t *testing.T) {
	tests := []struct {
		name string
		got  events.Event
		want string
	}{
		{
			"checkout.created", events.Created(origin, subject, "dda_1", "con_1"),
			`{"event_id":"evt_f2df8f79-9a3e-5679-9705-117f9e6b3b4e","event":"checkout.created",` +
				`"created_at":"2026-03-01T02:03:04.005Z","request_id":"req_7","environment":"sandbox","data":{` +
				`"provider_code":"KOWHAI","provider_order_id":"ORD-1001",` +
				`"checkout_id":"KOWHAI-1772330584005-abcdefghij234567","opportunity_id":"opp_1",` +
				`"dda_id":"dda_1","contact_id":"con_1"}}`,
		},
		{
			"checkout.confirmed", events.Confirmed(origin, subject, "dda_1", "agr_1"),
			`{"event_id":"evt_c6e4e158-4fe4-557d-a2b9-01500bcbe501","event":"checkout.confirmed",` +
				`"created_at":"2026-03-01T02:03:04.005Z","request_id":"req_7","environment":"sandbox","data":{` +
				`"provider_code":"KOWHAI","provider_order_id":"ORD-1001",` +
				`"checkout_id":"KOWHAI-1772330584005-abcdefghij234567","opportunity_id":"opp_1",` +
				`"dda_id":"dda_1","status":"Confirmed","payment_plan_agreement_id":"agr_1"}}`,
		},
		{
			"agreement.generated",
			events.Generated(origin, subject, "agr_1", "PPA-2026-000001", "doc_1", "2026-01-01"),
			`{"event_id":"evt_caba4a9b-77a0-5113-b2fc-1d4fd0f1f5c6","event":"agreement.generated",` +
				`"created_at":"2026-03-01T02:03:04.005Z","request_id":"req_7","environment":"sandbox","data":{` +
				`"provider_code":"KOWHAI","provider_order_id":"ORD-1001",` +
				`"checkout_id":"KOWHAI-1772330584005-abcdefghij234567","opportunity_id":"opp_1",` +
				`"payment_plan_agreement_id":"agr_1","payment_plan_agreement_number":"PPA-2026-000001",` +
				`"pdf_content_document_id":"doc_1","agreement_version":"2026-01-01"}}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(tt.got.Body); got != tt.want {
				t.Errorf("body\n got %s\nwant %s", got, tt.want)
			}
			if got := string(tt.got.Name); got != tt.name {
				t.Errorf("name %q, want %q", got, tt.name)
			}
		})
	}
}

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
	readFile(t, "event_bodies.json", &v)
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
		t.Errorf("event_bodies.json has the events %v, want all three", seen)
	}
}

func TestAnEventCarriesWhatItsEnvelopeSays(t *testing.T) {
	is := is.New(t)
	e := events.Confirmed(origin, subject, "dda_1", "agr_1")
	is.Equal(e, events.Event{
		ID:           events.ID(subject.CheckoutID, events.CheckoutConfirmed),
		Name:         events.CheckoutConfirmed,
		CheckoutID:   subject.CheckoutID,
		ProviderCode: "KOWHAI",
		OrderID:      "ORD-1001",
		RequestID:    "req_7",
		CreatedAt:    time.Date(2026, 3, 1, 2, 3, 4, 5_000_000, time.UTC),
		Body:         e.Body,
	})
}

func TestCreatedAtIsUTCWithThreeDecimals(t *testing.T) {
	wellington := time.FixedZone("NZDT", 13*60*60)
	tests := []struct {
		name string
		at   time.Time
		want string
	}{
		{"a whole second keeps its decimals", time.Date(2026, 3, 1, 2, 3, 4, 0, time.UTC), "2026-03-01T02:03:04.000Z"},
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

func TestAnOrderIDReadsInTheBodyAsItWasWritten(t *testing.T) {
	is := is.New(t)
	s := subject
	s.OrderID = `<b>Kōwhai & "Co"</b> \ 🌱`
	body := string(events.Created(origin, s, "dda_1", "con_1").Body)
	is.True(strings.Contains(body, `"provider_order_id":"<b>Kōwhai & \"Co\"</b> \\ 🌱"`)) // no HTML escapes
	is.True(strings.HasSuffix(body, "}"))                                                // no line break
}

// Whatever the strings hold, a receiver reads back what was put in.
func TestBodiesSurviveTheirJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string) string { return rapid.String().Draw(t, label) }
		o := events.Origin{RequestID: text("request"), Environment: text("environment"), CreatedAt: origin.CreatedAt}
		s := events.Subject{ProviderCode: text("provider"), OrderID: text("order"), CheckoutID: text("checkout"), OpportunityID: text("opportunity")}
		number := text("number")
		e := events.Generated(o, s, "agr_1", number, "doc_1", "2026-01-01")
		var got struct {
			RequestID   string `json:"request_id"`
			Environment string
			Data        map[string]string
		}
		if err := json.Unmarshal(e.Body, &got); err != nil {
			t.Fatalf("%s: %v", e.Body, err)
		}
		want := map[string]string{
			"provider_code": s.ProviderCode, "provider_order_id": s.OrderID, "checkout_id": s.CheckoutID,
			"opportunity_id": s.OpportunityID, "payment_plan_agreement_id": "agr_1",
			"payment_plan_agreement_number": number, "pdf_content_document_id": "doc_1", "agreement_version": "2026-01-01",
		}
		if !maps.Equal(got.Data, want) || got.RequestID != o.RequestID || got.Environment != o.Environment {
			t.Errorf("body %s\n got %v\nwant %v", e.Body, got, want)
		}
	})
}

func TestIDsAreOneForEachCheckoutAndName(t *testing.T) {
	is := is.New(t)
	names := []events.Name{events.CheckoutCreated, events.CheckoutConfirmed, events.AgreementGenerated}
	checkouts := []string{"A-1-x", "A-1-y", "B-1-x", ""}
	seen := map[string]bool{}
	for _, name := range names {
		for _, checkout := range checkouts {
			id := events.ID(checkout, name)
			is.True(regexp.MustCompile(`^evt_[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(id))
			is.Equal(id, events.ID(checkout, name)) // for ever
			seen[id] = true
		}
	}
	is.Equal(len(seen), len(names)*len(checkouts))

	// These are on record at receivers: they may never change.
	is.Equal(events.ID(subject.CheckoutID, events.CheckoutCreated), "evt_f2df8f79-9a3e-5679-9705-117f9e6b3b4e")
}
