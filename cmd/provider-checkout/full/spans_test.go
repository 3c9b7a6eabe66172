package full_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/sim/apiclient"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/sandbox"
	"github.com/provider-checkout/provider-checkout/cmd/provider-checkout/internal/workload"
)

// The provider's own trace, in which its create and its confirm are two spans.
const (
	tracePrefix   = "00-4bf92f3577b34da6a3ce929d0e0e4736-"
	spanOfCreate  = "00f067aa0ba902b7"
	spanOfConfirm = "b7ad6b7169203331"
)

// span is a span as it was sent to a collector, with its ids in hexadecimal.
type span struct {
	*tracepb.Span
	trace, id, parent string
}

// collector keeps the spans that servers export to it.
type collector struct {
	url string
	mu  sync.Mutex
	all []span
}

func newCollector(t *testing.T) *collector {
	c := &collector{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err := errors.Join(err, proto.Unmarshal(body, &data)); err != nil {
			t.Errorf("the spans cannot be read: %v", err)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, s := range data.GetResourceSpans()[0].GetScopeSpans()[0].GetSpans() {
			c.all = append(c.all, span{s, fmt.Sprintf("%x", s.GetTraceId()), fmt.Sprintf("%x", s.GetSpanId()), fmt.Sprintf("%x", s.GetParentSpanId())})
		}
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) spans() []span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// tracing is a store whose servers export spans, with a provider's receiver.
type tracing struct {
	collector *collector
	receiver  *sandbox.Receiver
	keys      map[string]string
	start     func() *server
}

func newTracing(t *testing.T, args ...string) *tracing {
	program, store := built(t), newFile(t)
	r := &tracing{collector: newCollector(t), receiver: sandbox.NewReceiver(t)}
	r.keys = workload.Configure(t, program, store, r.receiver.URL)
	r.start = func() *server {
		return serve(t, program.Command(serveArgs(store, append(args, "--otlp-endpoint", r.collector.url)...)...))
	}
	return r
}

// span waits for the span with a name that a condition describes.
func (r *tracing) span(t *testing.T, name string, is func(span) bool) (found span) {
	t.Helper()
	eventually(t, "the span "+name+" arrives", func() bool {
		all := r.collector.spans()
		i := slices.IndexFunc(all, func(s span) bool { return s.GetName() == name && is(s) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	return found
}

// enrol has a provider create and the payer set up, and returns the create's answer.
func (r *tracing) enrol(t *testing.T, c *apiclient.Client, order string) apiclient.Response {
	t.Helper()
	created, err := c.Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, order), "Traceparent", tracePrefix+spanOfCreate+"-01")
	if err != nil || created.Status != http.StatusCreated {
		t.Fatalf("a create is answered %d %s, %v", created.Status, created.Body, err)
	}
	if err := apiclient.NewBrowser(http.DefaultClient).SetUp(t.Context(), created.SetupURL()); err != nil {
		t.Fatal(err)
	}
	return created
}

func confirmTraced(t *testing.T, c *apiclient.Client, created apiclient.Response) {
	t.Helper()
	confirmed, err := c.Call(t.Context(), "KOWHAI", http.MethodPost, created.CheckoutPath()+"/confirm", created.ConfirmBody(),
		"Traceparent", tracePrefix+spanOfConfirm+"-01")
	if err != nil || confirmed.Status != http.StatusOK {
		t.Fatalf("a confirm is answered %d %s, %v", confirmed.Status, confirmed.Body, err)
	}
}

// The receiver hangs at the events of a confirm until the server is killed; the next server delivers them.
func TestAnEnrolmentIsOneTraceOverAKill(t *testing.T) {
	t.Parallel()
	r := newTracing(t)
	var hangs atomic.Bool
	killed := make(chan struct{})
	r.receiver.AnswerWith(func(sandbox.Delivery) int {
		if hangs.Load() {
			<-killed
		}
		return http.StatusNoContent
	})
	first := r.start()
	c := apiclient.New(first.base, r.keys)
	created := r.enrol(t, c, "ORDER-1")
	hangs.Store(true)
	confirmTraced(t, c, created)
	ofCreate := r.span(t, "POST "+createRoute, func(s span) bool { return s.parent == spanOfCreate })
	ofConfirm := r.span(t, "POST "+confirmRoute, func(s span) bool { return s.parent == spanOfConfirm })
	first.Kill(t)
	over := time.Now()
	close(killed)
	second := r.start()
	var parent string
	eventually(t, "the event of the confirm is delivered", func() bool {
		for _, d := range r.receiver.Deliveries() {
			if d.At.After(over) && d.JSON.Text("event") == "checkout.confirmed" {
				parent = d.Header.Get("Traceparent")
			}
		}
		return parent != ""
	})
	delivered := r.span(t, "deliver", func(s span) bool { return tracePrefix+s.id+"-01" == parent })
	ofCreated := r.span(t, "deliver", func(s span) bool { return s.parent == ofCreate.id })
	if delivered.parent != ofConfirm.id || delivered.GetStatus().GetCode() != 0 || ofCreated.GetStatus().GetCode() != 0 {
		t.Errorf("the delivery %+v is no child of the confirm %+v", delivered, ofConfirm)
	}
	stopAll(t, second)
	all := r.collector.spans()
	secret := []string{created.SetupURL()[strings.LastIndex(created.SetupURL(), "=")+1:], r.keys["KOWHAI"], "@", "ORDER-1", "Aroha", "token", "?"}
	for _, s := range all {
		text := fmt.Sprint(s.GetName(), s.GetAttributes(), s.GetEvents(), s.GetStatus()) // without ids, which are any bytes
		if i := slices.IndexFunc(secret, func(part string) bool { return strings.Contains(text, part) }); i >= 0 {
			t.Errorf("a span has %q: %s", secret[i], text)
		}
		for _, name := range []string{"POST " + createRoute, "POST " + confirmRoute, "deliver"} {
			if s.GetName() == name && strings.Contains(text, created.String("checkout.checkout_id")) && "00-"+s.trace+"-" != tracePrefix &&
				s.parent != "" {
				t.Errorf("the span is in a trace of its own: %s", text)
			}
		}
	}
}

// A collector that is away fails and slows no request, and is asked for nothing at the end but for a moment.
func TestACollectorThatIsAwayFailsNoRequest(t *testing.T) {
	t.Parallel()
	r := newTracing(t)
	r.collector.url = "http://127.0.0.1:1"
	s := r.start()
	c := apiclient.New(s.base, r.keys)
	confirmTraced(t, c, r.enrol(t, c, "ORDER-1"))
	eventually(t, "the loss of the spans is logged", func() bool { return strings.Contains(s.Log(), "spans are lost") })
	began := time.Now()
	s.Stop(t, syscall.SIGTERM)
	if took := testlevel.Elapsed(began); took > 10*time.Second {
		t.Errorf("the server stops after %v", took)
	}
}

// Without the setting there is no connection, whatever the SDK's own variables say.
func TestSpansAreExportedOnlyWhereTheSettingSaysSo(t *testing.T) {
	t.Parallel()
	program, store, collector := built(t), newFile(t), newCollector(t)
	keys := workload.Configure(t, program, store, sandbox.NewReceiver(t).URL)
	for _, exported := range []bool{false, true} {
		cmd := program.Command(serveArgs(store)...)
		cmd.Env = append(cmd.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.url, "OTEL_TRACES_EXPORTER=otlp")
		if exported {
			cmd.Env = append(cmd.Env, "PROVIDER_CHECKOUT_OTLP_ENDPOINT="+collector.url)
		}
		s := serve(t, cmd)
		if _, err := apiclient.New(s.base, keys).Create(t.Context(), "KOWHAI", sandbox.Order(sandbox.CatalogueCreate, fmt.Sprint("ORDER-", exported))); err != nil {
			t.Fatal(err)
		}
		s.Stop(t, syscall.SIGTERM)
		if n := len(collector.spans()); (n > 0) != exported {
			t.Errorf("with the setting: %v; %d spans", exported, n)
		}
	}
}
