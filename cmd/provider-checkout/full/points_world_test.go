package full_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
	"github.com/provider-checkout/provider-checkout/events"
)

const (
	bankToken  = "sandbox_token"
	bankSecret = "sandbox_webhook_secret"
)

// pointWorld is everything outside of the processes of one store: PostgreSQL, if the store is there, GoCardless, the receiver of
// events, and the way of requests to the processes.
type pointWorld struct {
	*workload.Workload
	gate   *gate
	bank   *gocardlesstest.Simulator
	front  *pointFront
	api    string // URL of GoCardless
	struck string // the store, as the process names it that is to be struck
	latest *server

	outside *pointOutside // nil without Salesforce and e-mails
}

// newWorld returns a world around a new store, whose gate strikes at a point.
func (s *pointSuite) newWorld(t *testing.T, target point) *pointWorld {
	t.Helper()
	store := s.store(t)
	w := &pointWorld{gate: newGate(target, s.aside), struck: store}
	w.Workload = workload.New(t, s.Binary, store, func(next http.Handler) http.Handler {
		return w.gate.around(func(r *http.Request) string { return "event: " + r.URL.Path }, next)
	})
	w.Verdicts.AcceptAll = true
	w.List(t, events.Names()...)
	if strings.HasPrefix(store, "postgres") {
		w.struck = throughGate(t, w.gate, store)
	}
	w.bank = gocardlesstest.New(gocardlesstest.Options{Token: bankToken, WebhookSecret: bankSecret, RateLimit: -1, WebhookTimeout: time.Second})
	bank := httptest.NewServer(w.gate.around(callName, w.bank))
	w.api = bank.URL
	if s.outside {
		w.outside = newOutside(t, w.gate)
	}
	w.front = newPointFront()
	public := httptest.NewServer(w.gate.around(requestName, w.front))
	w.front.URL = public.URL
	t.Cleanup(func() { w.bank.Close(); bank.Close(); public.Close() })
	return w
}

var idsInPaths = regexp.MustCompile(`(BRQ|MD)[0-9A-Z]+|[a0][0-9A-Za-z]{17}$|[A-Z]+-[0-9]+-[a-z2-7]+`)

// callName names a call of GoCardless' API.
func callName(r *http.Request) string {
	name := "GoCardless: " + r.Method + " " + idsInPaths.ReplaceAllString(r.URL.Path, "{id}")
	if of := r.URL.Query().Get("resource_type"); of != "" {
		name += " of " + of
	}
	return name
}

// requestName names a request to the process.
func requestName(r *http.Request) string {
	return "request: " + r.Method + " " + idsInPaths.ReplaceAllString(r.URL.Path, "{id}")
}

// pointFront leads requests to the latest process.
type pointFront struct {
	*httputil.ReverseProxy
	URL string

	mu   sync.Mutex
	addr string
}

func newPointFront() *pointFront {
	f := new(pointFront)
	f.ReverseProxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			f.mu.Lock()
			defer f.mu.Unlock()
			r.SetURL(&url.URL{Scheme: "http", Host: f.addr})
			r.Out.Host = r.In.Host
		},
		Transport:    &http.Transport{DisableKeepAlives: true},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	return f
}

// start starts a process on the store, to which requests go from now on.
func (w *pointWorld) start(t *testing.T, store string) *server {
	t.Helper()
	args := []string{"--base-url", w.front.URL, "--processor", "gocardless", "--gocardless-url", w.api}
	env := []string{"PROVIDER_CHECKOUT_GOCARDLESS_TOKEN=" + bankToken, "PROVIDER_CHECKOUT_GOCARDLESS_WEBHOOK_SECRET=" + bankSecret}
	if w.outside != nil {
		args, env = append(args, w.outside.args()...), append(env, w.outside.env()...)
	}
	cmd := w.Command(serveArgs(store, args...)...)
	cmd.Env = env
	w.latest = serve(t, cmd)
	w.front.mu.Lock()
	defer w.front.mu.Unlock()
	w.front.addr = w.latest.addr
	return w.latest
}

// delivered waits until no event is pending, and nothing for Salesforce and the payer.
func (w *pointWorld) delivered(t *testing.T) {
	t.Helper()
	for _, waiting := range []string{"ends_waiting", "outbox_pending_events", "crm_steps_waiting", "notices_waiting"} {
		eventually(t, "there are no "+waiting, func() bool { return w.latest.metric(t, "provider_checkout_"+waiting) == 0 })
	}
}
