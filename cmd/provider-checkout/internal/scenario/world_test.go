package scenario_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// world is a deployment of the sandbox as a program assembles it, with the providers of the test sandbox.
type world struct {
	*sandbox.Sandbox
	config site.Config
}

// newWorld runs a site on a store until the test ends.
func newWorld(t *testing.T, store site.Store, changes ...func(*site.Config)) *world {
	t.Helper()
	w := &world{Sandbox: &sandbox.Sandbox{Store: store, Clock: &sandbox.Clock{}, Receiver: sandbox.NewReceiver(t), Keys: make(map[string]string)}}
	w.config = site.Config{Store: store, Secrets: [][]byte{bytes.Repeat([]byte("s"), checkout.MinSecret)}, AllowPrivate: true,
		Service: service.Config{Environment: catalogue.Sandbox}, Log: slog.New(slog.DiscardHandler)}
	for _, change := range changes {
		change(&w.config)
	}
	w.config.Now = w.Clock.Now
	w.Configure(t, strings.ReplaceAll(sandbox.Providers, `"webhook": {`, `"webhook": {"events": ["checkout.created", "checkout.confirmed",
		"agreement.generated", "checkout.cancelled", "mandate.changed"], `))
	w.serve(t)
	for _, code := range []string{"KOWHAI", "TUI"} {
		w.Keys[code] = w.IssueKey(t, code, catalogue.Sandbox)
	}
	return w
}

// serve runs a process on the store, to which all requests go from now on.
func (w *world) serve(t *testing.T) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	w.URL = "http://" + server.Listener.Addr().String()
	w.config.Service.BaseURL = w.URL
	s, err := site.New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	server.Config.Handler = s.Handler
	server.Start()
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { defer close(ran); s.Service.Run(ctx) }()
	t.Cleanup(func() { server.Close(); stop(); <-ran })
}

// call sends a call that the API's document does not have.
func (w *world) call(t *testing.T, provider, method, path, body string) sandbox.Response {
	t.Helper()
	r, err := apiclient.New(w.URL, w.Keys).Call(t.Context(), provider, method, path, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

// post has a scenario happen, with further fields.
func (w *world) post(t *testing.T, id, scenario string, fields ...string) sandbox.Response {
	t.Helper()
	body := fmt.Sprintf(`{"scenario": %q`, scenario)
	for i := 0; i < len(fields); i += 2 {
		body += fmt.Sprintf(`, %q: %q`, fields[i], fields[i+1])
	}
	return w.call(t, "KOWHAI", http.MethodPost, "/sandbox/v1/checkouts/"+id+"/scenarios", body+"}")
}

// play has a scenario happen, which must be answered 200.
func (w *world) play(t *testing.T, created sandbox.Response, scenario string, fields ...string) sandbox.Response {
	t.Helper()
	r := w.post(t, created.String("checkout.checkout_id"), scenario, fields...)
	if r.Status != http.StatusOK || r.At("scenario") != scenario {
		t.Fatalf("scenario %s: %d %s", scenario, r.Status, r.Body)
	}
	return r
}
