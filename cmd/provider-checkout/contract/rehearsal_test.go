package contract_test

import (
	"bytes"
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"regexp"
	"sync"
	"testing"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/catalogue"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/rehearsal"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/site"
)

// A provider that enrols by the recipe of a language, and takes events by another, gets nothing wrong.
func TestRecipesPassInEverySituation(t *testing.T) {
	testlevel.Full(t)
	t.Parallel()
	var running sync.WaitGroup // all at once, for they mostly wait
	defer running.Wait()
	for _, r := range recipes {
		enrol := recipe(t, r.interpreter, r.checkout)
		receiver, _ := receiving(t, recipe(t, r.interpreter, r.receiver), "whsec_demonstration_only_kowhai")
		ln := listen(t)
		cfg := rehearsal.Config{Listener: ln, Providers: read(t, "../demo.json"), Terms: read(t, "../demo-terms.json"),
			ForwardTo: receiver,
			Site: site.Config{Log: slog.New(slog.DiscardHandler),
				Service: service.Config{Environment: catalogue.Sandbox, BaseURL: "http://" + ln.Addr().String()}}}
		var out printed
		cfg.Stdout = &out
		out.enrol = func(order int, key string) {
			cmd := exec.CommandContext(t.Context(), enrol.Path, enrol.Args[1:]...)
			cmd.Env = append(enrol.Environ(), "BASE="+cfg.Site.Service.BaseURL, "PROVIDER=KOWHAI", "COURSE=NZDIP-BUS",
				"FIRST_PAYMENT=2027-02-01", fmt.Sprint("ORDER=RECIPE-", order), "KEY="+key)
			go func() { _ = cmd.Run() }() // an order that is taken, or is cancelled, ends it with an error
		}
		running.Go(func() {
			report, err := rehearsal.Run(t.Context(), cfg)
			if err := cmp.Or(err, report.Err()); err != nil {
				t.Errorf("%s: %v\n%s", r.language, err, out.text.String())
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

// printed is the output of a rehearsal. It calls enrol for the first order when the guide is complete, with the next key, and for
// each further order when the checkout of the one before is there: so that programs do not all start at once.
type printed struct {
	enrol  func(order int, key string)
	mu     sync.Mutex
	text   bytes.Buffer
	orders int
}

var (
	guideKeys = regexp.MustCompile(`provider KOWHAI, .*\n +key +(\S+)\n +next key +(\S+)`)
	guideEnd  = regexp.MustCompile(`secret_rotated .*\n`)
)

func (p *printed) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.text.Write(text)
	said := p.text.Bytes()
	if guideEnd.Match(said) && p.orders <= bytes.Count(said, []byte("\nrunning")) {
		keys := guideKeys.FindSubmatch(said)
		key := keys[1]
		if p.orders == 0 {
			key = keys[2]
		}
		p.enrol(p.orders, string(key))
		p.orders++
	}
	return n, err
}
