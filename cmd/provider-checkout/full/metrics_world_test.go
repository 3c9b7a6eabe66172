package full_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/postgrestest"
	"github.com/provider-checkout/provider-checkout/adapters/out/gocardless"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/adapters/sim/gocardlesstest"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/testdata/sample"
)

// confirmRoute is the route of a confirm, as metrics name it.
const confirmRoute = "/v1/provider-checkouts/{checkoutId}/confirm"

// measured is a server over PostgreSQL and GoCardless, either of which can be taken away.
type measured struct {
	*server
	client *apiclient.Client
	bank   *gocardlesstest.Simulator
	cut    func() // takes PostgreSQL away from the server
	orders int
}

func newMeasured(t *testing.T) *measured {
	t.Helper()
	b, store := built(t), postgrestest.URL(t)
	m := &measured{bank: gocardlesstest.New(gocardlesstest.Options{Token: sandbox.Token})}
	bank := httptest.NewServer(m.bank)
	t.Cleanup(func() { m.bank.Close(); bank.Close() })
	keys := configure(t, b, store, sandbox.NewReceiver(t).URL)
	var through string
	through, m.cut = relay(t, store)
	cmd := b.Command(serveArgs(through, "--processor", "gocardless", "--gocardless-url", bank.URL)...)
	cmd.Env = []string{"PROVIDER_CHECKOUT_GOCARDLESS_TOKEN=" + sandbox.Token, "PROVIDER_CHECKOUT_GOCARDLESS_WEBHOOK_SECRET=" + sandbox.WebhookSecret}
	m.server = serve(t, cmd)
	m.client = apiclient.New(m.base, keys)
	m.bank.SetWebhook(m.base+gocardless.WebhookPath, sandbox.WebhookSecret)
	return m
}

// relay returns the address of a store through a relay, and what cuts it: then connections are refused.
func relay(t *testing.T, store string) (through string, cut func()) {
	t.Helper()
	u, err := url.Parse(store)
	if err != nil {
		t.Fatal(err)
	}
	ln, to := sample.Listen(t), u.Host
	var mu sync.Mutex
	var open []net.Conn
	cut = sync.OnceFunc(func() {
		ln.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range open {
			conn.Close()
		}
	})
	t.Cleanup(cut)
	go func() {
		for {
			from, err := ln.Accept()
			if err != nil {
				return
			}
			onward, err := net.Dial("tcp", to)
			if err != nil {
				from.Close()
				continue
			}
			mu.Lock()
			open = append(open, from, onward)
			mu.Unlock()
			go func() { io.Copy(onward, from); onward.Close() }()
			go func() { io.Copy(from, onward); from.Close() }()
		}
	}()
	u.Host = ln.Addr().String()
	return u.String(), cut
}

// setUp opens a checkout of KOWHAI and has its payer set up the direct debit.
func (m *measured) setUp(t *testing.T) apiclient.Response {
	t.Helper()
	m.orders++
	created, err := m.client.Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, fmt.Sprint("ORDER-", m.orders)))
	if err != nil || created.Status != http.StatusCreated {
		t.Fatalf("create: %d %s, %v", created.Status, created.Body, err)
	}
	if err := apiclient.NewBrowser(http.DefaultClient).SetUp(t.Context(), created.SetupURL()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the setup is complete", func() bool {
		polled, err := m.client.Poll(t.Context(), created)
		return err == nil && polled.At("direct_debit.setup_complete") == true
	})
	return created
}

// confirm confirms a checkout, and returns the status of the answer.
func (m *measured) confirm(t *testing.T, created apiclient.Response) int {
	t.Helper()
	answer, err := m.client.Confirm(t.Context(), created, created.ConfirmBody())
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status
}

// samples are the series of the product in a scrape, with their values.
type samples map[string]float64

var sampleLine = regexp.MustCompile(`(?m)^(provider_checkout_\S+?(?:\{.*\})?) (\S+)$`)

// scrape returns what the server exports now.
func (m *measured) scrape(t *testing.T) samples {
	t.Helper()
	all := samples{}
	for _, line := range sampleLine.FindAllStringSubmatch(sandbox.Fetch(t, m.ops+"/metrics").Body, -1) {
		value, err := strconv.ParseFloat(line[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		all[line[1]] = value
	}
	return all
}
