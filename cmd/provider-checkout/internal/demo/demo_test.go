package demo

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/fakeprovider"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/events"
)

func TestDemonstrationRecordsItsConfigurationAsItsOwn(t *testing.T) {
	file, err := os.ReadFile("../../demo.json")
	if err != nil {
		t.Fatal(err)
	}
	store := memory.New(time.Now)
	d := demonstration{cfg: Config{Site: site.Config{Store: store, Secrets: [][]byte{[]byte(strings.Repeat("s", 32))}}, Providers: file}}
	if d.web, err = listenWebsite(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer d.web.listener.Close()
	if err := d.configure(t.Context()); err != nil {
		t.Fatal(err)
	}
	did, err := store.Acts(t.Context(), checkout.ActFilter{}, 10)
	if err != nil || len(did) != 4 {
		t.Fatalf("on record are %d acts, %v; want those of two providers and of two keys", len(did), err)
	}
	names := map[string]int{}
	for _, act := range did {
		if act.Operator != "demo" {
			t.Errorf("on record is %+v, want an act of demo", act)
		}
		names[act.Name+" "+act.Subject]++
	}
	if names["demo KOWHAI"] != 1 || names["demo TUI"] != 1 {
		t.Errorf("on record are %v", names)
	}
}

func TestWalkStopsAtTheFirstThingThatDoesNotHold(t *testing.T) {
	website := httptest.NewServer(fakeprovider.New(fakeprovider.Options{API: sandbox.New(t, sandbox.Memory).URL, Key: "pck_no_key", Code: providerCode}))
	t.Cleanup(website.Close)
	var out bytes.Buffer
	err := (&demonstration{Website: website.URL}).walk(t.Context(), &out)
	if err == nil || !strings.Contains(err.Error(), "POST /enrol answered 502: The API did not do that") {
		t.Errorf("walk = %v, want what is wrong with the create", err)
	}
	if strings.Contains(out.String(), "everything held") {
		t.Errorf("walk prints\n%s", out.String())
	}
}

func TestReceiverConsumesAnEventOnce(t *testing.T) {
	const secret = "whsec_0123456789abcdef01"
	body := `{"event_id": "evt_1", "event": "checkout.created", "data": {"provider_order_id": "ENROL-1"}}`
	signed := events.Sign(secret, time.Now(), []byte(body))
	r := newReceiver()
	r.secrets["KOWHAI"] = secret
	for _, tt := range []struct {
		name, provider, signature string
		status, received          int
	}{
		{"a verified event", "KOWHAI", signed, http.StatusOK, 1},
		{"the same event again", "KOWHAI", signed, http.StatusOK, 0},
		{"a forged event", "KOWHAI", events.Sign("whsec_another_secret_0123", time.Now(), []byte(body)), http.StatusUnauthorized, 1},
		{"an event of a stranger", "MOA", signed, http.StatusNotFound, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest("POST", "/"+tt.provider, strings.NewReader(body))
			req.SetPathValue("provider", tt.provider)
			req.Header.Set(events.HeaderSignature, tt.signature)
			w := httptest.NewRecorder()
			r.ServeHTTP(w, req)
			if w.Code != tt.status || len(r.got) != tt.received {
				t.Errorf("status %d, %d received; want %d, %d", w.Code, len(r.got), tt.status, tt.received)
			}
			for range len(r.got) {
				if got := <-r.got; (got.err == nil) != (tt.status == http.StatusOK) {
					t.Errorf("received %v", got)
				}
			}
		})
	}
}
