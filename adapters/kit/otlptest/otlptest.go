// Package otlptest has a collector of spans (OTLP over HTTP) for tests.
package otlptest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Span is a span as it was sent.
type Span struct {
	Name, Trace, ID, Parent string // the ids in hexadecimal
	Request, Failed         bool
	Attributes              map[string]string // with the attributes of the program
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
	server := httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(server.Close)
	c.URL = server.URL
	return c
}

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var data tracepb.TracesData
	if proto.Unmarshal(body, &data) != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.NotFound(w, r)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	for _, of := range data.GetResourceSpans() {
		for _, s := range of.GetScopeSpans()[0].GetSpans() {
			span := Span{s.GetName(), fmt.Sprintf("%x", s.GetTraceId()), fmt.Sprintf("%x", s.GetSpanId()), fmt.Sprintf("%x", s.GetParentSpanId()),
				s.GetKind() == tracepb.Span_SPAN_KIND_SERVER, s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR, map[string]string{}}
			for _, a := range append(s.GetAttributes(), of.GetResource().GetAttributes()...) {
				span.Attributes[a.GetKey()] = a.GetValue().String()
			}
			c.spans = append(c.spans, span)
		}
	}
	w.WriteHeader(c.status)
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
