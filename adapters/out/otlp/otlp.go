// Package otlp exports spans to an OpenTelemetry collector (OTLP over HTTP): of the requests that a service answers and of its
// attempts at jobs. It never delays them: spans wait in memory, and are lost where there are too many or the collector is away.
//
//	exporter := otlp.New(otlp.Options{Endpoint: "http://127.0.0.1:4318", Version: version, Report: report})
//	defer exporter.Close()
//	svc, err := service.New(service.Config{…, Span: exporter.Begin})
//	api := httpapi.New(svc, httpapi.Options{…, Span: exporter.Begin})
package otlp

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
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

// Options are the options of an exporter. Endpoint is required.
type Options struct {
	Endpoint string // URL of the collector, without the path /v1/traces
	Version  string // of the program
	// Report is called when the collector ceases to take spans, with the reason, and with nil when it takes them again. Optional.
	Report func(error)
}

// Exporter exports spans. It is safe for concurrent use.
type Exporter struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
}

// New returns an exporter. It makes no connection until a span has ended.
func New(o Options) *Exporter {
	if o.Report == nil {
		o.Report = func(error) {}
	}
	c := &collector{url: strings.TrimRight(o.Endpoint, "/") + "/v1/traces", report: o.Report,
		client: http.Client{
			Transport: outbound.NewTransport(callLimit), Timeout: callLimit,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithIDGenerator(ids{}),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.AlwaysSample())),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "provider-checkout"),
			attribute.String("service.version", o.Version))),
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

// Begin is a service.Config.Span. A request without a traceparent begins a trace whose id is made of the request's id, as are the
// ids of the spans of its jobs.
func (e *Exporter) Begin(s *service.Span) (end func()) {
	ctx, first := context.Background(), ofRequest(s.RequestID)
	switch {
	case s.Trace != "":
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": string(s.Trace)})
	case s.Request:
		ctx = context.WithValue(ctx, firstKey{}, first)
	default:
		ctx = trace.ContextWithRemoteSpanContext(ctx, first)
	}
	kind := trace.SpanKindClient
	if s.Request {
		kind = trace.SpanKindServer
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
	text := map[string]string{"request_id": s.RequestID, "provider_code": s.ProviderCode, "checkout_id": s.CheckoutID,
		"event_id": s.EventID, "error_code": s.Code}
	if method, route, ok := strings.Cut(s.Name, " "); ok && s.Request {
		text["http.request.method"], text["http.route"] = method, route
	}
	for name, value := range text {
		if value != "" {
			list = append(list, attribute.String(name, value))
		}
	}
	for name, n := range map[string]int{"attempt": s.Attempt, "http.response.status_code": s.Status} {
		if n > 0 {
			list = append(list, attribute.Int(name, n))
		}
	}
	return list
}

type firstKey struct{}

// ofRequest returns the first span of the trace of a request without a traceparent; an invalid one for an id of another form.
func ofRequest(requestID string) trace.SpanContext {
	id, err := uuid.Parse(strings.TrimPrefix(requestID, "req_"))
	if err != nil || id == uuid.Nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID(id), SpanID: odd(trace.SpanID(id[8:])),
		TraceFlags: trace.FlagsSampled, Remote: true})
}

// ids makes ids of spans. They are odd, as [events.Trace.Child] has them.
type ids struct{}

// NewIDs implements [sdktrace.IDGenerator].
func (g ids) NewIDs(ctx context.Context) (id trace.TraceID, span trace.SpanID) {
	if first, ok := ctx.Value(firstKey{}).(trace.SpanContext); ok && first.IsValid() {
		return first.TraceID(), first.SpanID()
	}
	_, _ = rand.Read(id[:])
	return id, g.NewSpanID(ctx, id)
}

// NewSpanID implements [sdktrace.IDGenerator].
func (ids) NewSpanID(context.Context, trace.TraceID) (span trace.SpanID) {
	_, _ = rand.Read(span[:])
	return odd(span)
}

func odd(span trace.SpanID) trace.SpanID {
	span[7] |= 1
	return span
}

// collector is the client of a collector.
type collector struct {
	url    string
	client http.Client
	report func(error)
	away   atomic.Bool
}

// Start implements [otlptrace.Client].
func (c *collector) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (c *collector) Stop(context.Context) error { return nil }

// UploadTraces implements [otlptrace.Client]. It reports its failures, and returns nil: the SDK would write them where no log is.
func (c *collector) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	err := c.upload(ctx, spans)
	if away := err != nil; c.away.Swap(away) != away {
		c.report(err)
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
	if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)); err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answers %d", resp.StatusCode)
	}
	return nil
}
