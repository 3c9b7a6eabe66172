package gocardlesstest_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/nodetest"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
)

// GoCardless' own client for Node judges the simulator and the signatures of its notifications.
func TestNodeClient(t *testing.T) {
	var mu sync.Mutex
	var signature string
	var body []byte
	inbox := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodPost {
			signature = r.Header.Get("Webhook-Signature")
			body, _ = io.ReadAll(r.Body)
			return
		}
		w.Header().Set("Webhook-Signature", signature)
		_, _ = w.Write(body)
	}))
	t.Cleanup(inbox.Close)
	sim := gocardlesstest.New(gocardlesstest.Options{Token: "token", WebhookURL: inbox.URL, WebhookSecret: "secret"})
	server := httptest.NewServer(sim)
	t.Cleanup(func() { sim.Close(); server.Close() })
	sim.Arm(gocardlesstest.Fault{Kind: gocardlesstest.FaultRateLimit, Path: "/mandates/rate_limit"},
		gocardlesstest.Fault{Kind: gocardlesstest.FaultError, Path: "/mandates/error"},
		gocardlesstest.Fault{Kind: gocardlesstest.FaultForbidden, Path: "/mandates/forbidden"},
		gocardlesstest.Fault{Kind: gocardlesstest.FaultStringError, Path: "/mandates/string_error"})
	nodetest.Check(t, "GOCARDLESS_URL="+server.URL, "INBOX_URL="+inbox.URL)
}
