package otlp_test

import (
	"bytes"
	"log/slog"
	"maps"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/provider-checkout/provider-checkout/adapters/kit/testlevel"
	"github.com/provider-checkout/provider-checkout/adapters/out/otlp"
	"github.com/provider-checkout/provider-checkout/checkout"
	"github.com/provider-checkout/provider-checkout/checkout/service"
	"github.com/provider-checkout/provider-checkout/events"
)

const (
	requestID = "req_1f0f8a52-6c56-4d8f-9a55-0d2b9a3f6f10"
	sampled   = events.Trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	unsampled = events.Trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")
)

// exported returns the spans that an exporter sends of what act does with it.
func exported(t *testing.T, act func(*otlp.Exporter)) []sent {
	t.Helper()
	c := newCollector(t)
	e := otlp.New(c.url+"/", "v1", slog.New(slog.DiscardHandler))
	act(e)
	e.Close()
	all, _ := c.arrived()
	return all
}

func parent(t events.Trace) string { return strings.Split(string(t), "-")[2] }

func TestASpanSaysWhatTheLogSaysAndNoMore(t *testing.T) {
	all := exported(t, func(e *otlp.Exporter) {
		request := &service.Span{Request: true, RequestID: requestID}
		end := e.Begin(request)
		request.Name, request.Status, request.Code, request.Failed = "POST /v1/provider-checkouts", 503, "BUSY", true
		request.About = checkout.About{ProviderCode: "KOWHAI", OrderID: "ORDER-1", CheckoutID: "KOWHAI-1-a"}
		end()
		e.Begin(&service.Span{RequestID: requestID, Name: "deliver", EventID: "evt_1", Attempt: 2, Status: 204})()
	})
	if len(all) != 2 {
		t.Fatalf("the spans are %+v", all)
	}
	for i, want := range []sent{
		{Name: "POST /v1/provider-checkouts", Request: true, Failed: true, Attributes: map[string]string{
			"http.request.method": `"POST"`, "http.route": `"/v1/provider-checkouts"`, "http.response.status_code": "503",
			"error_code": `"BUSY"`, "provider_code": `"KOWHAI"`, "checkout_id": `"KOWHAI-1-a"`}},
		{Name: "deliver", Attributes: map[string]string{"event_id": `"evt_1"`, "attempt": "2", "http.response.status_code": "204"}},
	} {
		got := all[i]
		maps.Copy(want.Attributes, map[string]string{"request_id": `"` + requestID + `"`, "service.name": `"provider-checkout"`, "service.version": `"v1"`})
		for name, value := range got.Attributes {
			_, got.Attributes[name], _ = strings.Cut(value, ":") // without its type
		}
		if got.Name != want.Name || got.Request != want.Request || got.Failed != want.Failed || !maps.Equal(got.Attributes, want.Attributes) {
			t.Errorf("span %d is %+v, want %+v", i, got, want)
		}
	}
}

func TestSpansOfARequestAndOfItsJobsAreOneTrace(t *testing.T) {
	for _, tt := range []struct {
		name   string
		caller events.Trace
		trace  string
	}{
		{"of the caller", sampled, sampled.ID()},
		{"by the request's id", "", strings.ReplaceAll(strings.TrimPrefix(requestID, "req_"), "-", "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var request, job service.Span
			all := exported(t, func(e *otlp.Exporter) {
				request = service.Span{Request: true, RequestID: requestID, Trace: tt.caller}
				e.Begin(&request)()
				job = service.Span{RequestID: requestID, Trace: request.Trace}
				e.Begin(&job)()
			})
			if len(all) != 2 || all[0].Trace != tt.trace || all[1].Trace != tt.trace || all[1].Parent != all[0].ID || all[1].ID == all[0].ID {
				t.Fatalf("the spans are %+v", all)
			}
			if tt.caller == "" {
				if all[0].Parent != "" || request.Trace != "" || job.Trace != "" {
					t.Errorf("a request without a traceparent has the parent %q, and passes %q and %q on", all[0].Parent, request.Trace, job.Trace)
				}
				return
			}
			if all[0].Parent != parent(tt.caller) || parent(request.Trace) != all[0].ID || parent(job.Trace) != all[1].ID {
				t.Errorf("the request is a child of %s and passes %s on, its job %s: %+v", all[0].Parent, request.Trace, job.Trace, all)
			}
		})
	}
}

func TestATraceThatItsCallerDoesNotSampleIsPassedOnAndNotExported(t *testing.T) {
	s := service.Span{Request: true, RequestID: requestID, Trace: unsampled}
	all := exported(t, func(e *otlp.Exporter) { e.Begin(&s)() })
	if len(all) > 0 || s.Trace.ID() != unsampled.ID() || !strings.HasSuffix(string(s.Trace), "-00") || s.Trace == unsampled {
		t.Errorf("exported %+v, and passed %s on", all, s.Trace)
	}
}

func TestAJobOfNoRequestIsATraceOfItsOwn(t *testing.T) {
	all := exported(t, func(e *otlp.Exporter) {
		for _, id := range []string{"", "req_x", "req_00000000-0000-0000-0000-000000000000"} {
			e.Begin(&service.Span{RequestID: id})()
		}
	})
	traces := map[string]bool{}
	for _, s := range all {
		traces[s.Trace] = s.Parent == ""
	}
	if len(traces) != 3 || !slices.Equal(slices.Collect(maps.Values(traces)), []bool{true, true, true}) {
		t.Errorf("the spans are %+v", all)
	}
}

// A collector that hangs, or is not there, delays no request, and Close waits for it for two seconds at most.
func TestACollectorThatIsAwayDelaysNothing(t *testing.T) {
	t.Parallel()
	hanging, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hanging.Close() })
	for name, endpoint := range map[string]string{"hangs": "http://" + hanging.Addr().String(), "refuses": "http://127.0.0.1:1"} {
		t.Run(name, func(t *testing.T) {
			e := otlp.New(endpoint, "v1", slog.New(slog.DiscardHandler))
			began := time.Now()
			for range 20_000 { // more than the queue holds
				e.Begin(&service.Span{Request: true, RequestID: requestID, Trace: sampled})()
			}
			spans := testlevel.Elapsed(began)
			began = time.Now()
			e.Close()
			if took := testlevel.Elapsed(began); spans > 10*time.Second || took > 4*time.Second {
				t.Errorf("20,000 spans took %v, and the end %v", spans, took)
			}
		})
	}
}

func TestACollectorThatCeasesToTakeSpansIsLoggedOnceUntilItTakesThem(t *testing.T) {
	c := newCollector(t)
	var log bytes.Buffer
	e := otlp.New(c.url, "v1", slog.New(slog.NewTextHandler(&log, nil)))
	for _, status := range []int{200, 503, 307, 200} {
		c.answerWith(status)
		for want, end := calls(c)+1, time.Now().Add(2*time.Minute); calls(c) < want; {
			if time.Now().After(end) {
				t.Fatal("no spans are sent")
			}
			for range 600 { // which do not wait for more
				e.Begin(&service.Span{Request: true})()
			}
		}
	}
	e.Close()
	if got := regexp.MustCompile(`msg=.*`).FindAllString(log.String(), -1); !slices.Equal(got, []string{
		`msg="spans are lost" error="the collector answers 503"`, `msg="spans are exported again"`}) {
		t.Errorf("logged %q", got)
	}
}

func calls(c *collector) int {
	_, n := c.arrived()
	return n
}
