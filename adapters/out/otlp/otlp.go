// Package otlp exports spans to an OpenTelemetry collector (OTLP over HTTP): of the requests that a service answers and of its
// attempts at jobs. It never delays them: spans wait in memory, and are lost where there are too many or the collector is away.
package otlp

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/provider-checkout/provider-checkout/adapters/internal/outbound"
	"github.com/provider-checkout/provider-checkout/checkout/service"
)

const (
	exportEvery = time.Second // or when batchSize spans wait
	batchSize   = 512
	queueSize   = 8 * batchSize
	callLimit   = 5 * time.Second // of a call of the collector
	closeLimit  = 2 * time.Second // of the last one
)

// Exporter exports spans. It is safe for concurrent use.
type Exporter struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New returns an exporter of the spans of a version of the program to the collector at a URL, to which /v1/traces is added. It makes
// no connection until a span has ended. The log says when the collector ceases to take spans, and when it takes them again.
func New(endpoint, version string, log *slog.Logger) *Exporter {
	c := &collector{url: strings.TrimRight(endpoint, "/") + "/v1/traces", log: log, client: http.Client{
		Transport: outbound.NewTransport(callLimit), Timeout: callLimit,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithIDGenerator(ids{}),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "provider-checkout"),
			attribute.String("service.version", version))),
		sdktrace.WithBatcher(otlptrace.NewUnstarted(c), sdktrace.WithBatchTimeout(exportEvery), sdktrace.WithExportTimeout(callLimit),
			sdktrace.WithMaxExportBatchSize(batchSize), sdktrace.WithMaxQueueSize(queueSize)))
	return &Exporter{provider, provider.Tracer("github.com/provider-checkout/provider-checkout")}
}

// Close exports the spans that have ended, within two seconds.
func (e *Exporter) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	_ = e.provider.Shutdown(ctx) // what it does not take now is lost
}

// Begin is a service.Config.Span. A request without a traceparent begins a trace whose id is made of the request's id, and its jobs
// find the trace by that id.
func (e *Exporter) Begin(s *service.Span) (end func()) {
	ctx, first, kind := context.Background(), ofRequest(s.RequestID), trace.SpanKindClient
	if s.Request {
		kind = trace.SpanKindServer
	}
	switch {
	case s.Trace != "":
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": string(s.Trace)})
	case s.Request:
		ctx = context.WithValue(ctx, firstKey{}, first)
	default:
		ctx = trace.ContextWithRemoteSpanContext(ctx, first)
	}
	_, span := e.tracer.Start(ctx, s.Name, trace.WithSpanKind(kind))
	if s.Trace != "" {
		s.Trace = s.Trace.Child([8]byte(span.SpanContext().SpanID()))
	}
	return func() {
		span.SetName(s.Name)
		span.SetAttributes(attributes(s)...)
		if s.Failed {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// attributes returns the attributes of a span, under the names of the log and of OpenTelemetry.
func attributes(s *service.Span) (list []attribute.KeyValue) {
	all := map[string]any{"request_id": s.RequestID, "provider_code": s.ProviderCode, "checkout_id": s.CheckoutID, "event_id": s.EventID,
		"error_code": s.Code, "attempt": s.Attempt, "http.response.status_code": s.Status}
	if s.Request {
		all["http.request.method"], all["http.route"], _ = strings.Cut(s.Name, " ")
	}
	for name, value := range all {
		switch v := value.(type) {
		case string:
			if v != "" {
				list = append(list, attribute.String(name, v))
			}
		case int:
			if v > 0 {
				list = append(list, attribute.Int(name, v))
			}
		}
	}
	return list
}

// ofRequest returns the first span of the trace of a request without a traceparent; an invalid one for an id of another form.
func ofRequest(requestID string) trace.SpanContext {
	id, err := uuid.Parse(strings.TrimPrefix(requestID, "req_"))
	if err != nil || id == uuid.Nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(id), SpanID: trace.SpanID(id[8:]),
		TraceFlags: trace.FlagsSampled, Remote: true})
}

// ids makes ids of spans at random, but for the first span of a request's trace.
type ids struct{}

type firstKey struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (ids) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if first, _ := ctx.Value(firstKey{}).(trace.SpanContext); first.IsValid() {
		return first.TraceID(), first.SpanID()
	}
	_, _ = rand.Read(id[:])
	_, _ = rand.Read(span[:])
	return id, span
}

// NewSpanID implements [sdktrace.IDGenerator].
func (ids) NewSpanID(context.Context, trace.TraceID) (span trace.SpanID) {
	_, _ = rand.Read(span[:])
	return span
}

// collector is the client of a collector.
type collector struct {
	url    string
	client http.Client
	log    *slog.Logger
	away   atomic.Bool
}

// Start implements [otlptrace.Client].
func (c *collector) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (c *collector) Stop(context.Context) error { return nil }

// UploadTraces implements [otlptrace.Client]. It returns nil also for a failure, which the SDK would write where no log is.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	err := c.upload(ctx, spans)
	switch away := err != nil; {
	case c.away.Swap(away) == away:
	case away:
		c.log.Warn("spans are lost", slog.Any("error", err))
	default:
		c.log.Info("spans are exported again")
	}
	return nil
}

func (c *collector) upload(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans}) // the same bytes as of an ExportTraceServiceRequest
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	resp, err := c.client.Do(req)
	if err != nil {
		return outbound.Cause(ctx, err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection is used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %d", resp.StatusCode)
	}
	return nil
}
