package otlp_test

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

// sent is a span as it was sent.
type sent struct {
	Name, Trace, ID, Parent string // the ids in hexadecimal
	Request, Failed         bool
	Attributes              map[string]string // with the attributes of the program
}

// collector keeps the spans that it is sent.
type collector struct {
	url string

	mu     sync.Mutex
	status int
	calls  int
	spans  []sent
}

// newCollector runs a collector until the test ends.
func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{status: http.StatusOK}
	server := httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *collector) take(w http.ResponseWriter, r *http.Request) {
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
			span := sent{s.GetName(), fmt.Sprintf("%x", s.GetTraceId()), fmt.Sprintf("%x", s.GetSpanId()), fmt.Sprintf("%x", s.GetParentSpanId()),
				s.GetKind() == tracepb.Span_SPAN_KIND_SERVER, s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR, map[string]string{}}
			for _, a := range append(s.GetAttributes(), of.GetResource().GetAttributes()...) {
				span.Attributes[a.GetKey()] = a.GetValue().String()
			}
			c.spans = append(c.spans, span)
		}
	}
	w.WriteHeader(c.status)
}

// answerWith sets the status of every answer.
func (c *collector) answerWith(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = status
}

// arrived returns the spans that have arrived, and the number of calls that brought them.
func (c *collector) arrived() (all []sent, calls int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]sent(nil), c.spans...), c.calls
}
