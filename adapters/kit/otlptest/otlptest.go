// Package otlptest has a collector of spans (OTLP over HTTP) for tests.
package otlptest

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span as it was sent, with its ids in hexadecimal.
type Span struct {
	Name, Trace, ID, Parent string
	Kind                    tracepb.Span_SpanKind
	Failed                  bool
	Attributes              map[string]string
}

// Collector keeps the spans that it is sent.
type Collector struct {
	URL string

	mu     sync.Mutex
	status int
	calls  int
	spans  []Span
}

// New runs a collector until the test ends.
func New(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{status: http.StatusOK}
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

// ServeHTTP takes spans at /v1/traces.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var data tracepb.TracesData
	if err != nil || proto.Unmarshal(body, &data) != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" ||
		r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.Error(w, "", http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	for _, of := range data.GetResourceSpans() {
		for _, in := range of.GetScopeSpans() {
			for _, s := range in.GetSpans() {
				c.spans = append(c.spans, Span{s.GetName(), hex.EncodeToString(s.GetTraceId()), hex.EncodeToString(s.GetSpanId()),
					hex.EncodeToString(s.GetParentSpanId()), s.GetKind(), s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR,
					texts(s.GetAttributes(), of.GetResource().GetAttributes())})
			}
		}
	}
	w.WriteHeader(c.status)
}

func texts(lists ...[]*commonpb.KeyValue) map[string]string {
	all := make(map[string]string)
	for _, list := range lists {
		for _, a := range list {
			if all[a.GetKey()] = a.GetValue().GetStringValue(); all[a.GetKey()] == "" {
				all[a.GetKey()] = a.GetValue().String()
			}
		}
	}
	return all
}

// AnswerWith sets the status of every answer.
func (c *Collector) AnswerWith(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

// Spans returns the spans that have arrived, and the number of calls that brought them.
func (c *Collector) Spans() (all []Span, calls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...), c.calls
}
