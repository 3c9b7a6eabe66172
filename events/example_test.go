package events_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/provider-checkout/provider-checkout/events"
)

// A receiver reads the raw body, verifies it before it looks inside, and consumes each
// event id once. It answers 2xx to a repeated one too.
func ExampleVerify() {
	const secret = "whsec_kowhai_sandbox_0123456789" // shared with the operator
	now := func() time.Time { return time.Unix(1772330590, 0) }

	consumed := map[string]bool{} // a table with a unique column, in earnest
	receive := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		signature := r.Header.Get(events.HeaderSignature)
		if err := events.Verify(secret, signature, body, now(), 5*time.Minute); err != nil {
			fmt.Println("refused:", err)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var event struct {
			ID   string `json:"event_id"`
			Name string `json:"event"`
			Data struct {
				OrderID string `json:"provider_order_id"`
			} `json:"data"`
		}
		if err := json.Unmarshal(body, &event); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		if !consumed[event.ID] {
			consumed[event.ID] = true
			fmt.Println(event.Name, "of order", event.Data.OrderID)
		}
		w.WriteHeader(http.StatusNoContent)
	}

	body := []byte(`{"event_id":"evt_1","event":"checkout.created","data":{"provider_order_id":"ORD-1001"}}`)
	deliver := func(body []byte, signature string) {
		r := httptest.NewRequest(http.MethodPost, "/checkout", bytes.NewReader(body))
		r.Header.Set(events.HeaderSignature, signature)
		w := httptest.NewRecorder()
		receive(w, r)
		fmt.Println(w.Code)
	}
	signature := events.Sign(secret, time.Unix(1772330584, 0), body)
	deliver(body, signature)
	deliver(body, signature) // the first answer was lost on its way
	deliver(bytes.Replace(body, []byte("1001"), []byte("1002"), 1), signature)
	// Output:
	// checkout.created of order ORD-1001
	// 204
	// 204
	// refused: signature does not match
	// 401
}

func ExampleSign() {
	fmt.Println(events.Sign("whsec_kowhai_sandbox_0123456789", time.Unix(1772330584, 0), []byte("{}")))
	// Output:
	// t=1772330584,v1=5d5384b1ded2a36a1793b9621f44e4f348fba0fc71479e47910a59293573e447
}

// An event's id follows from everything else in its body.
func ExampleCreated() {
	e := events.Created(
		events.Origin{RequestID: "req_7", Environment: "sandbox", CreatedAt: time.Unix(1772330584, 5_000_000)},
		events.Subject{
			ProviderCode:  "KOWHAI",
			OrderID:       "ORD-1001",
			CheckoutID:    "KOWHAI-1772330584005-abcdefghij234567",
			OpportunityID: "opp_1",
		},
		"dda_1", "con_1")
	var indented bytes.Buffer
	if err := json.Indent(&indented, e.Body, "", "  "); err != nil {
		panic(err)
	}
	fmt.Println(&indented)
	// Output:
	// {
	//   "event_id": "evt_019ca722-87c5-8247-aeb9-0dbd454250d1",
	//   "event": "checkout.created",
	//   "created_at": "2026-03-01T02:03:04.005Z",
	//   "request_id": "req_7",
	//   "environment": "sandbox",
	//   "data": {
	//     "provider_code": "KOWHAI",
	//     "provider_order_id": "ORD-1001",
	//     "checkout_id": "KOWHAI-1772330584005-abcdefghij234567",
	//     "opportunity_id": "opp_1",
	//     "dda_id": "dda_1",
	//     "contact_id": "con_1"
	//   }
	// }
}
