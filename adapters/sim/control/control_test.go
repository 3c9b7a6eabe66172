package control_test

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/control"
)

// clock is a clock that only moves when it is moved.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time           { return c.now }
func (c *clock) Advance(by time.Duration) { c.now = c.now.Add(by) }

func TestControlPath(t *testing.T) {
	moved := &clock{time.Date(2027, 2, 1, 0, 0, 0, 0, time.UTC)}
	handler := control.New("/simulator/", map[string]control.Handle{
		"GET clock":        control.Time(moved),
		"POST clock":       control.Advance(moved),
		"POST things/{id}": control.Do(func(id string) error { return errors.New("there is no <" + id + ">") }),
		"DELETE things":    control.Do(func(string) error { return nil }),
	})
	for _, tt := range []struct {
		request, media, body string
		status               int
		want                 string
	}{
		{"GET /simulator/clock", "", "", 200, `{"now":"2027-02-01T00:00:00.000Z"}`},
		{"POST /simulator/clock", "application/json", `{"advance":"1m30s"}`, 200, `{"now":"2027-02-01T00:01:30.000Z"}`},
		{"POST /simulator/clock", "application/json", `{"advance":"-1s"}`, 400, `{"error":"advance must be a duration, such as 1m30s"}`},
		{"POST /simulator/clock", "text/plain", `{}`, 400, `{"error":"Content-Type must be application/json"}`},
		{"POST /simulator/clock", "application/json", `{"now":1}`, 400, `{"error":"read the body: json: unknown field \"now\""}`},
		{"POST /simulator/things/a", "", "", 400, `{"error":"there is no <a>"}`},
		{"DELETE /simulator/things", "", "", 200, `{}`},
		{"PUT /simulator/clock", "", "", 404, `{"error":"there is no PUT /simulator/clock"}`},
		{"GET /simulator/", "", "", 404, `{"error":"there is no GET /simulator/"}`},
	} {
		method, path, _ := strings.Cut(tt.request, " ")
		r := httptest.NewRequest(method, path, strings.NewReader(tt.body))
		r.Header.Set("Content-Type", tt.media)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if got := w.Body.String(); w.Code != tt.status || got != tt.want || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s = %d %s, want %d %s", tt.request, w.Code, got, tt.status, tt.want)
		}
	}
	if now := moved.Now(); now.Minute() != 1 {
		t.Errorf("the clock is at %v, want it moved once", now)
	}
}
