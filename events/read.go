package events

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrAltered is the error of Read for a body that is not as it was made.
var ErrAltered = errors.New("the event_id does not follow from the body")

// Read returns the event that has a body. An event's id follows from its body: the error is ErrAltered for a body in which
// anything was changed. That is a checksum: only a signature proves who sent it.
func Read(body []byte) (Event, error) {
	var e struct {
		ID        string  `json:"event_id"`
		Name      Name    `json:"event"`
		CreatedAt string  `json:"created_at"`
		RequestID string  `json:"request_id"`
		Data      Subject `json:"data"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return Event{}, fmt.Errorf("read the body of an event: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, e.CreatedAt)
	const field = `{"event_id":"`
	bare := strings.Replace(string(body), field+e.ID+`"`, field+`"`, 1)
	if err != nil || e.ID != identify(at, []byte(bare)) {
		return Event{}, ErrAltered
	}
	return Event{ID: e.ID, Name: e.Name, CheckoutID: e.Data.CheckoutID, ProviderCode: e.Data.ProviderCode, OrderID: e.Data.OrderID,
		RequestID: e.RequestID, CreatedAt: at.UTC(), Body: body}, nil
}
