package contract_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/rehearsal"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// A provider that enrols by the recipe of a language, and takes events by another where there is one, gets nothing wrong.
func TestRecipesPassInEverySituation(t *testing.T) {
	testlevel.Full(t)
	receivers := map[string]string{"Go": "receiver", "Node": "receiver.mjs", "Python": "receiver.py"}
	for _, r := range recipes {
		t.Run(r.language, func(t *testing.T) {
			t.Parallel()
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			enrol := recipe(t, r.interpreter, r.checkout)
			ln := listen(t)
			cfg := rehearsal.Config{Listener: ln, Providers: read(t, "../demo.json"), Terms: read(t, "../demo-terms.json"),
				Site: site.Config{Log: slog.New(slog.DiscardHandler),
					Service: service.Config{Environment: catalogue.Sandbox, BaseURL: "http://" + ln.Addr().String()}}}
			if _, err := os.Stat(filepath.Join("../../../testdata/recipes", receivers[r.language])); !errors.Is(err, fs.ErrNotExist) {
				cfg.ForwardTo = receive(t, recipe(t, r.interpreter, receivers[r.language]))
			}
			var out printed
			cfg.Stdout = &out
			out.guided = func(key, next string) {
				for i := range 24 { // more than there are situations
					cmd := exec.CommandContext(ctx, enrol.Path, enrol.Args[1:]...)
					cmd.Env = append(enrol.Environ(), "BASE="+cfg.Site.Service.BaseURL, "PROVIDER=KOWHAI", "COURSE=NZDIP-BUS",
						"FIRST_PAYMENT=2027-02-01", fmt.Sprint("ORDER=RECIPE-", i), "KEY="+map[bool]string{true: next, false: key}[i == 0])
					go func() { _ = cmd.Run() }() // an order that is taken, or is cancelled, ends it with an error
				}
			}
			report, err := rehearsal.Run(ctx, cfg)
			if err := cmp.Or(err, report.Err()); err != nil {
				t.Errorf("%v\n%s", err, out.text.String())
			}
		})
	}
}

// listen listens on a free port.
func listen(t *testing.T) net.Listener {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return ln
}

// receive runs a receiver until the test ends, and returns its address.
func receive(t *testing.T, recipe *exec.Cmd) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), recipe.Path, recipe.Args[1:]...)
	ln := listen(t)
	address := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	cmd.Env = append(recipe.Environ(), "SECRET=whsec_demonstration_only_kowhai", "LISTEN="+address)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the test's context has ended it
	for t.Context().Err() == nil {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
		if err == nil {
			_ = conn.Close() // it has served
			return "http://" + address + "/events"
		}
		time.Sleep(50 * time.Millisecond)
	}
	return ""
}

// printed is the output of a rehearsal. It calls guided once, with the keys, when the guide is complete.
type printed struct {
	guided func(key, next string)
	mu     sync.Mutex
	text   bytes.Buffer
	called bool
}

var (
	guideKeys = regexp.MustCompile(`provider KOWHAI, .*\n +key +(\S+)\n +next key +(\S+)`)
	guideEnd  = regexp.MustCompile(`secret_rotated .*\n`)
)

func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.text.Write(text)
	if keys := guideKeys.FindSubmatch(p.text.Bytes()); !p.called && keys != nil && guideEnd.Match(p.text.Bytes()) {
		p.called = true
		p.guided(string(keys[1]), string(keys[2]))
	}
	return n, err
}
