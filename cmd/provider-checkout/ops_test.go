package main

import (
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
)

func TestOperatorIsAnsweredApartFromThePublic(t *testing.T) {
	p := started(t, "--ops-addr", "127.0.0.1:0")
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/debug/pprof/"} {
		public := sandbox.Fetch(t, p.base+path)
		if public.Status != http.StatusNotFound || public.String("error.code") != "NOT_FOUND" {
			t.Errorf("GET %s on the public listener answers %d %s", path, public.Status, public.Body)
		}
		want := http.StatusOK
		if path == "/debug/pprof/" {
			want = http.StatusNotFound
		}
		if got := sandbox.Fetch(t, p.ops+path); got.Status != want {
			t.Errorf("GET %s on the operator's listener answers %d %s, want %d", path, got.Status, got.Body, want)
		}
	}
	if got := sandbox.Fetch(t, p.ops+"/v1"); got.Status != http.StatusNotFound {
		t.Errorf("the operator's listener answers /v1 with %d %s", got.Status, got.Body)
	}
	sandbox.Fetch(t, p.base+"/v1/provider-checkouts/")
	sandbox.Fetch(t, p.base+"/v1/provider-checkouts")
	if resp, err := http.Post(p.base+"/api/dd-setup/legal", "", nil); err != nil || resp.Body.Close() != nil {
		t.Error(err)
	}
	scrape := sandbox.Fetch(t, p.ops+"/metrics").Body
	says(t, scrape, "\nprovider_checkout_http_requests_total{method=\"GET\",route=\"other\",status=\"404\"} 5\n",
		"{method=\"GET\",route=\"/v1/provider-checkouts\",status=\"405\"} 1\n", "{method=\"POST\",route=\"/api/dd-setup/legal\",status=\"405\"} 1\n",
		"\nprovider_checkout_outbox_pending_events 0\n",
		"\ngo_goroutines ")
	if code, stdout, _ := p.stop(); code != exitDone || stdout != "" {
		t.Errorf("status %d, stdout %q", code, stdout)
	}
	if conn, err := net.Dial("tcp", strings.TrimPrefix(p.ops, "http://")); err == nil {
		conn.Close()
		t.Error("the operator's listener is open after the shutdown")
	}
}

func TestWithoutItsFlagThereIsNoOperatorsListener(t *testing.T) {
	p := started(t)
	defer p.stop()
	if p.ops != "" {
		t.Errorf("the operator is answered on %s", p.ops)
	}
}
