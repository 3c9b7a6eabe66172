package site_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/store/memory"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

func TestOperatorIsAnsweredWhileTheServerDrains(t *testing.T) {
	s, err := site.New(site.Config{Store: memory.New(time.Now), Secrets: [][]byte{bytes.Repeat([]byte("s"), checkout.MinSecret)},
		Service: service.Config{Environment: catalogue.Sandbox, BaseURL: "http://127.0.0.1"}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	entered, finish := make(chan struct{}), make(chan struct{})
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(entered)
		<-finish
		io.WriteString(w, "done")
	})
	public, private := sample.Listen(t), sample.Listen(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, public, private) }()
	answered := make(chan string, 1)
	go func() { answered <- sandbox.Fetch(t, "http://"+public.Addr().String()).Body }()
	<-entered
	url := "http://" + private.Addr().String()
	if got := sandbox.Fetch(t, url+"/readyz"); got.Status != http.StatusOK {
		t.Errorf("before: /readyz = %d %s", got.Status, got.Body)
	}

	stop()
	for began := time.Now(); sandbox.Fetch(t, url+"/readyz").Status == http.StatusOK && time.Since(began) < 2*time.Minute; {
		// the server stops in another goroutine, a moment later
	}
	if got := sandbox.Fetch(t, url+"/readyz"); got.Status != http.StatusServiceUnavailable || got.At("checks.serving") != false {
		t.Errorf("draining: /readyz = %d %s, want 503 that names serving", got.Status, got.Body)
	}
	for _, path := range []string{"/healthz", "/metrics"} {
		if got := sandbox.Fetch(t, url+path); got.Status != http.StatusOK {
			t.Errorf("draining: %s = %d %s", path, got.Status, got.Body)
		}
	}
	close(finish)
	if got := <-answered; got != "done" {
		t.Errorf("the request in progress is answered %q", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
	if conn, err := net.Dial("tcp", private.Addr().String()); err == nil {
		conn.Close()
		t.Error("the operator's listener is open after the shutdown")
	}
}
