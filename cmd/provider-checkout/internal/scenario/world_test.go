package scenario_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/adapters/store/postgres"
	"github.com/provider-checkout/provider-checkout/adapters/store/sqlite"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/apidoc"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/scenario"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

func TestMain(m *testing.M) { testlevel.Main(m, 25) }

// world is a deployment of the sandbox as a program assembles it, with the providers of the test sandbox.
type world struct {
	*sandbox.Sandbox
	config site.Config
	seen   *apidoc.Document // notes the answers of a process that is observed
}

// everywhere runs a test over each store, processor and CRM: the last two kinds at the full level.
func everywhere(t *testing.T, test func(t *testing.T, w *world)) {
	t.Parallel()
	kinds := []struct {
		name  string
		world func(t *testing.T) *world
	}{
		{"memory", func(t *testing.T) *world { return newWorld(t, memory.New()) }},
		{"sqlite, GoCardless and Salesforce", func(t *testing.T) *world {
			return newWorld(t, inSQLite(t, "salesforce"), overGoCardless(t), overSalesforce(t))
		}},
		{"postgres", func(t *testing.T) *world { return newWorld(t, inPostgres(t)) }},
		{"sqlite", func(t *testing.T) *world { return newWorld(t, inSQLite(t, "")) }},
	}
	for _, kind := range kinds[:testlevel.Of(2, 4)] {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			test(t, kind.world(t))
		})
	}
}

func inSQLite(t *testing.T, crm string) site.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"),
		sqlite.Options{Environment: catalogue.Sandbox, CRM: crm, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func inPostgres(t *testing.T) site.Store {
	t.Helper()
	db, err := postgres.Open(t.Context(), postgrestest.URL(t), postgres.Options{Environment: catalogue.Sandbox, Rand: rand.Reader})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func overGoCardless(t *testing.T) func(*site.Config) {
	t.Helper()
	_, processor := sandbox.SimulateGoCardless(t, "", nil)
	return func(c *site.Config) {
		c.GoCardless = &site.GoCardless{Processor: processor, WebhookSecrets: [][]byte{[]byte(sandbox.WebhookSecret)}}
	}
}

func overSalesforce(t *testing.T) func(*site.Config) {
	t.Helper()
	_, crm := sandbox.SimulateSalesforce(t)
	return func(c *site.Config) { c.Service.CRM = crm }
}

// newWorld runs a site on a store until the test ends. Both providers list every event.
func newWorld(t *testing.T, store site.Store, changes ...func(*site.Config)) *world {
	t.Helper()
	w := &world{Sandbox: &sandbox.Sandbox{Store: store, Clock: &sandbox.Clock{}, Receiver: sandbox.NewReceiver(t), Keys: make(map[string]string)}}
	w.config = site.Config{Store: store, Secrets: [][]byte{bytes.Repeat([]byte("s"), checkout.MinSecret)}, AllowPrivate: true, RateLimit: 10_000,
		Service: service.Config{Environment: catalogue.Sandbox}, Log: slog.New(slog.DiscardHandler), Now: w.Clock.Now}
	for _, change := range changes {
		change(&w.config)
	}
	w.Configure(t, strings.NewReplacer(`"acc-tui",`, `"acc-tui", "rate_limit": 25,`, `"webhook": {`, `"webhook": {"events": ["checkout.created", "checkout.confirmed",
		"agreement.generated", "checkout.cancelled", "agreement.withdrawn", "mandate.changed"], `).Replace(sandbox.Providers))
	w.serve(t)
	for _, code := range []string{"KOWHAI", "TUI"} {
		w.Keys[code] = sandbox.IssueKey(t, w.Store, code, catalogue.Sandbox)
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
	server.Config.Handler = w.observed(s.Handler)
	server.Start()
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan struct{})
	go func() { defer close(ran); s.Service.Run(ctx) }()
	t.Cleanup(func() { server.Close(); stop(); <-ran })
}

// observe runs a process whose answers are noted.
func (w *world) observe(t *testing.T) {
	t.Helper()
	var err error
	if w.seen, err = apidoc.Parse([]byte(w.Send(t, http.MethodGet, "/v1/openapi.json", "").Body)); err != nil {
		t.Fatal(err)
	}
	w.serve(t)
}

// observed notes the answers of a handler, if they are to be noted.
func (w *world) observed(next http.Handler) http.Handler {
	if w.seen == nil {
		return next
	}
	return http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		x := apidoc.Exchange{Method: r.Method, Path: r.URL.RequestURI(), Status: answer.Code, Header: answer.Header(), Body: answer.Body.String()}
		x.JSON, _ = apiclient.ParseObject(answer.Body.Bytes())
		_ = w.seen.Check(x) // the client checks what it gets
		maps.Copy(to.Header(), answer.Header())
		to.WriteHeader(answer.Code)
		_, _ = to.Write(answer.Body.Bytes())
	})
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

// try has a scenario happen, which may be refused. An answer that is lost is lost before it returns.
func (w *world) try(t *testing.T, created sandbox.Response, s scenario.Scenario) {
	t.Helper()
	w.post(t, created.String("checkout.checkout_id"), string(s))
	if s == scenario.NextAnswerLost {
		_, _ = apiclient.New(w.URL, w.Keys).Poll(t.Context(), created)
	}
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
